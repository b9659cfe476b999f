#include "store/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cctype>
#include <fstream>
#include <thread>

#include "base/byte_stream.h"
#include "base/system.h"
#include "store/integrity.h"
#include "store/own_files.h"
#include "store/schema.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOtherFile = "Name another file with --db FILE, or move this one away.";
constexpr const char* kPermissions =
    "Check the permissions of the file and of its folder, or name another file with --db FILE.";

struct Identity {
  std::int64_t application_id = 0;
  std::int64_t schema_version = 0;
  std::int64_t objects = 0;  ///< tables, indices, views
  std::string encoding;

  bool blank() const { return application_id == 0 && schema_version == 0 && objects == 0; }
  bool outdated() const { return schema_version < kSchemaVersion; }
};

Identity read_identity(SQLite::Database& database) {
  return {database.execAndGet("PRAGMA application_id").getInt64(),
          database.execAndGet("PRAGMA user_version").getInt64(),
          database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64(),
          database.execAndGet("PRAGMA encoding").getString()};
}

void check_identity(const Identity& identity, const fs::path& file) {
  const Where where{file.string(), ""};
  if (identity.blank()) {
    throw UserError(
        "this database is still empty", where,
        "Wait until the program that is making it has begun to write, or name another file with --db FILE.");
  }
  if (identity.application_id != kApplicationId)
    throw UserError("this SQLite database is not tiletune's", where, kOtherFile);
  if (identity.schema_version > kSchemaVersion) {
    throw UserError(
        fmt::format("this database was written by a newer tiletune (schema {}; this one knows schema {})",
                    identity.schema_version, kSchemaVersion),
        where, "Update tiletune, or name another file with --db FILE.");
  }
  if (identity.schema_version < kOldestSchemaVersion) {
    throw UserError(fmt::format("this database has schema {}; this tiletune reads schemas {} to {}",
                                identity.schema_version, kOldestSchemaVersion, kSchemaVersion),
                    where, "Upgrade it with tiletune 0.2 first: tiletune merge OLD.db -o NEW.db");
  }
  if (identity.encoding != "UTF-8") {
    throw UserError(fmt::format("the text of this database is {}; tiletune's is UTF-8", identity.encoding),
                    where, kOtherFile);
  }
}

/// That it is tiletune's, of a schema that this build reads or upgrades. Reads no row.
Identity check_contents(SQLite::Database& database, const fs::path& file) {
  Identity identity = read_identity(database);
  check_identity(identity, file);
  check_tables(database, file, identity.schema_version);
  return identity;
}

/// Files come from other people: their views and triggers are never run, and their schemas call nothing with
/// side effects.
void distrust(SQLite::Database& database) {
  ::sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  ::sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  ::sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF");
}

SQLite::Database open_file(const std::string& name, int flags, int timeout_ms, const char* files) {
  SQLite::Database database(name, flags | SQLite::OPEN_NOMUTEX, timeout_ms, files);
  distrust(database);
  return database;
}

void apply_settings(SQLite::Database& database) {
  // The index over keys is hit at random: at 10^6 rows it needs about 50 MB to stay in memory (negative:
  // KiB).
  database.exec("PRAGMA cache_size = -65536");
}

/// SQLite does not call the busy handler while it changes the journal mode, so two first users of a new file
/// would collide here.
std::string switch_journal(SQLite::Database& database, const std::string& mode,
                           std::chrono::milliseconds busy_timeout) {
  const auto deadline = std::chrono::steady_clock::now() + busy_timeout;
  while (true) {
    try {
      return database.execAndGet("PRAGMA journal_mode = " + mode).getString();
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// What a commit survives: the end of the process at any moment, kill -9 included, because a commit has
/// written its pages to the WAL file and the kernel keeps what was written. synchronous = NORMAL leaves out
/// only the fsync per commit, so a power cut or a kernel crash may lose the last commits; in WAL mode it
/// never damages the file. The programs that use a WAL share memory, which those of two machines cannot: on
/// network file systems a rollback journal is written, which needs FULL for that.
void prepare_for_writing(SQLite::Database& database, const fs::path& file,
                         std::chrono::milliseconds busy_timeout) {
  const std::string mode = network_file_system(file).empty() ? "WAL" : "TRUNCATE";
  const bool wal = switch_journal(database, mode, busy_timeout) == "wal";
  database.exec(wal ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Again, because another process may have made or upgraded it meanwhile.
  if (read_identity(database).blank()) database.exec(schema_sql());
  if (check_contents(database, file).outdated()) upgrade(database, file);
  check_contents(database, file);
  transaction.commit();
}

/// SQLite keeps the further files of a database beside the file that symbolic links lead to.
fs::path real_path(const fs::path& file) {
  std::error_code error;
  fs::path real = fs::canonical(file, error);
  return error ? fs::absolute(file) : real;
}

bool has_content_beside(const fs::path& file, const char* suffix) {
  std::error_code ignored;
  const fs::path beside = file.string() + suffix;
  return fs::exists(beside, ignored) && fs::file_size(beside, ignored) != 0;
}

/// Whether all of it is in the file: neither a log, nor the journal of an import that was killed, lies beside
/// it.
bool is_complete(const fs::path& file) {
  return !has_content_beside(file, "-wal") && !has_content_beside(file, "-journal");
}

/// SQLite cannot make the files of WAL mode in a folder that cannot be written, and a reader must not roll
/// back an unfinished transaction.
bool needs_files(const SQLite::Exception& error) {
  const int code = error.getErrorCode();
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

/// Every program that has a database in WAL mode open shares the file -shm; one that was killed leaves it.
bool has_shared_index(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file.string() + "-shm", ignored);
}

/// 20 bytes, or what the file has.
std::string begin_of(const fs::path& file) {
  std::string begin(20, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  return begin;
}

/// Its first bytes say so (RFC 1952).
bool is_gzipped(const fs::path& file) { return begin_of(file).starts_with("\x1f\x8b"); }

SQLite::Database open_immutable(const fs::path& absolute, int timeout_ms) {
  std::string uri = "file:";
  for (const unsigned char c : absolute.string()) {
    const bool plain = std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return open_file(uri + "?immutable=1", SQLite::OPEN_READONLY | SQLite::OPEN_URI, timeout_ms,
                   files_for_reading());
}

/// Throws SQLite::Exception with SQLITE_CANTOPEN or SQLITE_READONLY when it cannot be read without changing
/// something.
SQLite::Database open_where_it_lies(const fs::path& absolute, int timeout_ms) {
  // SQLite gives the files of WAL mode the permissions of the database: beside a write-protected one in a
  // folder that can be written they would be left behind and stop every later writer.
  const bool is_protected = ::faccessat(AT_FDCWD, absolute.c_str(), W_OK, AT_EACCESS) != 0;
  if (is_protected && is_complete(absolute) && !has_shared_index(absolute))
    return open_immutable(absolute, timeout_ms);
  try {
    // Not OPEN_READONLY: the last reader of that kind leaves -wal and -shm files behind.
    const bool complete = is_complete(absolute);
    SQLite::Database database =
        open_file(absolute.string(), SQLite::OPEN_READWRITE, timeout_ms, files_for_reading());
    // Otherwise the last connection to close writes the log into the file.
    if (!complete) ::sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    database.exec("PRAGMA query_only = ON");
    read_identity(database);
    return database;
  } catch (const SQLite::Exception& error) {
    if (!needs_files(error) || !is_complete(absolute)) throw;
  }
  return open_immutable(absolute, timeout_ms);
}

/// No log that every row would be written to first.
void prepare_scratch(SQLite::Database& database) {
  database.execAndGet("PRAGMA journal_mode = MEMORY");
  database.exec("PRAGMA synchronous = OFF");
}

/// A copy of a database that cannot be read in place without changing something: an unfinished transaction is
/// rolled back in the copy.
Connection open_private_copy(const fs::path& file, const fs::path& absolute, int timeout_ms) {
  auto folder = std::make_unique<ScratchFolder>();
  const fs::path copy = folder->path() / "copy.db";
  try {
    // Whoever writes to it meanwhile makes it whole, or has it locked.
    if (!copy_files(absolute, copy)) return {nullptr, open_where_it_lies(absolute, timeout_ms)};
  } catch (const fs::filesystem_error& error) {
    throw UserError(
        fmt::format("this database can be read only from a copy, which failed: {}", error.code().message()),
        Where{file.string(), ""}, "Check its permissions, and that TMPDIR has enough free space.");
  }
  SQLite::Database database = open_copy(copy);
  return {std::move(folder), std::move(database)};
}

/// A database that was compressed is read from an unpacked copy.
Connection open_unpacked(const fs::path& file, const fs::path& packed) {
  auto folder = std::make_unique<ScratchFolder>();
  const fs::path unpacked = folder->path() / "unpacked.db";
  const Where where{file.string(), ""};
  // Few bytes may unpack to a thousand times as many.
  std::uintmax_t most = std::uintmax_t{8} << 30;
  std::error_code unknown;
  if (const fs::space_info space = fs::space(folder->path(), unknown); !unknown)
    most = std::min(most, space.available / 2);
  ByteStream in(packed);
  const auto next = [&] {
    try {
      return in.next();
    } catch (const UserError&) {
      throw UserError("this database is damaged: its gzip stream is", where, "Copy it again.");
    }
  };
  std::string_view piece = next();
  if (!piece.starts_with(kSqliteMagic)) {
    throw UserError("what is compressed in it is not an SQLite database", where,
                    "'tiletune import FILE --db NEW.db' reads recordings into a database.");
  }
  std::ofstream out(unpacked, std::ios::binary);
  for (std::uintmax_t bytes = 0; !piece.empty() && out && bytes <= most; piece = next()) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes += piece.size();
  }
  out.close();
  if (!piece.empty() || !out) {
    throw UserError(fmt::format("this database unpacks to more than {} MiB", most >> 20), where,
                    "Free space in TMPDIR, or unpack it with gunzip elsewhere.");
  }
  SQLite::Database database = open_copy(unpacked);
  return {std::move(folder), std::move(database)};
}

Connection open_for_reading(const fs::path& file, const fs::path& absolute, int timeout_ms) {
  if (is_gzipped(absolute)) return open_unpacked(file, absolute);
  // A database was copied with its log. To read it, SQLite would make a file -shm, of this user and with the
  // permissions of the database, which may stop later writers.
  std::error_code ignored;
  const bool has_log = fs::is_regular_file(fs::symlink_status(absolute.string() + "-wal", ignored));
  if (has_log && has_content_beside(absolute, "-wal") && !has_shared_index(absolute))
    return open_private_copy(file, absolute, timeout_ms);
  // It was written last in WAL mode, as its header says (sqlite.org/fileformat2.html, 1.3: the version of the
  // format for writing), and copied there: nobody writes to it in that mode, and a reader must not begin to.
  const std::string begin = begin_of(absolute);
  if (!network_file_system(absolute).empty() && begin.size() == 20 && begin[18] == 2) {
    if (is_complete(absolute)) return {nullptr, open_immutable(absolute, timeout_ms)};
    return open_private_copy(file, absolute, timeout_ms);
  }
  try {
    return {nullptr, open_where_it_lies(absolute, timeout_ms)};
  } catch (const SQLite::Exception& error) {
    if (!needs_files(error) || is_complete(absolute)) throw;
  }
  return open_private_copy(file, absolute, timeout_ms);
}

Connection open_to_read(const fs::path& file, const fs::path& absolute, int timeout_ms) {
  Connection connection = open_for_reading(file, absolute, timeout_ms);
  // Readers understand one schema alone.
  if (check_contents(connection.database, file).outdated()) {
    auto folder = std::make_unique<ScratchFolder>();
    const fs::path copy = folder->path() / "upgraded.db";
    copy_pages(connection.database, copy, never_stop);
    Connection upgraded{std::move(folder), open_copy(copy)};
    upgrade_copy(upgraded.database, file);
    std::swap(connection, upgraded);
  }
  apply_settings(connection.database);
  connection.database.exec("PRAGMA query_only = ON");
  return connection;
}

SQLite::Database open_for_writing(const fs::path& file, const fs::path& absolute,
                                  std::chrono::milliseconds busy_timeout) {
  SQLite::Database database = open_file(absolute.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                        static_cast<int>(busy_timeout.count()), files_for_writing());
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1)
    throw UserError("this database is write-protected", Where{file.string(), ""}, kPermissions);
  // Before anything is written: a file that is refused stays as it was.
  if (!read_identity(database).blank()) check_contents(database, file);
  apply_settings(database);
  prepare_for_writing(database, file, busy_timeout);
  database.exec("PRAGMA foreign_keys = ON");
  return database;
}

void check_path(const fs::path& file, Database::Mode mode) {
  const Where where{file.string(), ""};
  if (file.empty()) throw UserError("the database's file name is empty", "Name a file with --db FILE.");
  std::error_code error;
  if (fs::is_directory(file, error))
    throw UserError("this is a folder; a database is a file", where, "Name a file in it with --db FILE.");
  if (fs::is_other(file, error) || is_of_kernel(file))
    throw UserError("this is a device, a pipe or a socket; a database is a file", where, kOtherFile);
  if (mode == Database::Mode::read_only) {
    const bool exists = fs::exists(file, error);
    if (error) throw UserError("this database cannot be opened: " + error.message(), where, kPermissions);
    if (exists) return;
    throw UserError("there is no such database", where,
                    "Make one with `tiletune sweep CONFIG` or `tiletune import FILE`, or name an existing "
                    "one with --db FILE.");
  }
  fs::create_directories(fs::absolute(file).parent_path(), error);
  if (error) {
    throw UserError(fmt::format("the folder of this database cannot be created: {}", error.message()), where,
                    kPermissions);
  }
}

}  // namespace

Connection open_connection(const fs::path& file, Database::Mode mode,
                           std::chrono::milliseconds busy_timeout) {
  check_path(file, mode);
  return translating_errors(file, [&] {
    if (mode == Database::Mode::read_only)
      return open_to_read(file, real_path(file), static_cast<int>(busy_timeout.count()));
    // An absolute path, because SQLite takes ":memory:" for no file at all.
    Connection connection{nullptr, open_for_writing(file, fs::absolute(file), busy_timeout)};
    if (mode == Database::Mode::scratch) prepare_scratch(connection.database);
    return connection;
  });
}

Connection open_for_copying(const fs::path& file, std::chrono::milliseconds busy_timeout) {
  check_path(file, Database::Mode::read_only);
  return translating_errors(file, [&] {
    Connection connection = open_for_reading(file, real_path(file), static_cast<int>(busy_timeout.count()));
    check_contents(connection.database, file);
    return connection;
  });
}

SQLite::Database open_to_look(const fs::path& file, std::chrono::milliseconds busy_timeout) {
  return open_where_it_lies(real_path(file), static_cast<int>(busy_timeout.count()));
}

SQLite::Database open_copy(const fs::path& copy) {
  SQLite::Database database = open_file(copy.string(), SQLite::OPEN_READWRITE, 0, files_for_writing());
  prepare_scratch(database);  // Rolls back what was not finished.
  return database;
}

void upgrade_copy(SQLite::Database& copy, const fs::path& original) {
  if (!read_identity(copy).outdated()) return;
  SQLite::Transaction transaction(copy, SQLite::TransactionBehavior::IMMEDIATE);
  upgrade(copy, original);
  check_contents(copy, original);
  transaction.commit();
}

void throw_user_error(const SQLite::Exception& error, const fs::path& file) {
  const Where where{file.string(), ""};
  const std::string_view message = error.what();
  switch (error.getErrorCode()) {
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // of locking
      throw DatabaseLocked("this database is locked by another program", where,
                           "Wait until it ends, stop it, or name another file with --db FILE.");
    case SQLITE_NOTADB: {
      char first = 0;
      std::ifstream(file) >> first;
      const char* remedy = kOtherFile;
      if (first == '{' || first == '[')
        remedy = "It looks like JSON: 'tiletune import FILE --db NEW.db' reads recordings into a database.";
      if (is_gzipped(file)) remedy = "It is compressed: unpack it with gunzip to write to it.";
      throw UserError("not an SQLite database", where, remedy);
    }
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      throw UserError(fmt::format("this database cannot be opened: {}", message), where, kPermissions);
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOLFS:
      throw UserError(fmt::format("this database cannot be read or written: {}", message), where,
                      "Free space on the disk and check it, or name another file with --db FILE.");
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:  // It and the next two: values that no column of ours may hold.
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      throw UserError(fmt::format("this database is damaged: {}", message), where, kRestore);
    case SQLITE_AUTH:
      throw UserError(
          "a file beside this database (-journal, -wal or -shm) names other files, is not a regular file, or "
          "is a hard link",
          where, "Ask whoever made it for a whole database, or name another file with --db FILE.");
    case SQLITE_INTERRUPT:
      throw UserError("this database is damaged: reading it does not come to an end", where, kRestore);
    default:
      // What it says of numbers in a header that no version of it writes has no code of its own.
      if (message == "unsupported file format" ||
          message == "attached databases must use the same text encoding as main database")
        throw UserError(fmt::format("this database is damaged: {}", message), where, kRestore);
      throw std::runtime_error(fmt::format("{}: {}", file.string(), message));
  }
}

}  // namespace tiletune
