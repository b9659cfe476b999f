#include "space/strategies.h"

namespace tiletune::space {
namespace {

class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(std::uint64_t size) : size_(size) {}

  std::optional<std::uint64_t> propose() override {
    if (next_ == size_) return std::nullopt;
    return next_++;
  }
  void observe(std::uint64_t /*index*/, std::optional<double> /*median_us*/) override {}

 private:
  std::uint64_t next_ = 0;
  std::uint64_t size_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategySpec& /*spec*/, const Space& space) {
  return std::make_unique<Exhaustive>(space.size());
}

}  // namespace tiletune::space
