#include "search/strategies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

// Each is defined in a file of its own.
MakeStrategy make_exhaustive, make_random;

namespace {

constexpr std::array kStrategies{
    StrategyEntry{
        "exhaustive",
        "all configurations, alternating between templates, each in a shuffled order that is always the same",
        false, make_exhaustive},
    StrategyEntry{"random", "configurations of all templates in an order that the seed determines", true,
                  make_random},
};

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

}  // namespace

std::span<const StrategyEntry> strategies() { return kStrategies; }

const StrategyEntry& find_strategy(const StrategySpec& spec) {
  const auto found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                  [&](const StrategyEntry& entry) { return entry.name == spec.name; });
  if (found != kStrategies.end()) return *found;
  const std::vector<std::string> known = names();
  throw UserError(fmt::format("found \"{}\", expected one of {}", spec.name, join(known, ", ")), spec.where,
                  std::string(trim(suggestion(spec.name, known))));
}

std::string strategies_help() {
  std::string text;
  for (const StrategyEntry& entry : kStrategies)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.help);
  return text;
}

}  // namespace tiletune
