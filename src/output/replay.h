#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "replay/replay.h"

namespace tiletune {

/// One sentence per problem: what was found, when, against the best recorded.
std::string replay_text(const Replay& replay);
/// The document of --format json, with the whole curves: {"tiletune_replay": 1, ...}.
nlohmann::ordered_json to_json(const Replay& replay);

/// Quartiles over the runs of a strategy, interpolated: the best time after `evaluation` evaluations, us.
/// None where too many runs had found nothing that ran. A run that ended earlier counts with its best time.
struct ReplayQuartiles {
  std::uint64_t evaluation = 0;
  std::optional<double> lower_us;
  std::optional<double> median_us;
  std::optional<double> upper_us;
};

/// The quartiles of the problem of this number, wherever they change. `runs` differ in their seeds alone;
/// there is one.
std::vector<ReplayQuartiles> quartiles_of(const std::vector<Replay>& runs, std::size_t problem);

/// Per problem a table of the quartiles, after 1, 2, 5, 10 evaluations and so on.
std::string replay_runs_text(const std::vector<Replay>& runs);
/// The document of --format json: that of a single replay with, for each problem, the quartiles, and of each
/// run how far it came and its curve: {"tiletune_replay": 1, ..., "runs": 20, ...}.
nlohmann::ordered_json replay_runs_json(const std::vector<Replay>& runs);

}  // namespace tiletune
