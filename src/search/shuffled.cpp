#include <algorithm>
#include <utility>

#include "search/random_source.h"

namespace tiletune {

namespace {

/// A space in a shuffled order, and how far it was tried.
struct ShuffledSpace {
  search::Permutation order;
  std::uint64_t planned;
  std::uint64_t asked = 0;

  std::uint64_t left() const { return planned - asked; }
  /// 1 when nothing is left.
  double share() const {
    return asked == planned ? 1 : static_cast<double>(asked) / static_cast<double>(planned);
  }
};

std::vector<ShuffledSpace> shuffled(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  std::vector<ShuffledSpace> all;
  for (const SearchedSpace& one : spaces)
    all.push_back({search::Permutation(one.space->size(), seed), one.planned});
  return all;
}

/// Neighbours in a space resemble each other, and what runs before a short kernel shifts its time: an order
/// of the space's own would favour some of them in every sweep.
constexpr std::uint64_t kExhaustiveSeed = 1;

/// Spaces take turns, in proportion to their sizes: a leader that others can be screened against is found
/// early, whichever template it is of.
class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const std::vector<SearchedSpace>& spaces)
      : spaces_(shuffled(spaces, kExhaustiveSeed)) {}

  std::vector<Choice> ask(std::size_t most) override {
    std::vector<Choice> choices;
    while (choices.size() < most) {
      const auto next = std::min_element(
          spaces_.begin(), spaces_.end(),
          [](const ShuffledSpace& a, const ShuffledSpace& b) { return a.share() < b.share(); });
      if (next == spaces_.end() || next->left() == 0) break;
      choices.push_back({static_cast<std::size_t>(next - spaces_.begin()), next->order(next->asked++)});
    }
    return choices;
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override {}

 private:
  std::vector<ShuffledSpace> spaces_;
};

/// Any configuration of any space, each as likely as the others.
class Random : public Strategy {
 public:
  Random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed)
      : random_(seed), spaces_(shuffled(spaces, seed)) {
    for (const ShuffledSpace& one : spaces_) left_ += one.planned;
  }

  std::vector<Choice> ask(std::size_t most) override {
    std::vector<Choice> choices;
    for (; choices.size() < most && left_ > 0; --left_) {
      std::uint64_t drawn = random_.below(left_);
      std::size_t space = 0;
      for (; drawn >= spaces_[space].left(); ++space) drawn -= spaces_[space].left();
      choices.push_back({space, spaces_[space].order(spaces_[space].asked++)});
    }
    return choices;
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override {}

 private:
  search::RandomSource random_;
  std::vector<ShuffledSpace> spaces_;
  std::uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<Exhaustive>(spaces);
}

std::unique_ptr<Strategy> make_random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return std::make_unique<Random>(spaces, seed);
}

}  // namespace tiletune
