#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ext/stdio_filebuf.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "base/byte_stream.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/folder.h"
#include "base/text.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_to_read(const Where& where) {
  if (errno == ENOENT) throw UserError("there is no such file", where, "Check the path.");
  throw UserError(fmt::format("cannot be opened: {}", std::strerror(errno)), where,
                  "Check the path and the permissions of the file.");
}

/// The number of bytes read. Waits for the writers of a pipe; one without writers is at its end.
std::size_t read_some(int descriptor, std::string& chunk, const Where& where) {
  while (true) {
    const ssize_t n = ::read(descriptor, chunk.data(), chunk.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN) {
      pollfd readable{descriptor, POLLIN, 0};
      ::poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      throw UserError(fmt::format("cannot be read: {}", std::strerror(errno)), where, "Check the file.");
    }
  }
}

constexpr const char* kNotWritten = "cannot be written";
constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
constexpr mode_t kUmaskDecides = 0666;

[[noreturn]] void fail(const fs::path& path, const char* what, int error) {
  throw UserError(fmt::format("{}: {}", what, std::strerror(error)), Where{path.string(), ""},
                  "Check that the folder is writable and the disk has space.");
}

constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::size_t kDigits = 16;

/// Names a file beside another one; nobody else takes that name.
std::string draft_name(const fs::path& target) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}{}", target.string(), random(), random(), kUnfinished);
}

fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : "."; }

/// Removes the drafts of a file whose writers were killed: no process has them locked.
void remove_abandoned_drafts(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".";
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder_of(target), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kUnfinished) ||
        name.size() != prefix.size() + kDigits + kUnfinished.size() ||
        name.find_first_not_of("0123456789abcdef", prefix.size()) != prefix.size() + kDigits)
      continue;
    const Descriptor draft(::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (draft.is_open() && ::fstat(draft.number(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid() && ::flock(draft.number(), LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry->path().c_str());
  }
}

using Buffer = __gnu_cxx::stdio_filebuf<char>;

/// `path` is for messages.
void write_through(const fs::path& path, std::filebuf& file,
                   const std::function<void(std::ostream&)>& write) {
  if (!file.is_open()) fail(path, kNotWritten, errno);
  std::ostream out(&file);
  try {
    out.exceptions(std::ios::badbit | std::ios::failbit);
    write(out);
    if (file.close() == nullptr) fail(path, kNotWritten, errno);
  } catch (const std::ios_base::failure&) {
    fail(path, kNotWritten, errno);
  }
}

/// A new empty file, which takes the place of another one with its permissions, or is gone. Until then it has
/// no name, where the file system allows that, so that nothing of a writer that is killed stays. It is
/// locked. It is private where it replaces one, which may be secret.
class Draft {
 public:
  Draft(const fs::path& target, mode_t permissions) : target_(target) {
    std::error_code ignored;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), ignored);
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0) permissions_ = old.st_mode & ~static_cast<mode_t>(S_IFMT);
    if (permissions_) permissions = kPrivate;
    descriptor_ =
        Descriptor(::open(folder_of(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, permissions));
    if (!descriptor_.is_open()) {
      name_ = draft_name(target);
      descriptor_ = Descriptor(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions));
    }
    if (!descriptor_.is_open()) fail(target, kNotWritten, errno);
    ::flock(descriptor_.number(), LOCK_EX | LOCK_NB);
  }
  ~Draft() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove(name_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  /// What is written comes into the file that was made here, whatever its name means by now.
  void write(const std::function<void(std::ostream&)>& write) {
    Buffer buffer(::fcntl(descriptor_.number(), F_DUPFD_CLOEXEC, 0), std::ios::out | std::ios::binary);
    write_through(target_, buffer, write);
  }

  void replace_target() {
    std::error_code error;
    if (permissions_) ::fchmod(descriptor_.number(), *permissions_);
    if (name_.empty()) {
      name_ = draft_name(target_);
      const std::string open = fmt::format("/proc/self/fd/{}", descriptor_.number());
      if (::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, name_.c_str(), AT_SYMLINK_FOLLOW) != 0)
        fail(target_, kNotWritten, errno);
    }
    fs::rename(name_, target_, error);
    if (error) fail(target_, "cannot be replaced", error.value());
    name_.clear();
  }

 private:
  fs::path target_;
  std::string name_;
  Descriptor descriptor_;
  std::optional<mode_t> permissions_;  ///< of the file there; none: there is none yet
};

void stream_atomically(const fs::path& target, const std::function<void(std::ostream&)>& write,
                       mode_t permissions = kUmaskDecides) {
  remove_abandoned_drafts(target);
  Draft draft(target, permissions);
  draft.write(write);
  draft.replace_target();
}

/// For a stream.
auto all_of(std::string_view content) {
  return [content](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  };
}

}  // namespace

std::string read_open_file(const Descriptor& file, const fs::path& name, std::size_t limit_bytes) {
  const Where where{name.string(), ""};
  std::string content;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (const std::size_t n = read_some(file.number(), chunk, where)) {
    content.append(chunk, 0, n);
    if (content.size() > limit_bytes) {
      throw UserError(fmt::format("is larger than {} bytes", limit_bytes), where,
                      "Is this the file you meant?");
    }
  }
  return content;
}

bool is_of_kernel(const fs::path& path) {
  constexpr std::array<std::int64_t, 8> kTypes{PROC_SUPER_MAGIC,    SYSFS_MAGIC,      DEBUGFS_MAGIC,
                                               TRACEFS_MAGIC,       SECURITYFS_MAGIC, BPF_FS_MAGIC,
                                               CGROUP2_SUPER_MAGIC, EFIVARFS_MAGIC};
  struct statfs facts {};
  return ::statfs(path.c_str(), &facts) == 0 && std::ranges::find(kTypes, facts.f_type) != kTypes.end();
}

Descriptor open_input(const fs::path& path) {
  const Where where{path.string(), ""};
  struct stat status {};
  const auto check = [&] {
    if (S_ISDIR(status.st_mode)) throw UserError("this is a folder, not a file", where, "Name a file in it.");
    if (S_ISFIFO(status.st_mode) || (S_ISREG(status.st_mode) && !is_of_kernel(path))) return;
    throw UserError(fmt::format("this is a {}, not a regular file",
                                S_ISSOCK(status.st_mode) ? "socket" : "device or a file of /proc or /sys"),
                    where, "Name a file.");
  };
  // A device may never end, and merely opening it may do something.
  if (::stat(path.c_str(), &status) != 0) fail_to_read(where);
  check();
  // Opening a pipe that has no writer must not wait for one.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) fail_to_read(where);
  check();  // The name may mean another file by now.
  return file;
}

std::string read_file(const fs::path& path, std::size_t limit_bytes) {
  return read_open_file(open_input(path), path, limit_bytes);
}

void stream_to_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // Also the pipe behind /dev/stdout, whose link names no file.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    std::filebuf file;
    file.open(path, std::ios::out | std::ios::binary);
    return write_through(path, file, write);
  }
  fs::path target = path;
  if (fs::is_symlink(path, error)) {
    target = fs::weakly_canonical(path, error);
    if (error) fail(path, kNotWritten, error.value());
  }
  stream_atomically(target, write);
}

void write_file(const fs::path& path, std::string_view content) { stream_to_file(path, all_of(content)); }

void write_file_atomically(const fs::path& path, std::string_view content) {
  stream_atomically(path, all_of(content));
}

void write_private_file_atomically(const fs::path& path, std::string_view content) {
  stream_atomically(path, all_of(content), kPrivate);
}

namespace {

constexpr int kDeepestNesting = 200;
/// Each key is compared with all others of its object; more than this are taken for a mistake.
constexpr std::size_t kMostKeys = 10000;
constexpr std::size_t kMostShown = 40;  ///< characters of a number

/// "line 3, column 14" of a byte offset; columns count bytes.
std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  return fmt::format("line {}, column {}", line, column);
}

/// Watches a parse for what the library lets pass: repeated keys (it keeps the last) and endless nesting.
class Watcher {
 public:
  explicit Watcher(std::string file_name) : file_name_(std::move(file_name)) {}

  bool operator()(int depth, nlohmann::ordered_json::parse_event_t event,
                  const nlohmann::ordered_json& parsed) {
    using Event = nlohmann::ordered_json::parse_event_t;
    if (depth > kDeepestNesting) {
      throw UserError(fmt::format("lists and objects are nested more than {} deep", kDeepestNesting),
                      Where{file_name_, ""}, "Flatten the file.");
    }
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw UserError(fmt::format("the key '{}' appears twice in one object", key), Where{file_name_, ""},
                        "Remove one of the two.");
      }
      if (keys_.back().size() > kMostKeys) {
        throw UserError(fmt::format("an object has more than {} keys", kMostKeys), Where{file_name_, ""},
                        "Remove what does not belong there.");
      }
    }
    return true;
  }

 private:
  std::string file_name_;
  std::vector<std::set<std::string>> keys_;
};

/// Refuses integers beyond 64 bits in valid JSON, which the library rounds to floats.
void check_integers(std::string_view text, const std::string& file_name) {
  constexpr std::string_view kDecimals = "0123456789";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      while (++i < text.size() && text[i] != '"') i += text[i] == '\\' ? 1 : 0;
    } else if (text.substr(i, 2) == "//") {
      i = text.find('\n', i);
    } else if (text.substr(i, 2) == "/*") {
      i = text.find("*/", i + 2) + 1;
    } else if (text[i] == '-' || kDecimals.find(text[i]) != kDecimals.npos) {
      const std::string_view number = text.substr(i, text.find_first_not_of("+-.eE0123456789", i) - i);
      const bool is_integer = number.find_first_not_of(kDecimals, 1) == number.npos;
      if (is_integer && !parsed_number<std::int64_t>(number) && !parsed_number<std::uint64_t>(number))
        throw UserError(fmt::format("the number {} is out of range", number.substr(0, kMostShown)),
                        Where{file_name, line_and_column(text, i)},
                        "Use 64-bit integers and finite numbers.");
      i += number.size() - 1;
    }
    if (i == text.npos) return;
  }
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& file_name) {
  Watcher watcher(file_name);
  try {
    constexpr bool kThrows = true;
    constexpr bool kWithComments = true;
    nlohmann::ordered_json json =
        nlohmann::ordered_json::parse(text.begin(), text.end(), std::ref(watcher), kThrows, kWithComments);
    check_integers(text, file_name);
    return json;
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    // The library's text has a prefix: "[json.exception...] parse error at line 1, column 2: ".
    std::string what = error.what();
    const std::size_t column = what.find("column ");
    const std::size_t colon = column == std::string::npos ? column : what.find(": ", column);
    if (colon != std::string::npos) what.erase(0, colon + 2);
    // It may be any file, to which somebody else's link leads: what was read of it stays untold.
    const std::size_t quote = what.find("; last read: '");
    if (quote != std::string::npos) what.erase(quote, what.rfind('\'') + 1 - quote);
    throw UserError("not valid JSON: " + what, Where{file_name, line_and_column(text, offset)},
                    "Correct the syntax there or just before it.");
  } catch (const nlohmann::json::out_of_range& error) {
    throw UserError(std::string("a number is out of range: ") + error.what(), Where{file_name, ""},
                    "Use numbers that fit 64 bits.");
  }
}

nlohmann::ordered_json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, kLargestJson), path.string());
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path executable_path() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UserError("cannot find the running executable through /proc/self/exe", "Mount /proc.");
  return path;
}

fs::path home_folder() {
  if (const char* home = std::getenv("TILETUNE_HOME"); home != nullptr && *home != '\0') {
    if (!fs::is_directory(fs::path(home) / "kernel_templates")) {
      throw UserError(
          "TILETUNE_HOME has no folder kernel_templates/", Where{home, ""},
          "Set TILETUNE_HOME to a checkout of tiletune or to share/tiletune of an installed one, or "
          "unset it.");
    }
    return home;
  }
  const auto is_home = [](const fs::path& folder) {
    return fs::is_directory(folder / "kernel_templates") && fs::is_directory(folder / "configs");
  };
  const fs::path own_folder = executable_path().parent_path();
  if (fs::path installed = own_folder.parent_path() / "share" / "tiletune"; is_home(installed))
    return installed;
  for (fs::path folder = own_folder;; folder = folder.parent_path()) {
    if (is_home(folder)) return folder;
    if (folder == folder.parent_path()) break;
  }
  throw UserError(
      "found no folder with kernel_templates/ and configs/: neither share/tiletune/ beside the executable's "
      "folder, nor one above the executable",
      Where{executable_path().string(), ""},
      "Install tiletune again, or set TILETUNE_HOME to a checkout of tiletune.");
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "tiletune";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "tiletune";
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) {
    throw UserError(
        "there is no folder for compiled kernels: neither XDG_CACHE_HOME nor HOME is set, and TMPDIR is "
        "not a folder",
        "Set XDG_CACHE_HOME to a folder of your own that can be written.");
  }
  fs::path last_resort = temporary / ("tiletune-" + std::to_string(::geteuid()));
  const std::string distrust = folder_distrust(last_resort, Links::refuse);
  if (distrust.empty()) return last_resort;
  throw UserError(distrust, Where{last_resort.string(), ""},
                  "Set XDG_CACHE_HOME to a folder of your own that can be written.");
}

}  // namespace tiletune
