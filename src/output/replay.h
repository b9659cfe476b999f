#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "replay/replay.h"

namespace tiletune {

/// How near a problem's best found came to the best recorded: 100 is the same time. None without both.
std::optional<double> percent_of_best(const ReplayedProblem& problem);
/// One sentence per problem: what was found, when, against the best recorded.
std::string replay_text(const Replay& replay);
/// The document of --format json, with the whole curves: {"tiletune_replay": 1, ...}.
nlohmann::ordered_json to_json(const Replay& replay);

}  // namespace tiletune
