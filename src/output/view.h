#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/spelling.h"
#include "output/fields.h"
#include "output/table.h"
#include "rank/rows.h"

namespace tiletune {

enum class Format { table, json, csv, markdown };
template <>
inline constexpr std::array<Named<Format>, 4> kSpellings<Format>{
    {{Format::table, "table"}, {Format::json, "json"}, {Format::csv, "csv"}, {Format::markdown, "markdown"}}};
/// Throws UserError with the names of those a command has.
Format format_from_name(const std::string& name,
                        const std::vector<Format>& formats = {Format::table, Format::json, Format::csv,
                                                              Format::markdown});

std::vector<ViewColumn> columns_of(const std::vector<Field>& fields, ColumnOf writers = ColumnOf::all);
/// Format of a ViewColumn's numbers.
std::string one_decimal(double number);

/// A cell for each column.
using ViewRow = std::vector<Cell>;
/// Calls `visit` with one row after the other: there may be a million of them.
using ViewRows = std::function<void(const std::function<void(const ViewRow&)>& visit)>;
using TrialRows = std::function<void(const std::function<void(const RankedTrial&)>& visit)>;

template <typename Number>
Cell count_cell(Number count) {
  return static_cast<std::int64_t>(count);
}
template <typename Number>
Cell count_cell(const std::optional<Number>& count) {
  return count ? count_cell(*count) : Cell();
}
template <typename Value>
Cell cell_or_null(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}
/// The columns for people.
TextTable table_of(const std::vector<ViewColumn>& columns, const ViewRows& rows);
/// A table of rows for people. Rows for which `stands_out` returns true are emphasised.
TextTable trial_table(const std::vector<Field>& fields, const TrialRows& rows,
                      bool (*stands_out)(const RankedTrial& row) = nullptr);
/// The values of the fields for programs, row by row.
ViewRows cells_of(std::vector<Field> fields, TrialRows rows);
nlohmann::ordered_json json_of(const std::vector<ViewColumn>& columns, const ViewRow& row);

using Lines = std::vector<std::string>;
/// Lines that are written unchanged.
struct Verbatim {
  Lines lines;
};
/// A section for people, without its title: tables, and lines of text that fit the width.
using ViewPage = std::vector<std::variant<TextTable, Verbatim, Lines>>;

/// A part of a view with its own title. What is a function is called by the writers that need it.
struct ViewSection {
  ViewSection() = default;
  /// Headed by what its rows have in common, which its facts name.
  explicit ViewSection(const Comparable& what);
  /// With another title, and without the problem among the facts: the rows are of several.
  ViewSection(const std::string& text, const Comparable& what);

  std::string title = {};                                           ///< empty: none
  std::string banner = {};                                          ///< for rows whose time was not measured
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();  ///< JSON's members before the rows
  std::function<void(nlohmann::ordered_json& facts)> add_facts = {};
  ViewRows rows = {};
  /// Makes the page for lines of at most `width` columns. None: a table of `rows`, then `lines`.
  std::function<ViewPage(std::size_t width)> page = {};
  Lines lines = {};
  bool is_for_people = true;
};

/// What a command shows, whatever the format. JSON is one object {"tiletune": version, "NAME": [{facts,
/// "ROWS": [{column: cell}]}]}; CSV one table of all sections; the others have a headed table for each
/// section, of which a narrow terminal leaves out the same columns.
struct ViewDocument {
  std::string name;  ///< of the sections in JSON; empty: its only section's members are the object's
  std::string rows_name = {};             ///< of a section's rows in JSON; empty: its facts say all
  std::vector<ViewColumn> columns = {};   ///< of the rows
  std::vector<const char*> leading = {};  ///< facts of a section that lead its records in CSV
  bool hides_empty = false;               ///< tables of the rows leave out columns without a value
  bool is_dense = false;                  ///< no empty lines between the blocks of a page
  std::size_t size = 0;                   ///< number of sections
  std::function<ViewSection(std::size_t)> section = {};
  /// Adds the members that JSON has before the sections.
  std::function<void(nlohmann::ordered_json& document)> add_head = {};
  std::function<nlohmann::ordered_json()> json = {};  ///< in place of that JSON
  Lines above = {};                                   ///< for people: lines before the sections
  Lines closing = {};                                 ///< for people: lines after the sections
  std::string footer = {};                            ///< for people, as it is
  std::string_view remedy = kShowAll;                 ///< for columns that a narrow terminal leaves out
};
/// A section for each element of the list, made when it is written.
template <typename List, typename MakeSection>
void add_sections(ViewDocument& view, List list, MakeSection make) {
  view.size = list.size();
  view.section = [list = std::move(list), make](std::size_t i) { return ViewSection(make(list[i])); };
}

void write_view(std::ostream& out, const ViewDocument& view, Format format, const TextStyle& style);

/// What every output says of rows whose time was not measured on that GPU in this database; empty for
/// measured ones.
std::string source_banner(Source source, const std::string& gpu);
/// That, and what tells a group from others of operations with the same name.
std::string group_banner(const Comparable& what);

}  // namespace tiletune
