#include "store/row_batch.h"

#include <vector>

#include "store/cells.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/schema.h"

namespace tiletune {

namespace {

std::vector<const Column*> columns_of(std::span<const char* const> names) {
  std::vector<const Column*> columns;
  for (const char* name : names) columns.push_back(&column_by_name(name));
  return columns;
}

/// Keys are spread over their whole index: what does not fit is written to the log over and over.
constexpr const char* kLargeCache = "PRAGMA cache_size = -262144";
constexpr const char* kUsualCache = "PRAGMA cache_size = -65536";

SQLite::Database& with_large_cache(SQLite::Database& database) {
  database.exec(kLargeCache);
  return database;
}

}  // namespace

struct RowBatch::State {
  State(SQLite::Database& database, std::span<const char* const> names, std::filesystem::path path)
      : file(std::move(path)),
        connection(database),
        columns(columns_of(names)),
        transaction(with_large_cache(database), SQLite::TransactionBehavior::IMMEDIATE),
        insert(database, insert_new_sql(columns)) {}
  ~State() { connection.tryExec(kUsualCache); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::filesystem::path file;
  SQLite::Database& connection;
  std::vector<const Column*> columns;
  SQLite::Transaction transaction;
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
  return translating_errors(state_->file, [&] {
    state_->insert.reset();
    int index = 0;
    for (const Column* column : state_->columns) bind_cell(state_->insert, ++index, column->read(trial));
    return state_->insert.exec() != 0;
  });
}

void RowBatch::commit() {
  translating_errors(state_->file, [&] { state_->transaction.commit(); });
}

}  // namespace tiletune
