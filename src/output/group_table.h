#pragma once

#include <string>
#include <vector>

#include "output/fields.h"
#include "output/table.h"

namespace tiletune {

/// The rows shown of a group, and lines that say what the table leaves out.
struct GroupTable {
  TextTable table;
  std::vector<std::string> legend;
};

/// The standard columns; those that only some groups have (measured ceilings, sustained runs) where a row has
/// a value.
GroupTable standard_table(const Database& database, const std::vector<RankedRow>& rows, Source source);

/// Headed by the fields, without rows.
TextTable table_of(const std::vector<Field>& fields);
void add_row(TextTable& table, const std::vector<Field>& fields, const RankedTrial& row);

}  // namespace tiletune
