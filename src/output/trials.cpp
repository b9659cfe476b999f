#include <fmt/format.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "output/csv.h"
#include "output/export.h"
#include "output/group_table.h"
#include "output/json_stream.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

std::size_t count_rows(const Database& database, const TrialFilter& filter) {
  std::int64_t total = 0;
  for (const auto& [outcome, count] : database.outcome_counts(filter)) total += count;
  return static_cast<std::size_t>(total);
}

/// The rows that a list shows: at most `limit` (0: all) of those of the filter.
struct TrialList {
  const Database& database;
  const TrialFilter& filter;
  std::size_t limit;

  void for_each(const std::function<void(const RankedTrial&)>& visit) const {
    std::size_t shown = 0;
    database.for_each(filter, [&](const Trial& trial) {
      visit({trial, 0, false});
      return ++shown != limit;
    });
  }
};

void write_json(std::ostream& out, const TrialList& list, std::size_t total) {
  JsonArrayStream trials(out, {{"tiletune", kVersion}, {"total_rows", total}, {"trials", Json::array()}}, 2);
  list.for_each([&](const RankedTrial& row) { trials.add(to_json(row.trial)); });
  trials.end();
  out << '\n';
}

void write_csv(std::ostream& out, const TrialList& list, const std::vector<Field>& fields) {
  write_csv_record(out, names_of(fields));
  list.for_each([&](const RankedTrial& row) { write_csv_record(out, exact_texts(row, fields)); });
}

}  // namespace

void write_trials(std::ostream& out, const Database& database, const TrialFilter& filter, Format format,
                  const std::vector<std::string>& columns, std::size_t limit, const TextStyle& style) {
  const std::vector<Field> fields = fields_by_name(columns);
  const TrialList list{database, filter, limit};
  const std::size_t total = count_rows(database, filter);
  if (format == Format::json) return write_json(out, list, total);
  if (format == Format::csv) return write_csv(out, list, fields);
  static constexpr std::array<std::string_view, 3> kDropped{"gpu", "median_us", "problem"};
  TextTable table = table_of(fields, kDropped);
  list.for_each([&](const RankedTrial& row) { add_row(table, fields, row); });
  table.hide_empty_columns();
  write_table(out, table, format == Format::markdown, {false, style.width});
  if (limit != 0 && limit < total) out << fmt::format("{} not shown\n", counted(total - limit, "more row"));
}

}  // namespace tiletune
