#pragma once

#include <functional>
#include <string>
#include <vector>

#include "output/portfolio.h"
#include "rank/ranking.h"
#include "store/database.h"

namespace tiletune {

inline constexpr const char* kHeaderNamespace = "tiletune_best";

/// Throws UserError unless the text names a namespace, such as "sizes" or "tuned::sizes".
void check_header_namespace(const std::string& text);

/// The best configuration of each group as a C++17 header of its own: in the namespace, the table `kEntries`,
/// and `find()`, which answers at compile time too and says how far it fell back. Headers of different
/// content never stand for one another: in one program each has its own, in one file the compiler refuses to
/// choose. Whatever text the rows hold appears in escaped string literals alone. Of entries that fit a query
/// equally `find()` takes the one of the earlier group. An entry has one launch: the best configurations that
/// have several are left out and passed to `note`; throws UserError where no other is there.
std::string best_as_header(const std::vector<RankingGroup>& groups, const Database& database,
                           const std::string& name_space = kHeaderNamespace,
                           const std::function<void(const std::string&)>& note = {});

/// The kernels of portfolios in the same way, each once with the problem of its smallest regret, with
/// `choose()`, which takes the fastest one of a tuned problem, and else the one with the shortest predicted
/// time.
std::string portfolios_as_header(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                                 const std::string& name_space = kHeaderNamespace,
                                 const std::function<void(const std::string&)>& note = {});

/// A C++ string literal of the bytes of a text, quotes included: printable ASCII, and octal escapes.
std::string cpp_literal(const std::string& text);

}  // namespace tiletune
