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

/// A comparison, which it refers to. Tables: per problem the best configuration of each side and the best
/// compromise, with the parameters that differ; how fast each of the best is; how efficient each is on every
/// side; what pairs of sides have in common; what is unmeasured; what is slower than asked for. JSON is one
/// object {"tiletune": version, "by", "mixes_sources", "sides", "taken_as_equal", "unmeasured", "slower",
/// "unchecked", "problems"} by schemas/comparison.schema.json; CSV has a record per problem, configuration
/// and side. Rows are read from the databases that were compared. `fail_above`: percent beyond which a later
/// side's fastest counts as slower; none: they are not looked for.
ViewDocument comparison_view(const Comparison& comparison, const Databases& databases,
                             std::optional<double> fail_above = {});

/// What is to be known of how a problem's rows were joined and picked, and of which values count as equal:
/// parts of the others, for a page.
Lines notes_on(const Comparison& comparison, const ComparedProblem& problem);

}  // namespace tiletune
