#include "store/cells.h"

#include <sqlite3.h>

namespace tiletune {

void bind_cell(SQLite::Statement& statement, int index, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    statement.bind(index, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    statement.bind(index, *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    statement.bind(index, *text);
  } else if (const auto* blob = std::get_if<Blob>(&cell)) {
    statement.bind(index, blob->data(), static_cast<int>(blob->size()));
  } else {
    statement.bind(index);
  }
}

void bind_cell_in_place(SQLite::Statement& statement, int index, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    statement.bindNoCopy(index, *text);
  } else if (const auto* blob = std::get_if<Blob>(&cell)) {
    statement.bindNoCopy(index, blob->data(), static_cast<int>(blob->size()));
  } else {
    bind_cell(statement, index, cell);
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
