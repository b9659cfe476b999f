#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace tiletune {

/// One record by RFC 4180: quoted where it needs to be, ended by CR LF.
void write_csv_record(std::ostream& out, const std::vector<std::string>& values);

}  // namespace tiletune
