#include "search/strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

// Each is defined beside its method.
MakeStrategy make_exhaustive, make_random, make_local_search, make_surrogate;

namespace {

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
