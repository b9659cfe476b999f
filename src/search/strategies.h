#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/strategy.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A strategy as configs and the command line name it.
struct StrategyEntry {
  const char* name;
  const char* help;      ///< one line
  bool depends_on_seed;  ///< otherwise every search is the same
  std::unique_ptr<Strategy> (*make)(const std::vector<SearchedSpace>& spaces, std::uint64_t seed);
};

/// All that there are. A new one is a file and a line here.
std::span<const StrategyEntry> strategies();
/// The one that a config or the command line names. Throws UserError, with the nearest name, when there is
/// none.
const StrategyEntry& find_strategy(const StrategySpec& spec);
/// "exhaustive: ...; random: ...", for help.
std::string strategies_help();

std::unique_ptr<Strategy> make_exhaustive(const std::vector<SearchedSpace>& spaces, std::uint64_t seed);
std::unique_ptr<Strategy> make_random(const std::vector<SearchedSpace>& spaces, std::uint64_t seed);

}  // namespace tiletune
