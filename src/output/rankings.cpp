#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text.h"
#include "output/cell_text.h"
#include "output/group_facts.h"
#include "output/group_table.h"
#include "output/views.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// A narrow terminal loses the last columns first, and never the first, which says which row it is.
GroupTable chosen_table(const Database& database, const std::vector<RankedRow>& rows,
                        const std::vector<Field>& fields) {
  GroupTable shown;
  for (std::size_t i = 0; i < fields.size(); ++i)
    shown.table.add_column(fields[i].name, fields[i].is_number() ? Align::right : Align::left,
                           i == 0 ? 0 : static_cast<int>(fields.size() - i));
  for (const RankedRow& place : rows) {
    const RankedTrial row = read_row(database, place);
    std::vector<std::string> cells;
    for (const Field& field : fields) cells.push_back(human_text(field.read(row), field.type));
    shown.table.add_row(std::move(cells));
    if (row.rank <= 1) shown.table.emphasise_last_row();
    shown.unverified += is_unverified(row.trial) ? 1 : 0;
  }
  return shown;
}

constexpr std::string_view kChooseColumns =
    "'tiletune rank --columns' chooses, pipe into 'less -S' to see all";

/// Which rows and columns are asked for.
struct RankingChoice {
  std::vector<Field> fields;  ///< none: the standard columns
  SortOrder order;
  std::size_t limit;
};

std::vector<std::string> standard_lines(const RankingGroup& group, const Database& database,
                                        const std::vector<RankedRow>& rows, const RankingChoice& choice) {
  std::vector<std::string> lines;
  if (!choice.order.field && std::ranges::any_of(rows, &RankedRow::tied))
    lines.emplace_back("tied: within a rank the order is by fewer registers, then higher occupancy");
  for (std::string& line : lines_of(facts_of(group, database))) lines.push_back(std::move(line));
  return lines;
}

ViewPage page_of(const RankingGroup& group, const Database& database, const RankingChoice& choice) {
  const std::vector<RankedRow> rows = shown_rows(database, group, choice.order, choice.limit);
  const bool is_standard = choice.fields.empty();
  GroupTable shown = is_standard ? standard_table(database, rows, group.source)
                                 : chosen_table(database, rows, choice.fields);
  ViewPage page{{std::move(shown.table)}, unverified_lines(shown.unverified)};
  page.lines.insert(page.lines.end(), shown.legend.begin(), shown.legend.end());
  if (is_standard) {
    for (std::string& line : standard_lines(group, database, rows, choice))
      page.lines.push_back(std::move(line));
  }
  const std::size_t hidden = group.rows.size() - rows.size();
  if (hidden != 0) page.lines.push_back(fmt::format("{} not shown", counted(hidden, "more row")));
  return page;
}

/// In CSV, what tells groups apart leads every record, chosen or not.
std::vector<Field> fields_for_programs(const std::vector<std::string>& chosen,
                                       std::vector<ViewColumn>& columns) {
  const auto leading = comparable_columns();
  std::vector<Field> fields = fields_by_name({leading.begin(), leading.end()});
  columns = columns_of(fields, ColumnOf::csv);
  for (Field& field : chosen.empty() ? all_fields() : fields_by_name(chosen)) {
    const bool is_there = std::ranges::find(fields, field.name, &Field::name) != fields.end();
    columns.push_back(column_of(field, is_there ? ColumnOf::json : ColumnOf::programs));
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace

ViewDocument rankings_view(const std::vector<RankingGroup>& groups, const Database& database,
                           const RankingRequest& request) {
  ViewDocument view{"groups", "rows"};
  const RankingChoice choice{fields_by_name(request.columns), sort_order(request.sort_by), request.limit};
  const std::vector<Field> fields = fields_for_programs(request.columns, view.columns);
  if (request.failures) view.head["failures"] = to_json(*request.failures, database);
  if (groups.empty()) view.footer = "No row that ran can be ranked.\n";
  if (choice.fields.empty()) view.remedy = kChooseColumns;
  add_sections(view, std::span(groups), [&database, choice, fields](const RankingGroup& group) {
    ViewSection section(group);
    section.add_facts = [&](Json& facts) {
      facts["total_rows"] = group.rows.size();
      add_facts(facts, facts_of(group, database));
    };
    section.page = [&] { return page_of(group, database, choice); };
    section.rows = [&](const auto& visit) {
      for (const RankedRow& row : shown_rows(database, group, choice.order, choice.limit))
        visit(cells_of(read_row(database, row), fields));
    };
    return section;
  });
  return view;
}

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
