#pragma once

#include <string_view>

#include "base/spelling.h"

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

template <>
inline constexpr std::array<Named<Outcome>, 15> kSpellings<Outcome>{{
    {Outcome::dispatched, "dispatched"},
    {Outcome::ok, "ok"},
    {Outcome::refused, "refused"},
    {Outcome::compile_failed, "compile_failed"},
    {Outcome::compile_timeout, "compile_timeout"},
    {Outcome::compile_crashed, "compile_crashed"},
    {Outcome::launch_failed, "launch_failed"},
    {Outcome::wrong_result, "wrong_result"},
    {Outcome::unstable, "unstable"},
    {Outcome::implausible, "implausible"},
    {Outcome::out_of_bounds, "out_of_bounds"},
    {Outcome::timeout, "timeout"},
    {Outcome::crashed, "crashed"},
    {Outcome::screened_out, "screened_out"},
    {Outcome::not_recorded, "not_recorded"},
}};
/// Whether it ran, as far as is known correctly: its time counts, or is that of a configuration too slow to
/// matter.
constexpr bool has_run(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::screened_out; }

/// Whether a configuration with this outcome cannot run where it was tried. A time limit and the limits of a
/// config, which the reason names ("limits.max_registers"), may be set otherwise; what a recording lacks may
/// run. False of what ran.
inline bool proves_failure(Outcome outcome, std::string_view reason) {
  switch (outcome) {
    case Outcome::dispatched:
    case Outcome::ok:
    case Outcome::screened_out:
    case Outcome::compile_timeout:
    case Outcome::not_recorded:
      return false;
    case Outcome::refused:
      return reason.find(" of limits.") == std::string_view::npos;
    default:
      return true;
  }
}

/// Where a row's time comes from. Rows of different sources are never ranked together unmarked.
enum class Source { measured, predicted, replayed, imported };

template <>
inline constexpr std::array<Named<Source>, 4> kSpellings<Source>{{{Source::measured, "measured"},
                                                                  {Source::predicted, "predicted"},
                                                                  {Source::replayed, "replayed"},
                                                                  {Source::imported, "imported"}}};

}  // namespace tiletune
