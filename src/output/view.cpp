#include "output/view.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/display.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Text of other people may carry what a terminal obeys, of which only line breaks stay, and what a
/// spreadsheet runs as a formula, which an apostrophe makes text.
std::string harmless(const std::string& value) {
  std::vector<std::string> lines = split(value, '\n');
  for (std::string& line : lines) line = printable(line);
  std::string text = join(lines, "\n");
  if (text.empty() || std::string_view("=+-@").find(text.front()) == std::string_view::npos) return text;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  const bool is_number = end == text.c_str() + text.size();
  return is_number ? text : "'" + text;
}

/// One record by RFC 4180: quoted where it needs to be, ended by CR LF.
void write_csv_record(std::ostream& out, const std::vector<std::string>& values) {
  static const std::array kQuote{Replacement{"\"", "\"\""}};
  std::string record;
  for (const std::string& value : values) {
    if (&value != &values.front()) record += ',';
    const std::string text = harmless(value);
    const bool is_quoted = text.find_first_of(",\"\r\n") != std::string::npos;
    record += is_quoted ? '"' + replaced(text, kQuote) + '"' : text;
  }
  out << record << "\r\n";
}

bool is_for(const ViewColumn& column, ColumnOf writer) {
  return (static_cast<unsigned>(column.writers) & static_cast<unsigned>(writer)) != 0;
}

std::string text_of(const ViewColumn& column, const Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  if (column.may_be_blank && exact_text(cell).empty()) return "";
  return column.text != nullptr && real != nullptr ? column.text(*real) : human_text(cell, column.type);
}

void add_column(TextTable& table, const ViewColumn& column) {
  const bool is_number = column.type == CellType::integer || column.type == CellType::real;
  table.add_column(column.name, is_number ? Align::right : Align::left, column.drop_order);
}

/// Text in Markdown or in lines of the width; any text at any width stays as it is.
std::string shown(const std::string& text, bool markdown, std::size_t width) {
  if (markdown) return markdown_text(text);
  return display_width(text) > width ? wrapped(text, width) : text;
}

ViewPage page_of(const ViewDocument& view, const ViewSection& section, std::size_t width) {
  if (section.page) return section.page(width);
  TextTable table = table_of(view.columns, section.rows);
  if (view.hides_empty) table.hide_empty_columns();
  return {std::move(table), section.lines};
}

/// Tables of a narrow terminal are made twice, so that all have the same columns and one is held at a time.
std::vector<std::string> left_out_of(const ViewDocument& view, std::size_t width) {
  std::vector<std::string> left_out;
  if (view.size < 2 || width == kAnyWidth) return left_out;
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    if (!section.is_for_people) continue;
    for (const auto& block : page_of(view, section, width)) {
      const auto* table = std::get_if<TextTable>(&block);
      if (table == nullptr) continue;
      for (std::string& header : table->left_out(width)) left_out.push_back(std::move(header));
    }
  }
  return left_out;
}

/// How people get a view.
struct PageWriter {
  std::ostream& out;
  const ViewDocument& view;
  bool markdown;
  TextStyle style;
  std::vector<std::string> left_out;

  /// A line or a paragraph each.
  void write(const Lines& lines) const {
    for (const std::string& line : lines)
      out << (markdown ? "\n" : "") << shown(line, markdown, style.width) << '\n';
  }

  void write(const Verbatim& text) const {
    if (markdown) out << "```\n";
    for (const std::string& line : text.lines) out << line << '\n';
    if (markdown) out << "```\n";
  }

  void write(TextTable& table) const {
    table.leave_out(left_out);
    write_table(out, table, markdown, style, view.remedy);
  }

  void write(const ViewSection& section) const {
    ViewPage page = page_of(view, section, style.width);
    if (!section.title.empty())
      out << (markdown ? "### " : "") << shown(section.title, markdown, style.width)
          << (markdown ? "\n\n" : "\n");
    if (!section.banner.empty())
      out << (markdown ? "**" : "") << shown(printable(section.banner), markdown, style.width)
          << (markdown ? "**\n\n" : "\n");
    for (auto& block : page) {
      const bool is_apart = view.is_dense ? markdown : &block != &page.front();
      if (is_apart && !std::holds_alternative<Lines>(block)) out << '\n';
      std::visit([&](auto& one) { write(one); }, block);
    }
  }

  void write_all() const {
    write(view.above);
    bool is_first = view.above.empty();
    for (std::size_t i = 0; i < view.size; ++i) {
      const ViewSection section = view.section(i);
      if (!section.is_for_people) continue;
      if (!std::exchange(is_first, false)) out << '\n';
      write(section);
    }
    if (!view.closing.empty() && !is_first) out << '\n';
    write(view.closing);
    out << view.footer;
  }
};

void write_csv(std::ostream& out, const ViewDocument& view) {
  std::vector<std::string> record(view.leading.begin(), view.leading.end());
  for (const ViewColumn& column : view.columns)
    if (is_for(column, ColumnOf::csv)) record.push_back(column.name);
  write_csv_record(out, record);
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    section.rows([&](const ViewRow& row) {
      record.clear();
      for (const char* fact : view.leading) record.push_back(section.facts.at(fact).get<std::string>());
      for (std::size_t column = 0; column < row.size(); ++column)
        if (is_for(view.columns[column], ColumnOf::csv)) record.push_back(exact_text(row[column]));
      write_csv_record(out, record);
    });
  }
}

void write_json(std::ostream& out, const ViewDocument& view) {
  Json document{{"tiletune", kVersion}};
  if (view.add_head) view.add_head(document);
  document[view.name.empty() ? view.rows_name : view.name] = Json::array();
  JsonArrayStream stream(out, document, 2);
  const auto add_rows = [&](const ViewSection& section, JsonArrayStream& to) {
    section.rows([&](const ViewRow& row) { to.add(json_of(view.columns, row)); });
    to.end();
  };
  if (view.name.empty()) return add_rows(view.section(0), stream);
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    Json facts = section.facts;
    if (section.add_facts) section.add_facts(facts);
    if (view.rows_name.empty()) {
      stream.add(facts);
      continue;
    }
    facts[view.rows_name] = Json::array();
    JsonArrayStream rows = stream.nested(facts);
    add_rows(section, rows);
  }
  stream.end();
}

}  // namespace

Format format_from_name(const std::string& name, const std::vector<Format>& formats) {
  std::vector<std::string> known;
  for (const auto& [format, text] : kSpellings<Format>) {
    if (std::ranges::find(formats, format) == formats.end()) continue;
    if (name == text) return format;
    known.emplace_back(text);
  }
  throw UserError(fmt::format("there is no output format '{}'", name),
                  fmt::format("Use one of {}.", join(known, ", ")));
}

std::vector<ViewColumn> columns_of(const std::vector<Field>& fields, ColumnOf writers) {
  std::vector<ViewColumn> columns(fields.begin(), fields.end());
  for (ViewColumn& column : columns) column.writers = writers;
  return columns;
}

std::string one_decimal(double number) { return fmt::format("{:.1f}", number); }

TextTable table_of(const std::vector<ViewColumn>& columns, const ViewRows& rows) {
  TextTable table;
  for (const ViewColumn& column : columns)
    if (is_for(column, ColumnOf::people)) add_column(table, column);
  rows([&](const ViewRow& row) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (is_for(columns[i], ColumnOf::people)) cells.push_back(text_of(columns[i], row[i]));
    table.add_row(std::move(cells));
  });
  return table;
}

TextTable trial_table(const std::vector<Field>& fields, const TrialRows& rows,
                      bool (*stands_out)(const RankedTrial& row)) {
  TextTable table;
  for (const Field& field : fields) add_column(table, field);
  rows([&](const RankedTrial& row) {
    std::vector<std::string> cells;
    for (const Field& field : fields) cells.push_back(text_of(field, field.read(row)));
    table.add_row(std::move(cells));
    if (stands_out != nullptr && stands_out(row)) table.emphasise_last_row();
  });
  return table;
}

ViewRows cells_of(std::vector<Field> fields, TrialRows rows) {
  return [fields = std::move(fields), rows = std::move(rows)](const auto& visit) {
    rows([&](const RankedTrial& row) { visit(cells_of(row, fields)); });
  };
}

Json json_of(const std::vector<ViewColumn>& columns, const ViewRow& row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const ViewColumn& column = columns[i];
    if (!is_for(column, ColumnOf::json)) continue;
    const auto* flag = column.is_flag ? std::get_if<std::int64_t>(&row[i]) : nullptr;
    object[column.name] = flag != nullptr ? Json(*flag != 0) : json_of(row[i], column.type);
  }
  return object;
}

ViewSection::ViewSection(const Comparable& what) : ViewSection(what.problem, what) {
  facts = {{"gpu", what.gpu},
           {"problem", what.problem},
           {"source", name(what.source)},
           {"conditions", what.conditions}};
}

ViewSection::ViewSection(const std::string& text, const Comparable& what)
    : title(printable(fmt::format("{} on {}, {}{}", text, what.gpu, name(what.source),
                                  what.conditions.empty() ? "" : fmt::format(" ({})", what.conditions)))),
      banner(group_banner(what)),
      facts{{"gpu", what.gpu}, {"source", name(what.source)}, {"conditions", what.conditions}} {}

void write_view(std::ostream& out, const ViewDocument& view, Format format, const TextStyle& style) {
  if (format == Format::csv) return write_csv(out, view);
  if (format == Format::json) {
    if (view.json)
      out << json_text(view.json(), 2);
    else
      write_json(out, view);
    out << '\n';
    return;
  }
  const bool markdown = format == Format::markdown;
  const std::size_t width = markdown ? kAnyWidth : style.width;
  PageWriter{out, view, markdown, {style.colour, width}, left_out_of(view, width)}.write_all();
}

std::string group_banner(const Comparable& what) {
  std::vector<std::string> notes;
  if (std::string source = source_banner(what.source, what.gpu); !source.empty())
    notes.push_back(std::move(source));
  if (what.conditions.find("tolerance_factor=") != std::string::npos)
    notes.emplace_back("these templates set an error bound of their own (tolerance_factor)");
  if (what.tells_definition())
    notes.emplace_back("several operations have this name; each definition is ranked separately");
  return join(notes, "; ");
}

std::string source_banner(Source source, const std::string& gpu) {
  switch (source) {
    case Source::measured:
      return "";
    case Source::predicted:
      return fmt::format("predicted by the static model for {}; nothing was timed", gpu);
    case Source::replayed:
      return fmt::format("replayed from times recorded on {}; no kernel was timed", gpu);
    case Source::imported:
      return fmt::format("imported times of {}; they were not measured by this tiletune", gpu);
  }
  return "";
}

}  // namespace tiletune
