#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace tiletune {

/// Configurations that did not run for one reason, whatever numbers are in it.
struct FailureKind {
  Outcome outcome = Outcome::refused;
  std::uint64_t count = 0;
  std::int64_t example = 0;  ///< id of the row that comes first by template, problem and parameters
  std::string reason;        ///< first line of the example's reason
};

/// The text with '#' for each number (48.5, 0x7f, 1e-05): reasons give the arithmetic of every configuration.
std::string without_numbers(std::string_view text);

/// The kinds of failures of kernels that neither ran nor were dropped as slow; the most frequent first.
std::vector<FailureKind> failure_kinds(const Database& database, const TrialFilter& filter);

/// For people: the most frequent kinds, two lines each, and how many more there are. Empty when there are
/// none.
std::string failure_lines(const std::vector<FailureKind>& kinds, const Database& database);

/// All of them: [{outcome, count, reason, example: {template, problem, gpu, parameters}}].
nlohmann::ordered_json to_json(const std::vector<FailureKind>& kinds, const Database& database);

}  // namespace tiletune
