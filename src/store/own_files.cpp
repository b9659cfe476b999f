#include "store/own_files.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// The databases that this process has opened, by their absolute names.
class Names {
 public:
  void add(const char* database) {
    const std::lock_guard lock(mutex_);
    names_.emplace(database);
  }
  /// Whether SQLite itself would give a file this name for what it keeps beside one of the databases.
  bool has_beside(std::string_view file,
                  std::initializer_list<std::string_view> endings = {"-journal", "-wal"}) {
    const std::lock_guard lock(mutex_);
    for (const std::string_view ending : endings)
      if (file.ends_with(ending) && names_.contains(file.substr(0, file.size() - ending.size()))) return true;
    return false;
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> names_;
};

Names& opened() {
  static Names names;
  return names;
}

/// A FIFO would be waited for, a device read without end, and through a hard link another file be written.
bool is_own(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_nlink <= 1; }

bool is_own_or_absent(const std::string& file) {
  struct stat status {};
  return ::lstat(file.c_str(), &status) != 0 || is_own(status);
}

/// As open(). What was looked at by its name can be another file when it is opened.
int open_checked(const char* name, int flags, int mode) {
  const int file = ::open(name, flags, mode);
  if (file < 0 || !opened().has_beside(name, {"-journal", "-wal", "-shm"})) return file;
  struct stat status {};
  if (::fstat(file, &status) == 0 && is_own(status)) return file;
  ::close(file);
  errno = EACCES;
  return -1;
}

sqlite3_vfs& system_files() {
  static sqlite3_vfs& files = []() -> sqlite3_vfs& {
    sqlite3_vfs& system = *sqlite3_vfs_find(nullptr);
    system.xSetSystemCall(&system, "open", reinterpret_cast<sqlite3_syscall_ptr>(open_checked));
    return system;
  }();
  return files;
}

int open_own(sqlite3_vfs* /*files*/, const char* name, sqlite3_file* file, int flags, int* used_flags) {
  file->pMethods = nullptr;
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
    opened().add(name);
    // SQLite opens that one by itself.
    if (!is_own_or_absent(std::string(name) + "-shm")) return SQLITE_AUTH;
  } else if ((flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0) {
    if (!opened().has_beside(name) || !is_own_or_absent(name)) return SQLITE_AUTH;
  } else if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0) {
    return SQLITE_AUTH;
  }
  return system_files().xOpen(&system_files(), name, file, flags, used_flags);
}

/// SQLite looks at the first byte of a journal before it opens one to roll it back.
int open_without_rollback(sqlite3_vfs* files, const char* name, sqlite3_file* file, int flags,
                          int* used_flags) {
  file->pMethods = nullptr;
  if ((flags & SQLITE_OPEN_MAIN_JOURNAL) != 0 && (flags & SQLITE_OPEN_READONLY) == 0)
    return SQLITE_READONLY_ROLLBACK;
  return open_own(files, name, file, flags, used_flags);
}

int delete_own(sqlite3_vfs* /*files*/, const char* name, int sync) {
  return opened().has_beside(name) ? system_files().xDelete(&system_files(), name, sync) : SQLITE_AUTH;
}

/// SQLite asks whether a super-journal is there before it rolls anything back.
int look_at_own(sqlite3_vfs* /*files*/, const char* name, int what, int* result) {
  return opened().has_beside(name) ? system_files().xAccess(&system_files(), name, what, result)
                                   : SQLITE_AUTH;
}

/// `files` must stay.
const char* register_files(sqlite3_vfs& files, const char* name, decltype(sqlite3_vfs::xOpen) open) {
  files = system_files();
  files.pNext = nullptr;
  files.zName = name;
  files.xOpen = open;
  files.xDelete = delete_own;
  files.xAccess = look_at_own;
  sqlite3_vfs_register(&files, 0);
  return name;
}

}  // namespace

const char* files_for_writing() {
  static sqlite3_vfs files;
  static const char* const name = register_files(files, "tiletune", open_own);
  return name;
}

const char* files_for_reading() {
  static sqlite3_vfs files;
  static const char* const name = register_files(files, "tiletune-reading", open_without_rollback);
  return name;
}

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
