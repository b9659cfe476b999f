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
  out_of_bounds,
  timeout,
  crashed,
  screened_out,
  not_recorded,  ///< a replay was asked for what its recording does not hold
};

std::string_view name(Outcome outcome);
std::optional<Outcome> outcome_from_name(std::string_view text);

/// Where a row's time comes from. Rows of different sources are never ranked together unmarked.
enum class Source { measured, predicted, replayed, imported };

std::string_view name(Source source);
std::optional<Source> source_from_name(std::string_view text);

}  // namespace tiletune
