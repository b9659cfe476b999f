#pragma once

#include <cstdint>
#include <memory>

#include "space/strategy.h"

namespace tiletune::space {

// One factory per strategy: each lives in a file of its own and is listed in strategy.cpp.
std::unique_ptr<Strategy> make_exhaustive(const StrategySpec& spec, const Space& space);
std::unique_ptr<Strategy> make_random(const StrategySpec& spec, const Space& space);

}  // namespace tiletune::space
