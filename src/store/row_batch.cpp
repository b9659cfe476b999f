#include "store/row_batch.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/schema.h"

namespace tiletune {

namespace {

/// INSERT INTO trial of rows whose keys are not there yet: parameters are these columns in their order; the
/// others are null, or empty text.
std::string insert_new_sql(const std::vector<const Column*>& columns) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const Column& column : stored_columns()) {
    const auto given = std::ranges::find(columns, column.name, &Column::name);
    if (given == columns.end() && column.type != CellType::text) continue;
    names.push_back(fmt::format("\"{}\"", column.name));
    values.push_back(given == columns.end() ? "''" : fmt::format("?{}", given - columns.begin() + 1));
  }
  return fmt::format("INSERT INTO trial ({}) VALUES ({}) ON CONFLICT(\"key\") DO NOTHING", join(names, ", "),
                     join(values, ", "));
}

}  // namespace

/// The rows of the first import are written where they stay. The log that is usual would hold a second
/// copy of them; a rollback journal holds what was there before, which is next to nothing, and is as safe
/// with synchronous = FULL. Nobody else may have the database open for that; then it stays as it is.
class RowBatch::WithoutLog {
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

RowBatch::RowBatch(Database& database, std::span<const char* const> columns)
    : database_(database), bound_(columns.size()) {
  for (const char* name : columns) {
    const Column& column = stored_column(column_by_name(name));
    if (std::ranges::find(columns_, column.name, &Column::name) == columns_.end())
      columns_.push_back(&column);
  }
  database.impl_->watch.check();
  translating_errors(database.file(), [&] {
    SQLite::Database& connection = database.impl_->connection;
    log_ = std::make_unique<WithoutLog>(connection);
    transaction_.emplace(connection, SQLite::TransactionBehavior::IMMEDIATE);
    insert_.emplace(connection, insert_new_sql(columns_));
    for (std::size_t i = 0; i < columns_.size(); ++i) insert_->bind(static_cast<int>(i) + 1);
  });
}

RowBatch::~RowBatch() = default;

bool RowBatch::add(const Trial& trial) {
  return translating_errors(database_.file(), [&] {
    insert_->reset();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Cell cell = columns_[i]->read(trial);
      // Rows of a file have much in common.
      if (cell == bound_[i]) continue;
      bound_[i] = std::move(cell);
      bind_cell(*insert_, static_cast<int>(i) + 1, bound_[i], true);
    }
    return insert_->exec() != 0;
  });
}

void RowBatch::commit() {
  translating_errors(database_.file(), [&] { transaction_->commit(); });
}

GroupedWrites::GroupedWrites(Database& database) : database_(database) {
  database.impl_->watch.check();
  begin();
}

void GroupedWrites::begin() {
  translating_errors(database_.file(), [&] {
    transaction_.emplace(database_.impl_->connection, SQLite::TransactionBehavior::IMMEDIATE);
  });
}

void GroupedWrites::commit() {
  translating_errors(database_.file(), [&] { transaction_->commit(); });
  begin();
}

}  // namespace tiletune
