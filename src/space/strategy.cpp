#include "space/strategy.h"

#include "space/strategies.h"

namespace tiletune {

std::unique_ptr<Strategy> make_strategy(const StrategySpec& spec, const Space& space) {
  return spec.kind == StrategyKind::random ? make_random(spec, space) : make_exhaustive(spec, space);
}

}  // namespace tiletune
