#include "base/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/folder.h"
#include "base/system.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "tiletune_";
constexpr std::string_view kWildcards = "XXXXXX";  ///< for mkdtemp()
constexpr const char* kMark = ".tiletune_scratch";
constexpr const char* kUnfinishedMark = ".tiletune_unlocked";

fs::path folder_for_temporary_files() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (!error) return folder;
  throw UserError(fmt::format("the folder for temporary files cannot be used: {}", error.message()),
                  Where{"TMPDIR", ""}, "Set it to a folder that can be written.");
}

bool lock(const Descriptor& file) { return ::flock(file.number(), LOCK_EX | LOCK_NB) == 0; }

/// Nobody sees the mark before it is locked. It names this machine: some file systems are shared by machines
/// that do not see each other's locks. Not open where that cannot be done.
Descriptor make_mark(const fs::path& folder) {
  const fs::path unfinished = folder / kUnfinishedMark;
  Descriptor mark(::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!mark.is_open()) return mark;
  const std::string machine = host_name();
  const auto written = ::write(mark.number(), machine.data(), machine.size());
  if (lock(mark) && written == static_cast<ssize_t>(machine.size()) &&
      ::rename(unfinished.c_str(), (folder / kMark).c_str()) == 0)
    return mark;
  ::unlink(unfinished.c_str());
  return Descriptor();
}

/// The mark goes last, so that whoever is killed here leaves a folder that is still marked.
void remove_marked(const fs::path& path, const Descriptor& folder) {
  std::error_code error;
  std::vector<fs::path> contents;
  for (auto entry = fs::directory_iterator(fmt::format("/proc/self/fd/{}", folder.number()), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() != kMark) contents.push_back(entry->path());
  }
  for (const fs::path& entry : contents) fs::remove_all(entry, error);
  ::unlinkat(folder.number(), kMark, 0);
  ::rmdir(path.c_str());
}

void remove_if_abandoned(const fs::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() || !is_private_folder(folder)) return;
  const Descriptor mark(::openat(folder.number(), kMark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!mark.is_open() || !is_private_file(mark) || !lock(mark)) return;
  std::array<char, 256> machine{};
  const ssize_t length = ::read(mark.number(), machine.data(), machine.size());
  if (length >= 0 && std::string_view(machine.data(), static_cast<std::size_t>(length)) == host_name())
    remove_marked(path, folder);
}

void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (auto entry = fs::directory_iterator(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + kWildcards.size())
      found.push_back(entry->path());
  }
  std::for_each(found.begin(), found.end(), remove_if_abandoned);
}

}  // namespace

ScratchFolder::ScratchFolder() : ScratchFolder(folder_for_temporary_files()) {}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  remove_abandoned(parent);
  std::string pattern = (fs::absolute(parent) / fmt::format("{}{}", kPrefix, kWildcards)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw UserError(fmt::format("no folder for temporary files can be made here: {}", std::strerror(errno)),
                    Where{parent.string(), ""}, "Check that the folder is writable and the disk has space.");
  }
  path_ = pattern;
  mark_ = make_mark(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tiletune
