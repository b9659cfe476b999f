#include "store/row_batch.h"

#include <sqlite3.h>

#include <optional>
#include <vector>

#include "store/columns.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/schema.h"

namespace tiletune {

namespace {

std::vector<const Column*> columns_of(std::span<const char* const> names) {
  std::vector<const Column*> columns;
  for (const char* name : names) columns.push_back(&stored_column(column_by_name(name)));
  return columns;
}

/// The rows of the first import are written where they stay. The log that is usual would hold a second
/// copy of them; a rollback journal holds what was there before, which is next to nothing, and is as safe
/// with synchronous = FULL. Nobody else may have the database open for that; then it stays as it is.
class WithoutLog {
 public:
  explicit WithoutLog(SQLite::Database& database) : database_(database) {
    const bool first = database.execAndGet("SELECT NOT EXISTS (SELECT 1 FROM trial)").getInt() != 0;
    if (!first || database.execAndGet("PRAGMA journal_mode").getString() != "wal") return;
    switched_ = database.tryExec("PRAGMA journal_mode = DELETE") == SQLITE_OK;
    if (switched_) database.exec("PRAGMA synchronous = FULL");
  }
  ~WithoutLog() {
    if (switched_ && database_.tryExec("PRAGMA journal_mode = WAL") == SQLITE_OK)
      database_.tryExec("PRAGMA synchronous = NORMAL");
  }
  WithoutLog(const WithoutLog&) = delete;
  WithoutLog& operator=(const WithoutLog&) = delete;

 private:
  SQLite::Database& database_;
  bool switched_ = false;
};

}  // namespace

struct RowBatch::State {
  bool add(const Trial& trial) {
    insert.reset();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Cell cell = columns[i]->read(trial);
      // Rows of a file have much in common.
      if (cell == bound[i]) continue;
      bound[i] = std::move(cell);
      bind_cell_in_place(insert, static_cast<int>(i) + 1, bound[i]);
    }
    return insert.exec() != 0;
  }

  State(SQLite::Database& database, std::span<const char* const> names, std::filesystem::path path)
      : file(std::move(path)),
        connection(database),
        log(database),
        columns(columns_of(names)),
        transaction(database, SQLite::TransactionBehavior::IMMEDIATE),
        bound(columns.size()),
        insert(database, insert_new_sql(columns)) {
    for (std::size_t i = 0; i < columns.size(); ++i) insert.bind(static_cast<int>(i) + 1);
  }

  std::filesystem::path file;
  SQLite::Database& connection;
  WithoutLog log;
  std::vector<const Column*> columns;
  SQLite::Transaction transaction;
  std::vector<Cell> bound;
  SQLite::Statement insert;
};

RowBatch::RowBatch(Database& database, std::span<const char* const> columns) {
  database.impl_->watch.check();
  translating_errors(database.file(), [&] {
    state_ = std::make_unique<State>(database.impl_->connection, columns, database.file());
  });
}

RowBatch::~RowBatch() = default;

bool RowBatch::add(const Trial& trial) {
  return translating_errors(state_->file, [&] { return state_->add(trial); });
}

void RowBatch::commit() {
  translating_errors(state_->file, [&] { state_->transaction.commit(); });
}

struct GroupedWrites::State {
  std::filesystem::path file;
  SQLite::Database& connection;
  std::optional<SQLite::Transaction> transaction;
};

GroupedWrites::GroupedWrites(Database& database)
    : state_(new State{database.file(), database.impl_->connection, std::nullopt}) {
  database.impl_->watch.check();
  translating_errors(state_->file, [&] {
    state_->transaction.emplace(state_->connection, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

GroupedWrites::~GroupedWrites() = default;

void GroupedWrites::commit() {
  translating_errors(state_->file, [&] {
    state_->transaction->commit();
    state_->transaction.emplace(state_->connection, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

}  // namespace tiletune
