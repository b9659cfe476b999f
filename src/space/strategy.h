#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "space/space.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Decides which configuration is tried next. It may be asked ahead of the results of what it proposed
/// before.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The index of the next configuration to try, each at most once; none when it is done.
  virtual std::optional<std::uint64_t> propose() = 0;
  /// What became of a proposal: its median time, or none when it did not run.
  virtual void observe(std::uint64_t index, std::optional<double> median_us) = 0;
};

/// Both go through a permutation of the indices without listing them: exhaustive through one that is always
/// the same, random through that of its seed.
std::unique_ptr<Strategy> make_strategy(const StrategySpec& spec, const Space& space);

}  // namespace tiletune
