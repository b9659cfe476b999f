#include "store/file_watch.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "store/connection.h"
#include "store/integrity.h"
#include "store/private_copy.h"

namespace tiletune {

namespace {

enum class State { sound, unsound, unknown };

/// Looks at a copy of what is in the file, because this process holds the pages in memory.
State state_of(const std::filesystem::path& file) {
  constexpr std::chrono::seconds kPatience{1};
  try {
    const ScratchFolder folder(std::filesystem::absolute(file).parent_path());
    const std::filesystem::path copy = folder.path() / "copy.db";
    SQLite::Database present = open_to_look(file, kPatience);
    copy_pages(present, copy, never_stop);
    SQLite::Database database = open_copy(copy);
    check_integrity(database);
    return State::sound;
  } catch (const SQLite::Exception& error) {
    // What else fails is not the file: it is locked, or the disk is full, or memory is short.
    const int code = error.getErrorCode();
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? State::unsound : State::unknown;
  } catch (const UserError&) {
    return State::unknown;  // no folder for the copy
  }
}

}  // namespace

FileWatch::FileWatch(std::filesystem::path file) : file_(std::move(file)) {
  struct stat now {};
  if (::stat(file_.c_str(), &now) != 0) return;
  device_ = now.st_dev;
  inode_ = now.st_ino;
  bytes_ = now.st_size;
}

void FileWatch::check() {
  struct stat now {};
  const bool there = ::stat(file_.c_str(), &now) == 0;
  if (!there || now.st_dev != device_ || now.st_ino != inode_) {
    throw UserError(
        there ? "another file has taken this database's place" : "this database was removed while in use",
        Where{file_.string(), ""},
        "Rows that are not in the file of this name are lost; run the same command again to write them "
        "again.");
  }
  // VACUUM makes files shorter, too.
  const State state = now.st_size < bytes_ ? state_of(file_) : State::sound;
  if (state == State::unsound) {
    throw UserError("this database was cut off or overwritten while in use", Where{file_.string(), ""},
                    kRestore);
  }
  // What could not be looked at is looked at again next time.
  if (state != State::unknown) bytes_ = now.st_size;
}

}  // namespace tiletune
