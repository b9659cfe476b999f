#include <algorithm>
#include <utility>

#include "search/permutation.h"
#include "search/strategies.h"

namespace tiletune {

namespace {

/// Neighbours in a space resemble each other, and what runs before a short kernel shifts its time: an order
/// of the space's own would favour some of them in every sweep.
constexpr std::uint64_t kSeed = 1;

/// Spaces take turns, in proportion to their sizes: a leader that others can be screened against is found
/// early, whichever template it is of.
class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const std::vector<SearchedSpace>& spaces) {
    for (const SearchedSpace& one : spaces)
      turns_.push_back({search::Permutation(one.space->size(), kSeed), one.planned});
  }

  std::vector<Choice> ask(std::size_t most) override {
    std::vector<Choice> choices;
    while (choices.size() < most) {
      const auto next = std::min_element(turns_.begin(), turns_.end(),
                                         [](const Turn& a, const Turn& b) { return a.share() < b.share(); });
      if (next == turns_.end() || next->asked == next->planned) break;
      choices.push_back({static_cast<std::size_t>(next - turns_.begin()), next->order(next->asked++)});
    }
    return choices;
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override {}

 private:
  struct Turn {
    search::Permutation order;
    std::uint64_t planned;
    std::uint64_t asked = 0;

    /// 1 when nothing is left.
    double share() const {
      return asked == planned ? 1 : static_cast<double>(asked) / static_cast<double>(planned);
    }
  };

  std::vector<Turn> turns_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<Exhaustive>(spaces);
}

}  // namespace tiletune
