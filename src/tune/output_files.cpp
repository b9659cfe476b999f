#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "spec/npy.h"
#include "tune/engine.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw UserError(fmt::format("{} cannot be written: {}", path.string(), why), Where{"--outputs", ""},
                  "Name a folder that can be written and has space.");
}

}  // namespace

OutputFiles::OutputFiles(const fs::path& folder) : folder_(fs::absolute(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) refuse(folder_, error.message());
}

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  for (std::uint64_t number = 1; number <= prepared_; ++number) fs::remove_all(unfinished(number), ignored);
}

fs::path OutputFiles::unfinished(std::uint64_t number) const {
  return folder_ / fmt::format("{}_{}.unfinished", ::getpid(), number);
}

std::vector<OutputFile> OutputFiles::prepare(const Task& task) {
  const fs::path folder = unfinished(++prepared_);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) refuse(folder, error.message());
  std::vector<OutputFile> files;
  for (const auto& buffer : task.instantiator.workload().buffers) {
    if (buffer.role == BufferRole::in) continue;
    const std::string header = npy_header(buffer.type, buffer.values());
    const OutputFile file{buffer.name, (folder / (buffer.name + ".npy")).string(), header.size()};
    write_file(file.path, header);
    const Descriptor open(::open(file.path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::uint64_t bytes =
        header.size() + static_cast<std::uint64_t>(buffer.values()) * size_bytes(buffer.type);
    if (!open.is_open() || ::posix_fallocate(open.number(), 0, static_cast<off_t>(bytes)) != 0) {
      fs::remove_all(folder, error);
      refuse(folder, "there is no space for " + human_bytes(bytes));
    }
    files.push_back(file);
  }
  return files;
}

void OutputFiles::keep(const std::vector<OutputFile>& files, const std::string& key) const {
  const fs::path folder = fs::path(files.front().path).parent_path();
  const fs::path kept = folder_ / key;
  std::error_code error;
  fs::remove_all(kept, error);
  fs::rename(folder, kept, error);
  if (error) refuse(kept, error.message());
}

void OutputFiles::drop(const std::vector<OutputFile>& files) {
  std::error_code ignored;
  fs::remove_all(fs::path(files.front().path).parent_path(), ignored);
}

}  // namespace tiletune
