#include "store/row_batch.h"

#include <sqlite3.h>

#include <algorithm>
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

  bool replace_lesser(const Trial& trial) {
    if (!replace) replace.emplace(connection, replace_lesser_sql());
    replace->reset();
    int index = 0;
    for (const Column& column : trial_columns()) bind_cell(*replace, ++index, column.read(trial));
    return replace->exec() != 0;
  }

  void add_members(const Trial& trial, bool is_new) {
    for (const std::int64_t sweep : trial.sweeps) {
      if (is_new && sweep == trial.seen_in_sweep) continue;  // commit() adds it.
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
        log(database),
        columns(columns_of(names)),
        transaction(database, SQLite::TransactionBehavior::IMMEDIATE),
        rows_before(database.execAndGet("SELECT coalesce(max(id), 0) FROM trial").getInt64()),
        bound(columns.size()),
        insert(database, insert_new_sql(columns)) {
    for (std::size_t i = 0; i < columns.size(); ++i) insert.bind(static_cast<int>(i) + 1);
  }

  /// Rows may belong to sweeps.
  bool has_sweeps() const {
    return std::find(columns.begin(), columns.end(), &column_by_name("seen_in_sweep")) != columns.end();
  }

  std::filesystem::path file;
  SQLite::Database& connection;
  WithoutLog log;
  std::vector<const Column*> columns;
  SQLite::Transaction transaction;
  std::int64_t rows_before;  ///< the last id
  std::vector<Cell> bound;
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
  return translating_errors(state_->file, [&] { return state_->add(trial); });
}

RowBatch::Joined RowBatch::join(const Trial& trial) {
  return translating_errors(state_->file, [&] {
    const bool is_new = state_->add(trial);
    const bool replaced = !is_new && state_->replace_lesser(trial);
    state_->add_members(trial, is_new);
    if (is_new) return Joined::added;
    return replaced ? Joined::replaced : Joined::kept;
  });
}

void RowBatch::commit() {
  translating_errors(state_->file, [&] {
    if (state_->has_sweeps()) {
      SQLite::Statement members(state_->connection, new_members_sql());
      members.bind(1, state_->rows_before);
      members.exec();
    }
    if (state_->has_new_members) state_->connection.exec(see_in_latest_sql());
    state_->transaction.commit();
  });
}

}  // namespace tiletune
