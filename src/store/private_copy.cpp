#include "store/private_copy.h"

#include <SQLiteCpp/Backup.h>
#include <sqlite3.h>

#include <array>
#include <string>
#include <tuple>

#include "store/own_files.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr std::array kEndings{"", "-wal", "-journal"};

auto sizes_and_times(const fs::path& database) {
  const auto state = [&](const char* ending) {
    std::error_code absent;
    const fs::path file = database.string() + ending;
    return std::pair(fs::file_size(file, absent), fs::last_write_time(file, absent));
  };
  return std::tuple(state(kEndings[0]), state(kEndings[1]), state(kEndings[2]));
}

}  // namespace

bool copy_pages(SQLite::Database& from, const fs::path& to, const Stop& stop) {
  constexpr int kPages = 4096;
  SQLite::Database copy(to, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, files_for_writing());
  // One state of it: what others write meanwhile would have the copy begin again.
  const SQLite::Transaction snapshot(from, SQLite::TransactionBehavior::DEFERRED);
  from.execAndGet("SELECT count(*) FROM sqlite_schema");
  SQLite::Backup backup(copy, from);
  while (!stop()) {
    const int result = backup.executeStep(kPages);
    if (result == SQLITE_DONE) return true;
    if (result != SQLITE_OK) throw SQLite::Exception(sqlite3_errstr(result), result);
  }
  return false;
}

bool copy_files(const fs::path& from, const fs::path& to) {
  const auto before = sizes_and_times(from);
  for (const char* ending : kEndings) {
    const fs::path file = from.string() + ending;
    // A symbolic link beside a database is not its own file.
    if (*ending != '\0' && fs::symlink_status(file).type() != fs::file_type::regular) continue;
    const fs::path copy = to.string() + ending;
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write);
  }
  return sizes_and_times(from) == before;
}

}  // namespace tiletune
