#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "store/connection.h"
#include "store/database_impl.h"
#include "store/filter.h"
#include "store/schema.h"

namespace tiletune {

namespace {

/// Every statement that reads rows begins with them: errors name the row by them.
constexpr const char* kNumbers = "id, sweep_id";
constexpr int kCountOfNumbers = 2;

void write_cell(Trial& trial, const Column& column, const SQLite::Statement& row, int index,
                const std::filesystem::path& file) {
  try {
    column.write(trial, read_cell(row.getColumn(index)));
  } catch (const UserError& error) {
    const std::int64_t sweep = row.getColumn(1).getInt64();
    throw UserError(error.message(),
                    Where{file.string(), fmt::format("row {}{}", row.getColumn(0).getInt64(),
                                                     sweep > 0 ? fmt::format(" of sweep {}", sweep) : "")},
                    error.remedy() +
                        " Or leave out rows that cannot be read, with --skip-bad: 'tiletune merge "
                        "OLD.db -o NEW.db --skip-bad' writes a database without them.");
  }
}

const std::string& row_list() {
  static const std::string list = fmt::format("{}, {}", kNumbers, column_list());
  return list;
}

/// All columns of a row of row_list().
Trial read_trial(const SQLite::Statement& row, const std::filesystem::path& file) {
  Trial trial;
  int index = kCountOfNumbers;
  for (const Column& column : stored_columns()) write_cell(trial, column, row, index++, file);
  return trial;
}

/// One transaction for a row and the sweeps that it belongs to, unless GroupedWrites has begun one.
class Together {
 public:
  explicit Together(SQLite::Database& connection) {
    if (::sqlite3_get_autocommit(connection.getHandle()) != 0)
      transaction_.emplace(connection, SQLite::TransactionBehavior::IMMEDIATE);
  }
  void commit() {
    if (transaction_) transaction_->commit();
  }

 private:
  std::optional<SQLite::Transaction> transaction_;
};

/// Rows are never removed: one that was read and is not found lies where it should not.
void step_to_row(SQLite::Statement& statement, std::int64_t id) {
  statement.bind(1, id);
  if (!statement.executeStep())
    throw SQLite::Exception(fmt::format("there is no row {}", id), SQLITE_CORRUPT);
}

std::optional<Trial> first_of(std::vector<Trial> rows) {
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

/// "SELECT what FROM trial condition rest"
std::string select_sql(const std::string& what, const std::string& condition, const char* rest = "") {
  return fmt::format("SELECT {} FROM trial{}{}", what, condition, rest);
}

}  // namespace

Database::Impl::Impl(const std::filesystem::path& path, Connection opened)
    : file(path), folder(std::move(opened.folder)), connection(std::move(opened.database)), watch(path) {}

InUse Database::Impl::prepared(const std::string& sql) {
  auto found = statements.find(sql);
  limit.begin();
  if (found == statements.end()) found = statements.try_emplace(sql, connection, sql).first;
  return InUse(found->second);
}

void Database::Impl::upsert(const Trial& trial) {
  static const std::string sql = upsert_sql();
  const InUse statement = prepared(sql);
  int index = 0;
  for (const Column& column : stored_columns()) bind_cell(*statement, ++index, column.read(trial));
  statement->exec();
  const InUse membership = prepared(
      "INSERT OR IGNORE INTO sweep_trial SELECT seen_in_sweep, id FROM trial WHERE \"key\" = ? AND "
      "seen_in_sweep IS NOT "
      "NULL");
  membership->bind(1, trial.key);
  membership->exec();
}

std::vector<std::string> Database::Impl::distinct(const char* column) {
  const InUse statement = prepared(fmt::format("SELECT DISTINCT {} FROM trial", column));
  std::vector<std::string> values;
  while (statement->executeStep()) values.push_back(statement->getColumn(0).getString());
  return values;
}

std::string Database::Impl::sources_before() {
  if (!is_at_one_state) return earlier_sources(connection, source_now);
  if (!earlier) earlier = earlier_sources(connection, source_now);
  return *earlier;
}

SQLite::Statement Database::Impl::select(const std::string& what, const TrialFilter& filter, const char* rest,
                                         const char* hint) {
  const std::vector<std::string> gpus =
      filter.gpus.empty() ? std::vector<std::string>() : matching_gpus(distinct("gpu"), filter.gpus);
  const Condition condition =
      condition_of(filter, gpus, filter.source_age == SourceAge::any ? "" : sources_before(), skipped);
  limit.begin();
  SQLite::Statement statement(connection, select_sql(what, hint + condition.sql, rest));
  int index = 0;
  for (const Cell& value : condition.values) bind_cell(statement, ++index, value);
  return statement;
}

SQLite::Statement Database::Impl::select_in_order(const std::string& what, const TrialFilter& filter) {
  return select(what, filter, " ORDER BY id", " NOT INDEXED");
}

Database::Database(const std::filesystem::path& file, Mode mode, std::chrono::milliseconds busy_timeout)
    : impl_(std::make_unique<Impl>(file, open_connection(file, mode, busy_timeout))) {
  if (mode == Mode::read_only) impl_->limit.watch(impl_->connection.getHandle());
}

Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

bool Database::Impl::Patience::lasts(bool is_new) {
  if (gone) return false;
  const auto now = std::chrono::steady_clock::now();
  if (is_new) {
    since = now;
    reported = false;
  }
  if (now - since < std::chrono::seconds(1)) return true;
  if (!std::exchange(reported, true)) tell();
  gone = give_up(now - since);
  return !gone;
}

void Database::wait_for_others(std::function<void()> tell,
                               std::function<bool(std::chrono::steady_clock::duration)> give_up) {
  impl_->patience.tell = std::move(tell);
  impl_->patience.give_up = std::move(give_up);
  const auto wait = [](void* data, int times) {
    constexpr std::chrono::milliseconds kPause{10};
    if (!static_cast<Impl::Patience*>(data)->lasts(times == 0)) return 0;
    std::this_thread::sleep_for(kPause);
    return 1;
  };
  sqlite3_busy_handler(impl_->connection.getHandle(), wait, &impl_->patience);
  impl_->limit.watch(impl_->connection.getHandle());
}

void Database::remove_if_empty() {
  SQLite::Database& connection = impl_->connection;
  impl_->statements.clear();
  try {
    // Only whoever has it open alone can leave WAL mode.
    if (connection.execAndGet("PRAGMA journal_mode = DELETE").getString() != "delete") return;
    const SQLite::Transaction alone(connection, SQLite::TransactionBehavior::EXCLUSIVE);
    for (const char* table : {"trial", "sweep", "calibration"}) {
      const std::string sql = fmt::format("SELECT EXISTS (SELECT 1 FROM {})", table);
      if (connection.execAndGet(sql).getInt() != 0) return;
    }
    std::error_code ignored;
    // A symbolic link, which was there before, stays.
    std::filesystem::remove(std::filesystem::canonical(file(), ignored), ignored);
  } catch (const SQLite::Exception&) {
    // Somebody else has begun to use it.
  }
}

const std::filesystem::path& Database::file() const { return impl_->file; }

void Database::record(const Trial& trial) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    Together both(impl_->connection);
    impl_->upsert(trial);
    both.commit();
  });
}

void Database::Impl::mark_seen(const std::string& condition, const std::vector<Cell>& values,
                               std::int64_t sweep_id) {
  translating_errors(file, [&] {
    Together both(connection);
    for (const char* change : {"UPDATE trial SET seen_in_sweep = ?",
                               "INSERT OR IGNORE INTO sweep_trial SELECT ?, id FROM trial"}) {
      const InUse statement = prepared(change + condition);
      int index = 0;
      statement->bind(++index, sweep_id);
      for (const Cell& value : values) bind_cell(*statement, ++index, value);
      statement->exec();
    }
    both.commit();
  });
}

void Database::mark_seen(const std::string& key, std::int64_t sweep_id) {
  impl_->watch.check();
  impl_->mark_seen(" WHERE \"key\" = ?", {key}, sweep_id);
}

void Database::mark_baseline_seen(const Trial& kernel, std::int64_t sweep_id) {
  std::string condition = " WHERE kind = 'baseline' AND driver_version = ? AND measure_policy = ?";
  std::vector<Cell> values{kernel.driver_version, kernel.measure_policy};
  for (const char* column : comparable_columns()) {
    condition += fmt::format(" AND \"{}\" = ?", column);
    values.push_back(column_by_name(column).read(kernel));
  }
  impl_->mark_seen(condition, values, sweep_id);
}

void Database::record_all(const std::vector<Trial>& trials) {
  impl_->watch.check();
  translating_errors(file(), [&] {
    SQLite::Transaction transaction(impl_->connection, SQLite::TransactionBehavior::IMMEDIATE);
    for (const Trial& trial : trials) impl_->upsert(trial);
    transaction.commit();
  });
}

std::vector<Trial> Database::Impl::rows(const std::string& sql, const std::vector<std::string>& values) {
  return translating_errors(file, [&] {
    const InUse statement = prepared(sql);
    int index = 0;
    for (const std::string& value : values) statement->bind(++index, value);
    std::vector<Trial> rows;
    while (statement->executeStep()) rows.push_back(read_trial(*statement, file));
    return rows;
  });
}

std::optional<Trial> Database::find(const std::string& key) const {
  static const std::string sql = select_sql(row_list(), " WHERE \"key\" = ?");
  return first_of(impl_->rows(sql, {key}));
}

std::vector<Trial> Database::find_source(const std::string& source_key) const {
  static const std::string sql = select_sql(row_list(), " WHERE source_key = ? AND source_key <> ''",
                                            " GROUP BY kernel_hash, included_files");
  return impl_->rows(sql, {source_key});
}

std::optional<Trial> Database::find_measurement(const std::string& measurement) const {
  static const std::string sql = select_sql(
      row_list(), " WHERE measurement = ? AND measurement <> '' AND shares = '' AND kind = 'kernel'",
      " ORDER BY id LIMIT 1");
  return first_of(impl_->rows(sql, {measurement}));
}

std::vector<Trial> Database::sharers_of(const Trial& row) const {
  static const std::string sql =
      select_sql(row_list(), " WHERE measurement = ? AND measurement <> '' AND shares = ?", " ORDER BY id");
  return impl_->rows(sql, {row.measurement, row.key});
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
    SQLite::Statement statement = impl_->select_in_order(row_list(), filter);
    while (statement.executeStep())
      if (!visit(read_trial(statement, file()))) return;
  });
}

void Database::for_each(const TrialFilter& filter, std::span<const char* const> columns,
                        const std::function<void(std::int64_t, const Trial&)>& visit) const {
  std::vector<const Column*> wanted;
  std::string list = kNumbers;
  for (const char* name : columns) {
    wanted.push_back(&stored_column(column_by_name(name)));
    list += fmt::format(", \"{}\"", wanted.back()->name);
  }
  translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select_in_order(list, filter);
    Trial trial;
    while (statement.executeStep()) {
      int index = kCountOfNumbers;
      for (const Column* column : wanted) write_cell(trial, *column, statement, index++, file());
      visit(statement.getColumn(0).getInt64(), trial);
    }
  });
}

std::vector<std::int64_t> Database::bad_rows(const Stop& stop) const {
  std::vector<const Column*> columns;
  std::string list = "id";
  for (const Column& column : stored_columns()) {
    if (!column.may_be_bad) continue;
    columns.push_back(&column);
    list += fmt::format(", \"{}\"", column.name);
  }
  return translating_errors(file(), [&] {
    SQLite::Statement row = impl_->select_in_order(list, {});
    std::vector<std::int64_t> bad;
    Trial trial;
    while (row.executeStep()) {
      if (stop()) throw Stopped();
      int index = 0;
      try {
        for (const Column* column : columns) column->write(trial, read_cell(row.getColumn(++index)));
      } catch (const UserError&) {
        bad.push_back(row.getColumn(0).getInt64());
      }
    }
    return bad;
  });
}

std::size_t Database::skip_bad_rows() {
  const std::vector<std::int64_t> bad = bad_rows();
  impl_->skipped = bad.empty() ? "" : fmt::format("[{}]", fmt::join(bad, ","));
  return bad.size();
}

void Database::for_each_with_sweeps(const TrialFilter& filter,
                                    const std::function<void(const Trial&)>& visit) const {
  translating_errors(file(), [&] {
    SQLite::Statement rows = impl_->select_in_order(row_list(), filter);
    // Sorted once, because the table is ordered by sweep and has no index of rows.
    SQLite::Statement members(impl_->connection,
                              "SELECT trial_id, sweep_id FROM sweep_trial ORDER BY trial_id, sweep_id");
    bool more = true;
    std::int64_t member = 0;
    const auto next_member = [&] {
      more = members.executeStep();
      if (more) member = members.getColumn(0).getInt64();
    };
    for (bool first = true; rows.executeStep(); first = false) {
      if (first) next_member();  // A statement that is under way keeps both at one state of the database.
      const std::int64_t id = rows.getColumn(0).getInt64();
      Trial trial = read_trial(rows, file());
      while (more && member < id) next_member();
      while (more && member == id) {
        trial.sweeps.push_back(members.getColumn(1).getInt64());
        next_member();
      }
      visit(trial);
    }
  });
}

Trial Database::row(std::int64_t id) const {
  static const std::string sql = select_sql(row_list(), " WHERE id = ?");
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(sql);
    step_to_row(*statement, id);
    return read_trial(*statement, file());
  });
}

Cell Database::cell(std::int64_t id, const Column& column) const {
  const Column& stored = stored_column(column);
  const std::string sql = select_sql(fmt::format("\"{}\"", stored.name), " WHERE id = ?");
  return translating_errors(file(), [&] {
    const InUse statement = impl_->prepared(sql);
    step_to_row(*statement, id);
    if (!column.is_figure) return read_cell(statement->getColumn(0));
    Trial trial;
    stored.write(trial, read_cell(statement->getColumn(0)));
    return column.read(trial);
  });
}

void Database::at_one_state(const std::function<void()>& read) const {
  translating_errors(file(), [&] {
    const SQLite::Transaction transaction(impl_->connection, SQLite::TransactionBehavior::DEFERRED);
    const Impl::OneState state(*impl_);
    read();
  });
}

std::vector<std::string> Database::distinct(const char* column) const {
  return translating_errors(file(), [&] { return impl_->distinct(column); });
}

std::vector<StatedProblem> Database::stated_problems() const {
  return translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select("DISTINCT problem, options, element_types", {}, "");
    std::vector<StatedProblem> problems;
    while (statement.executeStep()) {
      problems.push_back({statement.getColumn(0).getString(), statement.getColumn(1).getString(),
                          statement.getColumn(2).getString()});
    }
    return problems;
  });
}

void Database::use_present_sources(SourceNow source_now) { impl_->source_now = std::move(source_now); }

std::vector<std::string> Database::edited_templates() const {
  const std::string sources = translating_errors(file(), [&] { return impl_->sources_before(); });
  return nlohmann::json::parse(sources.empty() ? R"({"edited": []})" : sources).at("edited");
}

std::uint64_t Database::rows_hidden_by(TrialFilter filter) const {
  if (filter.source_age != SourceAge::newest) return 0;
  filter.source_age = SourceAge::earlier;
  std::uint64_t rows = 0;
  for (const auto& [outcome, count] : outcome_counts(filter)) rows += static_cast<std::uint64_t>(count);
  return rows;
}

std::vector<std::pair<Outcome, std::int64_t>> Database::outcome_counts(const TrialFilter& filter) const {
  return translating_errors(file(), [&] {
    SQLite::Statement statement = impl_->select("min(id), 0, outcome, count(*)", filter, " GROUP BY outcome");
    std::vector<std::pair<Outcome, std::int64_t>> counts;
    while (statement.executeStep()) {
      Trial trial;
      write_cell(trial, column_by_name("outcome"), statement, kCountOfNumbers, file());
      counts.emplace_back(trial.outcome, statement.getColumn(kCountOfNumbers + 1).getInt64());
    }
    std::sort(counts.begin(), counts.end());
    return counts;
  });
}

}  // namespace tiletune
