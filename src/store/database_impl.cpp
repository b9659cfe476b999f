#include "store/database_impl.h"

#include <fmt/format.h>

#include "store/columns.h"
#include "store/connection.h"
#include "store/filter.h"
#include "store/schema.h"

namespace tiletune {

std::string select_sql(const char* what, const std::string& condition, const char* rest) {
  return fmt::format("SELECT {} FROM trial{}{}", what, condition, rest);
}

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
  if (!is_at_one_state) return earlier_sources(connection);
  if (!earlier) earlier = earlier_sources(connection);
  return *earlier;
}

SQLite::Statement Database::Impl::select(const char* what, const TrialFilter& filter, const char* rest,
                                         const char* hint) {
  const std::vector<std::string> gpus =
      filter.gpus.empty() ? std::vector<std::string>() : matching_gpus(distinct("gpu"), filter.gpus);
  const Condition condition =
      condition_of(filter, gpus, filter.source_age == SourceAge::any ? "" : sources_before());
  limit.begin();
  SQLite::Statement statement(connection, select_sql(what, hint + condition.sql, rest));
  int index = 0;
  for (const Cell& value : condition.values) bind_cell(statement, ++index, value);
  return statement;
}

SQLite::Statement Database::Impl::select_in_order(const char* what, const TrialFilter& filter) {
  return select(what, filter, " ORDER BY id", " NOT INDEXED");
}

}  // namespace tiletune
