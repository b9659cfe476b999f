#include "output/rankings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/csv.h"
#include "output/display.h"
#include "output/export.h"
#include "output/fields.h"
#include "output/group_facts.h"
#include "output/group_table.h"
#include "output/json_stream.h"
#include "store/columns.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

GroupTable chosen_table(const Database& database, const std::vector<RankedRow>& rows,
                        const std::vector<Field>& fields) {
  // The first one says which row it is.
  std::vector<std::string_view> dropped;
  for (auto field = fields.rbegin(); std::next(field) != fields.rend(); ++field)
    dropped.push_back(field->name);
  GroupTable shown{table_of(fields, dropped), {}};
  for (const RankedRow& place : rows) {
    const RankedTrial row = read_row(database, place);
    add_row(shown.table, fields, row);
    shown.unverified += is_unverified(row.trial) ? 1 : 0;
  }
  return shown;
}

constexpr std::string_view kChooseColumns =
    "'tiletune rank --columns' chooses, pipe into 'less -S' to see all";

/// What is shown of a group under its heading.
struct GroupView {
  const std::vector<RankedRow>& rows;
  const std::vector<Field>& fields;  ///< none: the standard columns
  bool by_rank;
  bool markdown;
  const TextStyle& style;
};

GroupTable table_of(const RankingGroup& group, const Database& database, const GroupView& view) {
  if (view.fields.empty()) return standard_table(database, view.rows, group.source);
  return chosen_table(database, view.rows, view.fields);
}

/// `left_out`: columns that another group's table leaves out.
void write_group(std::ostream& out, const RankingGroup& group, const Database& database,
                 const GroupView& view, const std::vector<std::string>& left_out) {
  GroupTable shown = table_of(group, database, view);
  shown.table.leave_out(left_out);
  const bool is_chosen = !view.fields.empty();
  write_section(out, heading(group.problem, group.gpu, group.source, group.conditions),
                source_banner(group.source, group.gpu), shown.table, view.markdown, view.style,
                is_chosen ? kShowAll : kChooseColumns);
  write_lines(out, unverified_lines(shown.unverified), view.markdown, view.style.width);
  if (is_chosen) return;
  write_lines(out, shown.legend, view.markdown, view.style.width);
  const bool tied =
      std::any_of(view.rows.begin(), view.rows.end(), [](const RankedRow& row) { return row.tied; });
  if (tied && view.by_rank)
    write_lines(out, {"tied: within a rank the order is by fewer registers, then higher occupancy"},
                view.markdown, view.style.width);
  write_lines(out, lines_of(facts_of(group, database)), view.markdown, view.style.width);
}

void write_tables(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                  bool markdown, const RankingView& view) {
  const std::vector<Field> fields = fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  if (groups.empty()) out << "No row that ran can be ranked.\n";
  // Tables of a narrow terminal are made twice, so that all have the same columns and one is held at a time.
  std::vector<std::string> left_out;
  if (groups.size() > 1 && !markdown && view.style.width != kAnyWidth) {
    for (const RankingGroup& group : groups) {
      const std::vector<RankedRow> rows = shown_rows(database, group, order, view.limit);
      const GroupTable table = table_of(group, database, {rows, fields, !order.field, markdown, view.style});
      for (std::string& header : table.table.left_out(view.style.width))
        left_out.push_back(std::move(header));
    }
  }
  bool first = true;
  for (const RankingGroup& group : groups) {
    if (!std::exchange(first, false)) out << '\n';
    const std::vector<RankedRow> rows = shown_rows(database, group, order, view.limit);
    write_group(out, group, database, {rows, fields, !order.field, markdown, view.style}, left_out);
    const std::size_t hidden = group.rows.size() - rows.size();
    if (hidden != 0)
      out << fmt::format("{}{} not shown\n", markdown ? "\n" : "", counted(hidden, "more row"));
  }
}

Json as_json(const RankedTrial& row, const std::vector<Field>& fields) {
  Json object = Json::object();
  for (const Field& field : fields) object[field.name] = json_of(field.read(row), field.type);
  if (object.contains("tied")) object["tied"] = row.tied;
  if (const auto verified = verified_of(row.trial); verified && object.contains("verified"))
    object["verified"] = *verified;
  return object;
}

void write_json(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                const RankingView& view) {
  const std::vector<Field> fields = view.columns.empty() ? all_fields() : fields_by_name(view.columns);
  const SortOrder order = sort_order(view.sort_by);
  Json head{{"tiletune", kVersion}};
  if (view.failures) head["failures"] = to_json(*view.failures, database);
  head["groups"] = Json::array();
  JsonArrayStream document(out, head, 2);
  for (const RankingGroup& group : groups) {
    Json envelope{{"gpu", group.gpu},
                  {"problem", group.problem},
                  {"source", name(group.source)},
                  {"conditions", group.conditions},
                  {"total_rows", group.rows.size()}};
    add_facts(envelope, facts_of(group, database));
    envelope["rows"] = Json::array();
    JsonArrayStream rows(document, envelope);
    for (const RankedRow& row : shown_rows(database, group, order, view.limit)) {
      rows.add(as_json(read_row(database, row), fields));
    }
    rows.end();
  }
  document.end();
  out << '\n';
}

/// What tells groups apart leads every record, chosen or not.
std::vector<Field> csv_fields(const RankingView& view) {
  const auto leading = comparable_columns();
  std::vector<Field> fields = fields_by_name({leading.begin(), leading.end()});
  for (Field& field : view.columns.empty() ? all_fields() : fields_by_name(view.columns)) {
    const bool there =
        std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == field.name; });
    if (!there) fields.push_back(std::move(field));
  }
  return fields;
}

/// One table of all groups.
void write_csv(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
               const RankingView& view) {
  const SortOrder order = sort_order(view.sort_by);
  const std::vector<Field> fields = csv_fields(view);
  write_csv_record(out, names_of(fields));
  for (const RankingGroup& group : groups) {
    for (const RankedRow& row : shown_rows(database, group, order, view.limit)) {
      write_csv_record(out, exact_texts(read_row(database, row), fields));
    }
  }
}

}  // namespace

std::string heading(const std::string& problem, const std::string& gpu, Source source,
                    const std::string& conditions) {
  const std::string under = conditions.empty() ? "" : fmt::format(" ({})", conditions);
  return printable(fmt::format("{} on {}, {}{}", problem, gpu, name(source), under));
}

std::string parameters_text(const Trial& trial) {
  if (trial.kind == "baseline") return "(baseline)";
  return human_cell(trial, "parameters");
}

std::string time_column(Source source) { return source == Source::predicted ? "predicted_us" : "median_us"; }

std::string human_cell(const Trial& trial, const std::string& column_name) {
  const Column& column = column_by_name(column_name);
  return human_text(column.read(trial), column.type);
}

namespace {

/// Text in Markdown or in lines of the width; any text at any width stays as it is.
std::string shown(const std::string& text, bool markdown, std::size_t width) {
  if (markdown) return markdown_text(text);
  return display_width(text) > width ? wrapped(text, width) : text;
}

}  // namespace

void write_title(std::ostream& out, const std::string& title, bool markdown, std::size_t width) {
  out << (markdown ? "### " : "") << shown(title, markdown, width) << (markdown ? "\n\n" : "\n");
}

void write_section(std::ostream& out, const std::string& title, const std::string& banner,
                   const TextTable& table, bool markdown, const TextStyle& style, std::string_view remedy) {
  write_title(out, title, markdown, style.width);
  if (!banner.empty())
    out << (markdown ? "**" : "") << shown(printable(banner), markdown, style.width)
        << (markdown ? "**\n\n" : "\n");
  write_table(out, table, markdown, style, remedy);
}

void write_lines(std::ostream& out, const std::vector<std::string>& lines, bool markdown, std::size_t width) {
  for (const std::string& line : lines) out << (markdown ? "\n" : "") << shown(line, markdown, width) << '\n';
}

void write_rankings(std::ostream& out, const std::vector<RankingGroup>& groups, const Database& database,
                    Format format, const RankingView& view) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_tables(out, groups, database, format == Format::markdown, view);
    case Format::json:
      return write_json(out, groups, database, view);
    case Format::csv:
      return write_csv(out, groups, database, view);
  }
}

}  // namespace tiletune
