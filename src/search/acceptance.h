#pragma once

#include <cmath>

#include "search/explored_space.h"

namespace tiletune::search {

/// Whether a walker at a configuration of cost `current` moves to one of `cost`: always when that is no
/// worse, else with probability exp(-slowdown / temperature), where 0.1 is a slowdown by 10% (Metropolis et
/// al., 1953). Never to one that did not run.
inline bool accepts(double cost, double current, double temperature, RandomSource& random) {
  if (cost == kDidNotRun) return false;
  if (cost <= current) return true;
  return random.chance(std::exp(-(cost / current - 1) / temperature));
}

}  // namespace tiletune::search
