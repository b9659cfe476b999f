#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace tiletune {

/// One record by RFC 4180: quoted where it needs to be, ended by CR LF. Text that a spreadsheet would run as
/// a formula gets an apostrophe in front; control characters become '?'.
void write_csv_record(std::ostream& out, const std::vector<std::string>& values);

}  // namespace tiletune
