#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tiletune {

/// With five significant digits; anything that is not a real number as it is.
nlohmann::ordered_json rounded(const nlohmann::ordered_json& value);

/// A column of a table, in the shape that report_data() names: `values` hold null, booleans, numbers and
/// texts. Null when all are null.
nlohmann::ordered_json packed_column(const std::vector<nlohmann::ordered_json>& values);

}  // namespace tiletune
