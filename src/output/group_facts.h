#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rank/ranking.h"
#include "store/database.h"

namespace tiletune {

/// What is known of a group's measurement beyond its rows. Absent where the rows do not say it.
struct GroupFacts {
  std::int64_t finalists = 0;                   ///< kernels that took part in the latest finals
  std::vector<std::string> final_baselines;     ///< that took turns with them
  std::int64_t final_rounds = 0;                ///< samples of the one that stayed longest
  std::optional<double> noise_floor_percent;    ///< noise floor of the latest finals
  std::optional<double> probability_near_best;  ///< that the first kernel is within 1% of the true best
  std::uint64_t discarded_samples = 0;          ///< of all rows ranked
  std::set<std::string> throttle_reasons;       ///< of the rows that lost samples
  std::optional<CalibrationRecord> floor;       ///< of the first kernel's GPU and driver
  std::string pipe;                             ///< of the first kernel
};

GroupFacts facts_of(const RankingGroup& group, const Database& database);

/// A line for each that is known.
std::vector<std::string> lines_of(const GroupFacts& facts);

/// Members of the group's JSON object; null for what is not known.
void add_facts(nlohmann::ordered_json& group, const GroupFacts& facts);

}  // namespace tiletune
