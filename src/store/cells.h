#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include "store/columns.h"

namespace tiletune {

/// Binds to the parameter of that number, from 1.
void bind_cell(SQLite::Statement& statement, int index, const Cell& cell);
/// The same without a copy: the cell must stay as it is until it is bound again or the statement ends.
void bind_cell_in_place(SQLite::Statement& statement, int index, const Cell& cell);
Cell read_cell(const SQLite::Column& column);

}  // namespace tiletune
