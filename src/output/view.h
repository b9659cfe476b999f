#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "output/fields.h"
#include "output/table.h"
#include "rank/rows.h"
#include "store/columns.h"

namespace tiletune {

enum class Format { table, json, csv, markdown };
inline constexpr std::initializer_list<Format> kAllFormats{Format::table, Format::json, Format::csv,
                                                           Format::markdown};
/// Throws UserError with the names of those a command has.
Format format_from_name(const std::string& name, std::initializer_list<Format> formats = kAllFormats);

/// The writers that have a column.
enum class ColumnOf : unsigned { people = 1, csv = 2, not_json = 3, json = 4, programs = 6, all = 7 };

/// Numbers are aligned to the right.
struct ViewColumn {
  std::string name;
  CellType type = CellType::text;
  ColumnOf writers = ColumnOf::all;
  std::string (*text)(double number) = nullptr;  ///< of a real number for people; null: three digits
  int drop_order = 0;                            ///< as in TextTable
  bool is_flag = false;                          ///< JSON has true and false in place of 1 and 0
};
ViewColumn column_of(const Field& field, ColumnOf writers = ColumnOf::all);
std::vector<ViewColumn> columns_of(const std::vector<Field>& fields, ColumnOf writers = ColumnOf::all);
/// Format of a ViewColumn's numbers.
std::string one_decimal(double number);

/// A cell for each column.
using ViewRow = std::vector<Cell>;
/// Calls `visit` with one row after the other: there may be a million of them.
using ViewRows = std::function<void(const std::function<void(const ViewRow&)>& visit)>;

template <typename Number>
Cell count_cell(Number count) {
  return static_cast<std::int64_t>(count);
}
template <typename Number>
Cell count_cell(const std::optional<Number>& count) {
  return count ? count_cell(*count) : Cell();
}
/// The columns for people.
TextTable table_of(const std::vector<ViewColumn>& columns, const ViewRows& rows);
nlohmann::ordered_json json_of(const std::vector<ViewColumn>& columns, const ViewRow& row);

/// What people get of a section under its title: tables, and texts that are kept as they are, and lines under
/// the last of these.
struct ViewPage {
  std::vector<std::variant<TextTable, std::vector<std::string>>> blocks;
  std::vector<std::string> lines = {};
};

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
  std::function<ViewPage()> page = {};  ///< none: a table of the rows, and the lines
  std::vector<std::string> lines = {};
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
  std::size_t size = 0;                   ///< number of sections
  std::function<ViewSection(std::size_t)> section = {};
  nlohmann::ordered_json head = nlohmann::ordered_json::object();  ///< JSON's members before the sections
  std::function<nlohmann::ordered_json()> json = {};               ///< in place of that JSON
  std::string footer = {};                                         ///< for people, as it is
  std::string_view remedy = kShowAll;  ///< for columns that a narrow terminal leaves out
};
/// A section for each element of the list, made when it is written.
template <typename List, typename MakeSection>
void add_sections(ViewDocument& view, List list, MakeSection make) {
  view.size = list.size();
  view.section = [list = std::move(list), make](std::size_t i) { return ViewSection(make(list[i])); };
}

void write_view(std::ostream& out, const ViewDocument& view, Format format, const TextStyle& style);

/// "4096x4096x4096 on NVIDIA H200, measured (gemm, f32, alpha=1 beta=0, cold)"
std::string heading(const std::string& problem, const std::string& gpu, Source source,
                    const std::string& conditions);
/// What every output says of rows whose time was not measured on that GPU in this database; empty for
/// measured ones.
std::string source_banner(Source source, const std::string& gpu);

void write_title(std::ostream& out, const std::string& title, bool markdown, std::size_t width = kAnyWidth);
/// Writes what stands under a table, a line or a paragraph each; lines of text that are longer than the width
/// are wrapped.
void write_lines(std::ostream& out, const std::vector<std::string>& lines, bool markdown,
                 std::size_t width = kAnyWidth);

/// One record by RFC 4180: quoted where it needs to be, ended by CR LF. Text that a spreadsheet would run as
/// a formula gets an apostrophe in front; control characters become '?'.
void write_csv_record(std::ostream& out, const std::vector<std::string>& values);

}  // namespace tiletune
