#include "cli/replay_file.h"

#include <unistd.h>

#include <string_view>

#include "base/error.h"
#include "foreign/byte_stream.h"
#include "foreign/import.h"
#include "output/display.h"
#include "output/progress.h"

namespace tiletune {

namespace {

/// How every file of SQLite begins.
constexpr std::string_view kSqlite = "SQLite format 3";

bool is_database(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw UserError("there is no such file", Where{file.string(), ""},
                    "Name a database of tiletune's, or what 'tiletune import' reads.");
  }
  if (std::filesystem::is_other(file, ignored)) {
    throw UserError("this is a device, a pipe or a socket", Where{file.string(), ""},
                    "Name a file: a database of tiletune's, or what 'tiletune import' reads.");
  }
  return ByteStream(file).next().starts_with(kSqlite);
}

Database open(const std::filesystem::path& file, const std::filesystem::path& scratch) {
  if (is_database(file)) return {file, Database::Mode::read_only};
  return {scratch / "recording.db", Database::Mode::scratch};
}

}  // namespace

ReplayFile::ReplayFile(const std::filesystem::path& file, const ImportFacts& facts, bool quiet)
    : rows_(open(file, folder_.path())) {
  if (rows_.file() == file) return;
  Progress progress(quiet, ::isatty(STDERR_FILENO) != 0);
  const std::string task = "reading " + printable(file.filename().string());
  const ImportSummary summary = import_file(rows_, file, facts, [&](std::uint64_t rows) {
    progress.update({task, rows, 0, ""});
  });
  progress.finish();
  format_ = summary.format;
  unfinished_ = summary.unfinished;
}

}  // namespace tiletune
