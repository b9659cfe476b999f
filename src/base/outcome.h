#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tiletune {

/// What became of one configuration. `dispatched` is the journal's mark of a measurement under way;
/// every other value is final.
enum class Outcome {
  dispatched,
  ok,
  refused,
  compile_failed,
  compile_timeout,
  compile_crashed,
  launch_failed,
  wrong_result,
  unstable,
  implausible,  ///< faster than the GPU can be
  out_of_bounds,
  timeout,
  crashed,
  screened_out,
  not_recorded,  ///< a replay was asked for what its recording does not hold
};

std::string_view name(Outcome outcome);
/// Whether a configuration with this outcome cannot run where it was tried. A time limit and the limits of a
/// config, which the reason names ("limits.max_registers"), may be set otherwise; what a recording lacks may
/// run. False of what ran.
bool proves_failure(Outcome outcome, std::string_view reason);
std::optional<Outcome> outcome_from_name(std::string_view text);

/// Where a row's time comes from. Rows of different sources are never ranked together unmarked.
enum class Source { measured, predicted, replayed, imported };

std::string_view name(Source source);
std::optional<Source> source_from_name(std::string_view text);

}  // namespace tiletune
