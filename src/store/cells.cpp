#include "store/cells.h"

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

Cell read_cell(const SQLite::Column& column) {
  if (column.isInteger()) return column.getInt64();
  if (column.isFloat()) return column.getDouble();
  if (column.isText()) return column.getString();
  if (column.isBlob()) {
    const auto* bytes = static_cast<const std::uint8_t*>(column.getBlob());
    return Blob(bytes, bytes + column.getBytes());
  }
  return std::monostate{};
}

}  // namespace tiletune
