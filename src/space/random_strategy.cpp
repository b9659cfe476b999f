#include "space/permutation.h"
#include "space/strategies.h"

namespace tiletune::space {
namespace {

class Random : public Strategy {
 public:
  Random(std::uint64_t size, std::uint64_t seed) : size_(size), permutation_(size, seed) {}

  std::optional<std::uint64_t> propose() override {
    if (next_ == size_) return std::nullopt;
    return permutation_(next_++);
  }
  void observe(std::uint64_t /*index*/, std::optional<double> /*median_us*/) override {}

 private:
  std::uint64_t next_ = 0;
  std::uint64_t size_;
  Permutation permutation_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const StrategySpec& spec, const Space& space) {
  return std::make_unique<Random>(space.size(), spec.seed);
}

}  // namespace tiletune::space
