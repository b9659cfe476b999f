#include "store/row_batch.h"

#include <optional>
#include <vector>

#include "store/cells.h"
#include "store/connection.h"
#include "store/database_impl.h"
#include "store/joining.h"
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
  bool replace_lesser(const Trial& trial) {
    if (!replace) replace.emplace(connection, replace_lesser_sql());
    replace->reset();
    int index = 0;
    for (const Column& column : trial_columns()) bind_cell(*replace, ++index, column.read(trial));
    return replace->exec() != 0;
  }

  void add_members(const Trial& trial, bool is_new) {
    for (const std::int64_t sweep : trial.sweeps) {
      if (is_new && sweep == trial.seen_in_sweep) continue;  // A trigger has added it.
      if (!add_member) {
        add_member.emplace(connection,
                           "INSERT OR IGNORE INTO sweep_trial SELECT ?, id FROM trial WHERE \"key\" = ?");
      }
      add_member->reset();
      add_member->bind(1, sweep);
      add_member->bind(2, trial.key);
      add_member->exec();
      has_new_members = true;
    }
  }

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
  std::optional<SQLite::Statement> replace;
  std::optional<SQLite::Statement> add_member;
  bool has_new_members = false;
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

RowBatch::Joined RowBatch::join(const Trial& trial) {
  const bool is_new = add(trial);
  return translating_errors(state_->file, [&] {
    const bool replaced = !is_new && state_->replace_lesser(trial);
    state_->add_members(trial, is_new);
    if (is_new) return Joined::added;
    return replaced ? Joined::replaced : Joined::kept;
  });
}

void RowBatch::commit() {
  translating_errors(state_->file, [&] {
    if (state_->has_new_members) state_->connection.exec(see_in_latest_sql());
    state_->transaction.commit();
  });
}

}  // namespace tiletune
