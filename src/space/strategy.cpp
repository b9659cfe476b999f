#include "space/strategy.h"

#include "space/strategies.h"

namespace tiletune {

std::unique_ptr<Strategy> make_strategy(const StrategySpec& spec, const Space& space) {
  return spec.kind == StrategyKind::random ? space::make_random(spec, space)
                                           : space::make_exhaustive(spec, space);
}

}  // namespace tiletune
