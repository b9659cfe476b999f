#include <random>
#include <utility>

#include "search/permutation.h"
#include "search/strategies.h"

namespace tiletune {

namespace {

/// Any configuration of any space, each as likely as the others.
class Random : public Strategy {
 public:
  Random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) : random_(seed) {
    for (const SearchedSpace& one : spaces) {
      spaces_.push_back({search::Permutation(one.space->size(), seed), one.planned});
      left_ += one.planned;
    }
  }

  std::vector<Choice> ask(std::size_t most) override {
    std::vector<Choice> choices;
    for (; choices.size() < most && left_ > 0; --left_) {
      std::uint64_t drawn = random_() % left_;
      std::size_t space = 0;
      for (; drawn >= spaces_[space].left(); ++space) drawn -= spaces_[space].left();
      Rest& rest = spaces_[space];
      choices.push_back({space, rest.order(rest.asked++)});
    }
    return choices;
  }
  void tell(const Choice& /*choice*/, std::optional<double> /*median_us*/) override {}

 private:
  struct Rest {
    search::Permutation order;
    std::uint64_t planned;
    std::uint64_t asked = 0;

    std::uint64_t left() const { return planned - asked; }
  };

  std::mt19937_64 random_;
  std::vector<Rest> spaces_;
  std::uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return std::make_unique<Random>(spaces, seed);
}

}  // namespace tiletune
