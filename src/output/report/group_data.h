#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "output/report/survey.h"
#include "rank/ranking.h"
#include "store/database.h"

namespace tiletune {

/// The columns of the page's rows beside rank, tied, and parameters: [{name, meaning}].
nlohmann::ordered_json report_columns();

/// One chooseable set of the page: what its rows share, its rows (ranked ones first, then those screened out,
/// together at most `limit` beside the baselines; 0: all), importance, history and outcomes.
nlohmann::ordered_json group_data(const RankingGroup& group, const Database& database, const Survey& survey,
                                  std::size_t limit);

nlohmann::ordered_json ladder_data(const Ladder& ladder, const Database& database);

/// With five significant digits; anything that is not a real number as it is.
nlohmann::ordered_json rounded(const nlohmann::ordered_json& value);

/// A column of a table, in the shape that report_data() names: `values` hold null, booleans, numbers and
/// texts. Null when all are null.
nlohmann::ordered_json packed_column(const std::vector<nlohmann::ordered_json>& values);

}  // namespace tiletune
