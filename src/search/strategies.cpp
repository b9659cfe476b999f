#include "search/strategies.h"

#include <fmt/format.h>

#include "base/text.h"
#include "search/explored_space.h"

namespace tiletune {

// Each is defined beside its method.
MakeStrategy make_exhaustive, make_random, make_local_search, make_surrogate;

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

constexpr std::array kStrategies{
    StrategyEntry{
        "exhaustive",
        "all configurations, alternating between templates, each in a shuffled order that is always the same",
        false, false, false, make_exhaustive},
    StrategyEntry{"random", "configurations of all templates in an order that the seed determines", true,
                  false, false, make_random},
    StrategyEntry{"local_search",
                  "changes one parameter at a time as long as that is faster, then starts again elsewhere",
                  true, true, false, make_local_search},
    StrategyEntry{"surrogate",
                  "predicts times from those measured (Gaussian process), and tries what may be the fastest",
                  true, true, true, make_surrogate},
};

std::vector<std::string> names() {
  std::vector<std::string> names{kAutomaticStrategy};
  for (const StrategyEntry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const std::vector<SearchedSpace>& spaces, std::uint64_t /*seed*/) {
  return std::make_unique<Exhaustive>(spaces);
}

std::unique_ptr<Strategy> make_random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed) {
  return std::make_unique<Random>(spaces, seed);
}

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry& find_strategy(const StrategySpec& spec) {
  if (spec.name == kAutomaticStrategy) return kStrategies.front();
  const auto found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                  [&](const StrategyEntry& entry) { return entry.name == spec.name; });
  if (found != kStrategies.end()) return *found;
  throw UserError(fmt::format("found \"{}\", expected one of {}", spec.name, strategy_names()), spec.where,
                  std::string(trim(suggestion(spec.name, names()))));
}

void check_until(const StrategySpec& spec, const Budget& budget) {
  if (budget.until_percent <= 0 || find_strategy(spec).estimates_gain) return;
  throw UserError(fmt::format("the strategy {} does not estimate the gain that is left", spec.name),
                  Where{"--until", ""}, fmt::format("Use --strategy {}, or leave it out.", kBestStrategy));
}

std::string strategy_names() { return join(names(), ", "); }

std::string strategies_help() {
  std::size_t width = 0;
  for (const std::string& name : names()) width = std::max(width, name.size());
  std::string text =
      fmt::format("{:{}}  exhaustive if that takes less than a minute or fits the budget, else {}",
                  kAutomaticStrategy, width, kBestStrategy);
  for (const StrategyEntry& entry : kStrategies)
    text += fmt::format("\n{:{}}  {}", entry.name, width, entry.help);
  return text;
}

}  // namespace tiletune
