#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "output/group_table.h"
#include "output/views.h"

namespace tiletune {

namespace {

std::size_t count_rows(const Database& database, const TrialFilter& filter) {
  std::int64_t total = 0;
  for (const auto& [outcome, count] : database.outcome_counts(filter)) total += count;
  return static_cast<std::size_t>(total);
}

}  // namespace

ViewDocument trials_view(const Database& database, const TrialFilter& filter,
                         const std::vector<std::string>& columns, std::size_t limit) {
  static constexpr std::array<std::string_view, 3> kDropped{"gpu", "median_us", "problem"};
  ViewDocument view{"", "trials"};
  view.hides_empty = true;
  std::vector<Field> fields = fields_by_name(columns);
  view.columns = columns_of(fields, ColumnOf::not_json);
  for (ViewColumn& column : view.columns) column.drop_order = drop_order(column.name, kDropped);
  for (Field& field : all_fields()) {
    if (field.sorted_by == nullptr) continue;
    view.columns.push_back(column_of(field, ColumnOf::json));
    fields.push_back(std::move(field));
  }
  const std::size_t total = count_rows(database, filter);
  view.head["total_rows"] = total;
  if (limit != 0 && limit < total)
    view.footer = fmt::format("{} not shown\n", counted(total - limit, "more row"));
  view.size = 1;
  view.section = [&database, &filter, fields, limit](std::size_t) {
    ViewSection section;
    section.rows = [&database, &filter, &fields, limit](const auto& visit) {
      std::size_t shown = 0;
      database.for_each(filter, [&](const Trial& trial) {
        visit(cells_of({trial, 0, false}, fields));
        return ++shown != limit;
      });
    };
    return section;
  };
  return view;
}

}  // namespace tiletune
