#include "store/file_watch.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include <utility>

#include "base/error.h"
#include "store/connection.h"

namespace tiletune {

namespace {

/// By another connection, because this process holds the pages in memory.
bool is_sound(const std::filesystem::path& file) {
  try {
    SQLite::Database database(std::filesystem::absolute(file), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA query_only = ON");
    return database.execAndGet("PRAGMA quick_check(1)").getString() == "ok";
  } catch (const SQLite::Exception&) {
    return false;
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
        "Rows that are not in the file of this name are lost; run the same command again to make them anew.");
  }
  // VACUUM makes files shorter, too.
  if (now.st_size < bytes_ && !is_sound(file_)) {
    throw UserError("this database was cut off or overwritten while in use", Where{file_.string(), ""},
                    kRestore);
  }
  bytes_ = now.st_size;
}

}  // namespace tiletune
