#include "store/columns.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "store/samples.h"

namespace tiletune {

namespace {

std::string text_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::int64_t> integer_of(const Cell& cell) {
  const auto* integer = std::get_if<std::int64_t>(&cell);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

/// `to_cell` takes the member, `from_cell` a cell.
template <typename T, typename ToCell, typename FromCell>
Column column_of(const char* name, CellType type, T Trial::*member, const char* meaning, ToCell to_cell,
                 FromCell from_cell) {
  return {name, type, meaning, [=](const Trial& trial) -> Cell { return to_cell(trial.*member); },
          [=](Trial& trial, const Cell& cell) { trial.*member = from_cell(cell); }};
}

Column text(const char* name, std::string Trial::*member, const char* meaning) {
  return column_of(
      name, CellType::text, member, meaning, [](const std::string& text) { return Cell(text); }, text_of);
}

/// Text that outputs repeat, so that its length is limited. Throws UserError for a longer one.
Column label(const char* name, std::string Trial::*member, const char* meaning) {
  const auto checked = [=](std::string text) {
    if (text.size() <= kMostLabelBytes) return text;
    throw UserError(
        fmt::format("a row's {} has {} bytes; the limit is {}", name, text.size(), kMostLabelBytes),
        "Shorten it, or leave the row out.");
  };
  Column column = column_of(
      name, CellType::text, member, meaning, [=](const std::string& text) { return Cell(checked(text)); },
      [=](const Cell& cell) { return checked(text_of(cell)); });
  column.may_be_bad = true;
  return column;
}

/// Empty text is null, so that SQLite's JSON functions can be used on every row.
Column json(const char* name, std::string Trial::*member, const char* meaning) {
  const auto to_cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
  return column_of(name, CellType::json, member, meaning, to_cell, text_of);
}

Column integer(const char* name, std::optional<std::int64_t> Trial::*member, const char* meaning) {
  const auto to_cell = [](const auto& value) { return value ? Cell(*value) : Cell(); };
  return column_of(name, CellType::integer, member, meaning, to_cell, integer_of);
}

/// Infinities and NaN are null: they are no times, and neither JSON nor SQL can compare them.
Column real(const char* name, std::optional<double> Trial::*member, const char* meaning) {
  const auto to_cell = [](const auto& value) {
    return value && std::isfinite(*value) ? Cell(*value) : Cell();
  };
  return column_of(name, CellType::real, member, meaning, to_cell,
                   [](const Cell& cell) -> std::optional<double> {
                     if (const auto integer = integer_of(cell)) return static_cast<double>(*integer);
                     const auto* real = std::get_if<double>(&cell);
                     return real == nullptr ? std::nullopt : std::optional(*real);
                   });
}

Column figure(const char* name, std::optional<double> Trial::*member, const char* meaning) {
  Column column = real(name, member, meaning);
  column.is_figure = true;
  return column;
}

template <typename Enum>
Column enumeration(const char* name_of_column, Enum Trial::*member, const char* meaning) {
  const auto to_cell = [](Enum value) { return Cell(std::string(name(value))); };
  Column column = column_of(name_of_column, CellType::text, member, meaning, to_cell, [=](const Cell& cell) {
    if (const std::optional<Enum> value = from_name<Enum>(text_of(cell))) return *value;
    throw UserError(fmt::format("this tiletune knows no {} '{}'", name_of_column, text_of(cell)),
                    "Read it with the tiletune that wrote it, or a newer one.");
  });
  column.may_be_bad = true;
  return column;
}

Column samples(const char* name, std::vector<double> Trial::*member, const char* meaning) {
  const auto to_cell = [](const auto& all) { return all.empty() ? Cell() : Cell(pack_samples(all)); };
  Column column = column_of(name, CellType::blob, member, meaning, to_cell, [](const Cell& cell) {
    const auto* blob = std::get_if<Blob>(&cell);
    return blob == nullptr ? std::vector<double>() : unpack_samples(*blob);
  });
  column.may_be_bad = true;
  return column;
}

/// 0 means that the row belongs to no recorded sweep.
Column sweep(const char* name, std::int64_t Trial::*member, const char* meaning) {
  return column_of(
      name, CellType::integer, member, meaning, [](std::int64_t id) { return id == 0 ? Cell() : Cell(id); },
      [](const Cell& cell) { return integer_of(cell).value_or(0); });
}

std::vector<Column> make_columns() {
  constexpr auto outcome = enumeration<Outcome>;
  constexpr auto source = enumeration<Source>;
  std::vector<Column> columns{
#define TILETUNE_COLUMN(type, member, meaning) type(#member, &Trial::member, meaning),
#include "store/trial_columns.h"
  };
  for (Column& column : columns)
    if (column.name == "template_name") column.name = "template";
  return columns;
}

Cell read_figures(const Trial& trial) {
  nlohmann::ordered_json figures;
  for (const Column& column : trial_columns()) {
    if (!column.is_figure) continue;
    if (const Cell cell = column.read(trial); const auto* number = std::get_if<double>(&cell))
      figures[column.name] = *number;
  }
  return figures.is_null() ? Cell() : Cell(figures.dump());
}

/// Text that is no object of numbers holds no figures. Members that this build does not know are let be.
void write_figures(Trial& trial, const Cell& cell) {
  const std::string text = text_of(cell);
  const bool is_flat = text.find_first_of("[{", 1) == text.npos;
  const auto figures = nlohmann::json::parse(is_flat ? text : "", nullptr, false);
  for (const Column& column : trial_columns()) {
    if (!column.is_figure) continue;
    const auto found = figures.is_object() ? figures.find(column.name) : figures.end();
    const bool is_there = found != figures.end() && found->is_number();
    column.write(trial, is_there ? Cell(found->get<double>()) : Cell());
  }
}

std::vector<Column> make_stored_columns() {
  std::vector<Column> columns;
  bool has_figures = false;
  for (const Column& column : trial_columns()) {
    if (!column.is_figure) {
      columns.push_back(column);
    } else if (!std::exchange(has_figures, true)) {
      columns.push_back({"figures", CellType::json, "an object with the figures that the row has, by name",
                         read_figures, write_figures});
    }
  }
  return columns;
}

}  // namespace

std::span<const Column> trial_columns() {
  static const std::vector<Column> columns = make_columns();
  return columns;
}

std::span<const Column> stored_columns() {
  static const std::vector<Column> columns = make_stored_columns();
  return columns;
}

const Column& stored_column(const Column& column) {
  static const Column& figures = *std::ranges::find(stored_columns(), "figures", &Column::name);
  return column.is_figure ? figures : column;
}

std::span<const char* const> comparable_columns() {
  static constexpr std::array kNames{"gpu",     "problem",       "source",  "operation", "operation_hash",
                                     "options", "element_types", "scalars", "cache"};
  return kNames;
}

const Column* find_column(std::string_view name) {
  const auto columns = trial_columns();
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

const Column& column_by_name(const std::string& name) {
  if (const Column* column = find_column(name)) return *column;
  std::vector<std::string> known;
  for (const Column& column : trial_columns()) known.push_back(column.name);
  throw UserError(fmt::format("there is no column '{}'.{}", name, suggestion(name, known)),
                  "Columns are listed in the table `trial` of the database.");
}

void bind_cell(SQLite::Statement& statement, int index, const Cell& cell, bool in_place) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    statement.bind(index, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    statement.bind(index, *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    in_place ? statement.bindNoCopy(index, *text) : statement.bind(index, *text);
  } else if (const auto* blob = std::get_if<Blob>(&cell)) {
    const auto bytes = static_cast<int>(blob->size());
    in_place ? statement.bindNoCopy(index, blob->data(), bytes) : statement.bind(index, blob->data(), bytes);
  } else {
    statement.bind(index);
  }
}

Cell read_cell(const SQLite::Column& column) {
  switch (column.getType()) {
    case SQLITE_INTEGER:
      return column.getInt64();
    case SQLITE_FLOAT:
      return column.getDouble();
    case SQLITE_TEXT:
      return column.getString();
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const std::uint8_t*>(column.getBlob());
      return Blob(bytes, bytes + column.getBytes());
    }
    default:
      return std::monostate{};
  }
}

}  // namespace tiletune
