#pragma once

#include <string>

#include "rank/ranking.h"
#include "spec/tune_spec.h"
#include "store/database.h"

namespace tiletune {

/// The sentence that matters of a group of a sweep's rows: which configuration won, how it compares with each
/// baseline, and what cannot be distinguished from it; how sure that is stands under the table. Empty when
/// none ranks first. A sweep that is not `whole` has chosen so far only.
std::string verdict(const TuneSpec& spec, const RankingGroup& group, const Database& database, bool whole);

/// How accurate a sweep's results are: the largest relative error against its bound, where the bound comes
/// from, and the baseline's own error. Empty when nothing was measured.
std::string verification(const TuneSpec& spec, const Database& database, const TrialFilter& filter);

/// Where a template's error bound comes from: "2 u + 2 sqrt(K) u, u: the unit roundoff of f32".
std::string error_bound_text(const TemplateSpec& spec);

}  // namespace tiletune
