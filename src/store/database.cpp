#include "store/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "base/error.h"
#include "store/cells.h"
#include "store/connection.h"
#include "store/file_watch.h"
#include "store/filter.h"
#include "store/schema.h"

namespace tiletune {

namespace {

/// A statement in use. Resetting it ends its read transaction; one left open would keep the WAL file growing.
class InUse {
 public:
  explicit InUse(SQLite::Statement& statement) : statement_(statement) {}
  ~InUse() { statement_.tryReset(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  SQLite::Statement* operator->() const { return &statement_; }
  SQLite::Statement& operator*() const { return statement_; }

 private:
  SQLite::Statement& statement_;
};

void write_cell(Trial& trial, const Column& column, const SQLite::Column& cell,
                const std::filesystem::path& file) {
  try {
    column.write(trial, read_cell(cell));
  } catch (const UserError& error) {
    throw UserError(error.message(), Where{file.string(), ""}, error.remedy());
  }
}

Trial read_trial(const SQLite::Statement& statement, const std::filesystem::path& file) {
  Trial trial;
  int index = 0;
  for (const Column& column : trial_columns()) write_cell(trial, column, statement.getColumn(index++), file);
  return trial;
}

Outcome read_outcome(const SQLite::Column& cell, const std::filesystem::path& file) {
  Trial trial;
  write_cell(trial, column_by_name("outcome"), cell, file);
  return trial.outcome;
}

void step_to_row(SQLite::Statement& statement, std::int64_t id, const std::filesystem::path& file) {
  statement.bind(1, id);
  if (!statement.executeStep()) throw std::out_of_range(fmt::format("{} has no row {}", file.string(), id));
}

std::string select_sql(const char* what, const std::string& condition, const char* rest) {
  return fmt::format("SELECT {} FROM trial{}{}", what, condition, rest);
}

}  // namespace

struct Database::Impl {
  Impl(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds busy_timeout)
      : file(path), connection(open_connection(path, mode, busy_timeout)), watch(path) {}

  /// The statement of this text, prepared once.
  InUse prepared(const std::string& sql) {
    auto found = statements.find(sql);
    if (found == statements.end()) found = statements.try_emplace(sql, connection, sql).first;
    return InUse(found->second);
  }

  void upsert(const Trial& trial) {
    static const std::string sql = upsert_sql();
    const InUse statement = prepared(sql);
    int index = 0;
    for (const Column& column : trial_columns()) bind_cell(*statement, ++index, column.read(trial));
    statement->exec();
  }

  std::vector<std::string> gpu_names() {
    const InUse statement = prepared("SELECT DISTINCT gpu FROM trial");
    std::vector<std::string> names;
    while (statement->executeStep()) names.push_back(statement->getColumn(0).getString());
    return names;
  }

  /// Prepares "SELECT what FROM trial WHERE ... rest" with the filter's values bound.
  SQLite::Statement select(const char* what, const TrialFilter& filter, const char* rest,
                           const char* hint = "") {
    const std::vector<std::string> gpus =
        filter.gpus.empty() ? std::vector<std::string>() : matching_gpus(gpu_names(), filter.gpus);
    const Condition condition = condition_of(filter, gpus);
    SQLite::Statement statement(connection, select_sql(what, hint + condition.sql, rest));
    int index = 0;
    for (const Cell& value : condition.values) bind_cell(statement, ++index, value);
    return statement;
  }

  /// The same in order of insertion. An index would bring the rows in another order, and SQLite, which keeps
  /// no statistics of the table, would rather sort millions of them on disk than do without one.
  SQLite::Statement select_in_order(const char* what, const TrialFilter& filter) {
    return select(what, filter, " ORDER BY id", " NOT INDEXED");
  }

  std::filesystem::path file;
  SQLite::Database connection;
  FileWatch watch;
  std::unordered_map<std::string, SQLite::Statement> statements;
};

Database::Database(const std::filesystem::path& file, Mode mode, std::chrono::milliseconds busy_timeout)
    : impl_(std::make_unique<Impl>(file, mode, busy_timeout)) {}

Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

const std::filesystem::path& Database::file() const { return impl_->file; }

std::int64_t Database::begin_sweep(const SweepRecord& sweep) {
  impl_->watch.check();
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(insert_sweep_sql());
    int index = 0;
    for (const SweepColumn& column : sweep_columns()) statement->bind(++index, sweep.*column.member);
    statement->exec();
    return impl_->connection.getLastInsertRowid();
  });
}

void Database::end_sweep(std::int64_t id, const std::string& finished_at) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    const InUse statement = impl_->prepared("UPDATE sweep SET finished_at = ? WHERE id = ?");
    statement->bind(1, finished_at);
    statement->bind(2, id);
    if (statement->exec() == 0)
      throw std::out_of_range(fmt::format("{} has no sweep {}", file().string(), id));
  });
}

std::vector<SweepRecord> Database::sweeps() const {
  return translating_errors(file(), [&] {
    std::string names = "id";
    for (const SweepColumn& column : sweep_columns()) names += std::string(", ") + column.name;
    const InUse statement = impl_->prepared("SELECT " + names + " FROM sweep ORDER BY id");
    std::vector<SweepRecord> sweeps;
    while (statement->executeStep()) {
      SweepRecord& sweep = sweeps.emplace_back();
      sweep.id = statement->getColumn(0).getInt64();
      int index = 0;
      for (const SweepColumn& column : sweep_columns()) {
        sweep.*column.member = statement->getColumn(++index).getString();
      }
    }
    return sweeps;
  });
}

void Database::record(const Trial& trial) {
  impl_->watch.check();
  translating_errors(file(), [&] { impl_->upsert(trial); });
}

void Database::mark_seen(const std::string& key, std::int64_t sweep_id) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    const InUse statement = impl_->prepared("UPDATE trial SET seen_in_sweep = ? WHERE \"key\" = ?");
    statement->bind(1, sweep_id);
    statement->bind(2, key);
    statement->exec();
  });
}

void Database::mark_baseline_seen(const Trial& kernel, std::int64_t sweep_id) {
  static const std::string sql = [] {
    std::string text = "UPDATE trial SET seen_in_sweep = ? WHERE kind = 'baseline'";
    for (const char* column : comparable_columns()) text += fmt::format(" AND \"{}\" = ?", column);
    return text + " AND driver_version = ? AND measure_policy = ?";
  }();
  translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(sql);
    int index = 0;
    statement->bind(++index, sweep_id);
    for (const char* column : comparable_columns()) {
      bind_cell(*statement, ++index, column_by_name(column).read(kernel));
    }
    statement->bind(++index, kernel.driver_version);
    statement->bind(++index, kernel.measure_policy);
    statement->exec();
  });
}

void Database::record_all(const std::vector<Trial>& trials) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    SQLite::Transaction transaction(impl_->connection, SQLite::TransactionBehavior::IMMEDIATE);
    for (const Trial& trial : trials) impl_->upsert(trial);
    transaction.commit();
  });
}

std::optional<Trial> Database::find(const std::string& key) const {
  static const std::string sql = select_sql(column_list().c_str(), " WHERE \"key\" = ?", "");
  return translating_errors(file(), [&]() -> std::optional<Trial> {
    const InUse statement = impl_->prepared(sql);
    statement->bind(1, key);
    if (!statement->executeStep()) return std::nullopt;
    return read_trial(*statement, file());
  });
}

void Database::record_calibration(const CalibrationRecord& calibration) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(record_calibration_sql());
    int index = 0;
    for (const CalibrationColumn& column : calibration_columns()) {
      std::visit([&](auto member) { statement->bind(++index, calibration.*member); }, column.member);
    }
    statement->exec();
  });
}

std::optional<CalibrationRecord> Database::calibration(const std::string& gpu_uuid,
                                                       const std::string& driver_version) const {
  return translating_errors(file(), [&]() -> std::optional<CalibrationRecord> {
    const InUse statement =
        impl_->prepared(select_calibration_sql() + " WHERE gpu_uuid = ? AND driver_version = ?");
    statement->bind(1, gpu_uuid);
    statement->bind(2, driver_version);
    if (!statement->executeStep()) return std::nullopt;
    CalibrationRecord calibration;
    int index = 0;
    for (const CalibrationColumn& column : calibration_columns()) {
      const SQLite::Column cell = statement->getColumn(index++);
      if (const auto* text = std::get_if<0>(&column.member)) calibration.** text = cell.getString();
      if (const auto* number = std::get_if<1>(&column.member)) calibration.** number = cell.getDouble();
    }
    return calibration;
  });
}

std::vector<Trial> Database::trials(const TrialFilter& filter) const {
  std::vector<Trial> rows;
  for_each(filter, [&](const Trial& trial) {
    rows.push_back(trial);
    return true;
  });
  return rows;
}

void Database::for_each(const TrialFilter& filter, const std::function<bool(const Trial&)>& visit) const {
  translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select_in_order(column_list().c_str(), filter);
    while (statement.executeStep()) {
      if (!visit(read_trial(statement, file()))) return;
    }
  });
}

void Database::for_each(const TrialFilter& filter, std::span<const char* const> columns,
                        const std::function<void(std::int64_t, const Trial&)>& visit) const {
  std::vector<const Column*> wanted;
  std::string list = "id";
  for (const char* name : columns) {
    wanted.push_back(&column_by_name(name));
    list += fmt::format(", \"{}\"", name);
  }
  translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select_in_order(list.c_str(), filter);
    Trial trial;
    while (statement.executeStep()) {
      int index = 0;
      for (const Column* column : wanted) write_cell(trial, *column, statement.getColumn(++index), file());
      visit(statement.getColumn(0).getInt64(), trial);
    }
  });
}

Trial Database::row(std::int64_t id) const {
  static const std::string sql = select_sql(column_list().c_str(), " WHERE id = ?", "");
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(sql);
    step_to_row(*statement, id, file());
    return read_trial(*statement, file());
  });
}

Cell Database::cell(std::int64_t id, const Column& column) const {
  const std::string sql = select_sql(fmt::format("\"{}\"", column.name).c_str(), " WHERE id = ?", "");
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(sql);
    step_to_row(*statement, id, file());
    return read_cell(statement->getColumn(0));
  });
}

void Database::at_one_state(const std::function<void()>& read) const {
  translating_errors(file(), [&] {
    const SQLite::Transaction transaction(impl_->connection, SQLite::TransactionBehavior::DEFERRED);
    read();
  });
}

std::vector<std::pair<Outcome, std::int64_t>> Database::outcome_counts(const TrialFilter& filter) const {
  return translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select("outcome, count(*)", filter, " GROUP BY outcome");
    std::vector<std::pair<Outcome, std::int64_t>> counts;
    while (statement.executeStep()) {
      counts.emplace_back(read_outcome(statement.getColumn(0), file()), statement.getColumn(1).getInt64());
    }
    std::sort(counts.begin(), counts.end());
    return counts;
  });
}

}  // namespace tiletune
