#pragma once

#include <string>
#include <vector>

#include "rank/ranking.h"
#include "store/database.h"

namespace tiletune {

/// The best configuration of each group as a C++17 header of its own: the table `tiletune_best::kEntries`,
/// and `tiletune_best::find()`, which answers at compile time too and says how far it fell back. Whatever
/// text the rows hold appears in escaped string literals alone.
std::string best_as_header(const std::vector<RankingGroup>& groups, const Database& database);

/// A C++ string literal of the bytes of a text, quotes included: printable ASCII, and octal escapes.
std::string cpp_literal(const std::string& text);

}  // namespace tiletune
