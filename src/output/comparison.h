#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/spelling.h"
#include "output/view.h"
#include "rank/compare.h"
#include "rank/rows.h"

namespace tiletune {

template <>
inline constexpr std::array<Named<Known>, 4> kSpellings<Known>{{{Known::unmeasured, "unmeasured"},
                                                                {Known::failed, "failed"},
                                                                {Known::screened, "screened"},
                                                                {Known::timed, "timed"}}};
template <>
inline constexpr std::array<Named<Verdict>, 4> kSpellings<Verdict>{{{Verdict::same, "same"},
                                                                    {Verdict::faster, "faster"},
                                                                    {Verdict::slower, "slower"},
                                                                    {Verdict::unclear, "unclear"}}};

/// The view of a comparison, to which it refers. Tables: per problem the best configuration of each side and
/// the best compromise, with the parameters that differ; how fast each of the best is; how efficient each is
/// on every side; what pairs of sides have in common; what is unmeasured; what is slower than asked for. JSON
/// is one object {"tiletune": version, "by", "statistic", "other_statistic", "mixes_sources", "sides",
/// "unmeasured", "slower", "unchecked", "problems"}, described by schemas/comparison.schema.json. CSV has a
/// record per problem, configuration and side. Rows are read from the databases that were compared. Slowdowns
/// above `fail_above` percent are listed; none: this is not checked.
ViewDocument comparison_view(const Comparison& comparison, const Databases& databases,
                             std::optional<double> fail_above = {});

/// Notes on times of a problem that were left out, because their side has times of a preferred source. The
/// tables have these notes, too.
Lines notes_on(const Comparison& comparison, const ComparedProblem& problem);

}  // namespace tiletune
