#pragma once

#include <string>
#include <vector>

#include "rank/compare.h"

namespace tiletune {

/// What is said above all tables: that sources are mixed, that there are several GPUs where these are no
/// sides, and which values are written in several ways.
std::vector<std::string> lines_above(const Comparison& comparison);
/// Under a problem's tables: pairs of sides, joined templates, what is rough, left out or unmeasured.
std::vector<std::string> lines_under(const Comparison& comparison, const ComparedProblem& problem);
/// What is to be known of how a problem's rows were joined and picked, and of which values count as equal:
/// parts of the others, for a page.
std::vector<std::string> notes_on(const Comparison& comparison, const ComparedProblem& problem);
/// At the end: problems of one side alone, and what is slower than asked for.
std::vector<std::string> closing_lines(const Comparison& comparison, std::optional<double> fail_above);

}  // namespace tiletune
