#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/strategy.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Makes a strategy that searches the spaces of one workload.
using MakeStrategy = std::unique_ptr<Strategy>(const std::vector<SearchedSpace>& spaces, std::uint64_t seed);

/// A strategy as configs and the command line name it.
struct StrategyEntry {
  const char* name;
  const char* help;      ///< one line
  bool depends_on_seed;  ///< otherwise every search is the same
  bool learns;           ///< what it tries follows from earlier results
  bool estimates_gain;   ///< it has a Strategy::remaining_gain_percent()
  MakeStrategy* make;
};

/// All that there are. A new one is a file, and a line of the table in strategies.cpp.
std::span<const StrategyEntry> strategies();
/// Stands for the choice of a sweep, by what trying all would take, where a config names no strategy.
inline constexpr const char* kAutomaticStrategy = "auto";
/// What a sweep chooses where trying all would take too long.
inline constexpr const char* kBestStrategy = "surrogate";

/// The one that a config or the command line names. Throws UserError, with the nearest name, when there is
/// none. For kAutomaticStrategy, where nobody chose: exhaustive.
const StrategyEntry& find_strategy(const StrategySpec& spec);
/// Throws UserError for a budget that ends by an estimate of a strategy that makes none.
void check_until(const StrategySpec& spec, const Budget& budget);
/// "auto, exhaustive, random, ..."
std::string strategy_names();
/// A line for each: its name and what it does.
std::string strategies_help();

}  // namespace tiletune
