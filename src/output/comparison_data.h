#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "output/comparison.h"

namespace tiletune {

/// A configuration that a comparison shows, with a row that says what it is.
struct ChosenConfiguration {
  std::string largest;              ///< of a compromise: "pennycook" or "minimum"
  std::optional<std::size_t> side;  ///< whose best it is
  const Portability* portability = nullptr;
  Trial trial;
};

/// The best of each side; then the compromises, of which the second is left out where it is as good as the
/// first.
std::vector<ChosenConfiguration> chosen_configurations(const ComparedProblem& problem,
                                                       const Databases& databases);

void write_comparison_json(std::ostream& out, const Comparison& comparison, const Databases& databases,
                           const ComparisonView& view);
void write_comparison_csv(std::ostream& out, const Comparison& comparison, const Databases& databases);

}  // namespace tiletune
