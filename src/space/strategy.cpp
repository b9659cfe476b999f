#include "space/strategy.h"

#include "space/permutation.h"

namespace tiletune {

namespace {

class Shuffled : public Strategy {
 public:
  Shuffled(std::uint64_t size, std::uint64_t seed) : size_(size), permutation_(size, seed) {}

  std::optional<std::uint64_t> propose() override {
    if (next_ == size_) return std::nullopt;
    return permutation_(next_++);
  }
  void observe(std::uint64_t /*index*/, std::optional<double> /*median_us*/) override {}

 private:
  std::uint64_t next_ = 0;
  std::uint64_t size_;
  space::Permutation permutation_;
};

/// Neighbours in a space resemble each other, and what runs before a short kernel shifts its time: an order
/// of the space's own would favour some of them in every sweep.
constexpr std::uint64_t kExhaustiveSeed = 1;

}  // namespace

std::unique_ptr<Strategy> make_strategy(const StrategySpec& spec, const Space& space) {
  const bool is_random = spec.kind == StrategyKind::random;
  return std::make_unique<Shuffled>(space.size(), is_random ? spec.seed : kExhaustiveSeed);
}

}  // namespace tiletune
