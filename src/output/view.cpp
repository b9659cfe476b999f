#include "output/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/display.h"
#include "output/json_stream.h"

namespace tiletune {

namespace {

/// Text of other people may carry what a terminal obeys; only line breaks stay.
std::string harmless(const std::string& value) {
  std::vector<std::string> lines = split(value, '\n');
  for (std::string& line : lines) line = printable(line);
  return join(lines, "\n");
}

bool is_number(const std::string& value) {
  char* end = nullptr;
  std::strtod(value.c_str(), &end);
  return end == value.c_str() + value.size();
}

/// A spreadsheet runs what begins so as a formula; an apostrophe makes it text.
bool begins_formula(const std::string& value) {
  return std::string("=+-@").find(value.front()) != std::string::npos && !is_number(value);
}

std::string field(const std::string& value) {
  const std::string text = harmless(value);
  return !text.empty() && begins_formula(text) ? "'" + text : text;
}

std::string quoted(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void write_csv_record(std::ostream& out, const std::vector<std::string>& values) {
  std::string record;
  for (const std::string& value : values) {
    if (&value != &values.front()) record += ',';
    record += quoted(field(value));
  }
  out << record << "\r\n";
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, Format>, 4> kFormats{{
    {"table", Format::table},
    {"json", Format::json},
    {"csv", Format::csv},
    {"markdown", Format::markdown},
}};

bool is_for(const ViewColumn& column, ColumnOf writer) {
  return (static_cast<unsigned>(column.writers) & static_cast<unsigned>(writer)) != 0;
}

std::string text_of(const ViewColumn& column, const Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  return column.text != nullptr && real != nullptr ? column.text(*real) : human_text(cell, column.type);
}

/// Text in Markdown or in lines of the width; any text at any width stays as it is.
std::string shown(const std::string& text, bool markdown, std::size_t width) {
  if (markdown) return markdown_text(text);
  return display_width(text) > width ? wrapped(text, width) : text;
}

ViewPage page_of(const ViewDocument& view, const ViewSection& section) {
  if (section.page) return section.page();
  TextTable table = table_of(view.columns, section.rows);
  if (view.hides_empty) table.hide_empty_columns();
  return {{std::move(table)}, section.lines};
}

/// Tables of a narrow terminal are made twice, so that all have the same columns and one is held at a time.
std::vector<std::string> left_out_of(const ViewDocument& view, const TextStyle& style) {
  std::vector<std::string> left_out;
  if (view.size < 2 || style.width == kAnyWidth) return left_out;
  for (std::size_t i = 0; i < view.size; ++i) {
    for (const auto& block : page_of(view, view.section(i)).blocks) {
      const auto* table = std::get_if<TextTable>(&block);
      if (table == nullptr) continue;
      for (std::string& header : table->left_out(style.width)) left_out.push_back(std::move(header));
    }
  }
  return left_out;
}

void write_verbatim(std::ostream& out, const std::vector<std::string>& lines, bool markdown) {
  if (markdown) out << "```\n";
  for (const std::string& line : lines) out << line << '\n';
  if (markdown) out << "```\n";
}

void write_section(std::ostream& out, const ViewDocument& view, std::size_t i, bool markdown,
                   const TextStyle& style, const std::vector<std::string>& left_out) {
  const ViewSection section = view.section(i);
  ViewPage page = page_of(view, section);
  if (!section.title.empty()) write_title(out, section.title, markdown, style.width);
  if (!section.banner.empty())
    out << (markdown ? "**" : "") << shown(printable(section.banner), markdown, style.width)
        << (markdown ? "**\n\n" : "\n");
  for (auto& block : page.blocks) {
    if (&block != &page.blocks.front()) out << '\n';
    if (auto* table = std::get_if<TextTable>(&block)) {
      table->leave_out(left_out);
      write_table(out, *table, markdown, style, view.remedy);
    } else {
      write_verbatim(out, std::get<std::vector<std::string>>(block), markdown);
    }
  }
  write_lines(out, page.lines, markdown, style.width);
}

void write_pages(std::ostream& out, const ViewDocument& view, bool markdown, const TextStyle& style) {
  const std::vector<std::string> left_out = markdown ? std::vector<std::string>() : left_out_of(view, style);
  for (std::size_t i = 0; i < view.size; ++i) {
    if (i > 0) out << '\n';
    write_section(out, view, i, markdown, style, left_out);
  }
  out << view.footer;
}

Json facts_of(const ViewSection& section) {
  Json facts = section.facts;
  if (section.add_facts) section.add_facts(facts);
  return facts;
}

void write_csv(std::ostream& out, const ViewDocument& view) {
  std::vector<std::string> record(view.leading.begin(), view.leading.end());
  for (const ViewColumn& column : view.columns) {
    if (is_for(column, ColumnOf::csv)) record.push_back(column.name);
  }
  write_csv_record(out, record);
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    section.rows([&](const ViewRow& row) {
      record.clear();
      for (const char* fact : view.leading) record.push_back(section.facts.at(fact).get<std::string>());
      for (std::size_t column = 0; column < row.size(); ++column) {
        if (is_for(view.columns[column], ColumnOf::csv)) record.push_back(exact_text(row[column]));
      }
      write_csv_record(out, record);
    });
  }
}

void write_rows(const ViewDocument& view, const ViewSection& section, JsonArrayStream& stream) {
  section.rows([&](const ViewRow& row) { stream.add(json_of(view.columns, row)); });
  stream.end();
}

void write_json(std::ostream& out, const ViewDocument& view) {
  Json document{{"tiletune", kVersion}};
  document.update(view.head);
  document[view.name.empty() ? view.rows_name : view.name] = Json::array();
  JsonArrayStream stream(out, document, 2);
  if (view.name.empty()) return write_rows(view, view.section(0), stream);
  for (std::size_t i = 0; i < view.size; ++i) {
    const ViewSection section = view.section(i);
    Json facts = facts_of(section);
    if (view.rows_name.empty()) {
      stream.add(facts);
      continue;
    }
    facts[view.rows_name] = Json::array();
    JsonArrayStream rows(stream, facts);
    write_rows(view, section, rows);
  }
  stream.end();
}

}  // namespace

Format format_from_name(const std::string& name, std::initializer_list<Format> formats) {
  std::vector<std::string> known;
  for (const auto& [text, format] : kFormats) {
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) continue;
    if (name == text) return format;
    known.emplace_back(text);
  }
  throw UserError(fmt::format("there is no output format '{}'", name),
                  fmt::format("Use one of {}.", join(known, ", ")));
}

ViewColumn column_of(const Field& field, ColumnOf writers) {
  ViewColumn column{field.name, field.type, writers};
  column.is_flag = field.is_flag;
  return column;
}

std::vector<ViewColumn> columns_of(const std::vector<Field>& fields, ColumnOf writers) {
  std::vector<ViewColumn> columns;
  for (const Field& field : fields) columns.push_back(column_of(field, writers));
  return columns;
}

std::string one_decimal(double number) { return fmt::format("{:.1f}", number); }

TextTable table_of(const std::vector<ViewColumn>& columns, const ViewRows& rows) {
  TextTable table;
  for (const ViewColumn& column : columns) {
    const bool is_number = column.type == CellType::integer || column.type == CellType::real;
    if (is_for(column, ColumnOf::people))
      table.add_column(column.name, is_number ? Align::right : Align::left, column.drop_order);
  }
  rows([&](const ViewRow& row) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (is_for(columns[i], ColumnOf::people)) cells.push_back(text_of(columns[i], row[i]));
    }
    table.add_row(std::move(cells));
  });
  return table;
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

ViewSection::ViewSection(const Comparable& what)
    : title(heading(what.problem, what.gpu, what.source, what.conditions)),
      banner(source_banner(what.source, what.gpu)),
      facts{{"gpu", what.gpu},
            {"problem", what.problem},
            {"source", name(what.source)},
            {"conditions", what.conditions}} {}

ViewSection::ViewSection(const std::string& text, const Comparable& what)
    : title(heading(text, what.gpu, what.source, what.conditions)),
      banner(source_banner(what.source, what.gpu)),
      facts{{"gpu", what.gpu}, {"source", name(what.source)}, {"conditions", what.conditions}} {}

void write_view(std::ostream& out, const ViewDocument& view, Format format, const TextStyle& style) {
  switch (format) {
    case Format::table:
    case Format::markdown:
      return write_pages(out, view, format == Format::markdown, style);
    case Format::json:
      if (view.json)
        out << json_text(view.json(), 2);
      else
        write_json(out, view);
      out << '\n';
      return;
    case Format::csv:
      return write_csv(out, view);
  }
}

std::string heading(const std::string& problem, const std::string& gpu, Source source,
                    const std::string& conditions) {
  const std::string under = conditions.empty() ? "" : fmt::format(" ({})", conditions);
  return printable(fmt::format("{} on {}, {}{}", problem, gpu, name(source), under));
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

void write_title(std::ostream& out, const std::string& title, bool markdown, std::size_t width) {
  out << (markdown ? "### " : "") << shown(title, markdown, width) << (markdown ? "\n\n" : "\n");
}

void write_lines(std::ostream& out, const std::vector<std::string>& lines, bool markdown, std::size_t width) {
  for (const std::string& line : lines) out << (markdown ? "\n" : "") << shown(line, markdown, width) << '\n';
}

}  // namespace tiletune
