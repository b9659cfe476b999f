#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/spelling.h"

/// How configurations are measured. Everything about an option stands here, but for what it does: its name,
/// which configs, messages and the database share, what it may be, when it is not in force, and its flag.
/// schemas/config.schema.json describes it to people.
namespace tiletune {

/// How an option is set on the command line.
struct Flag {
  enum class Of { all, sweep, bench };

  std::string_view name;  ///< "--precision"; empty: the option has no flag
  const char* help = "";
  std::string_view kind;  ///< what its value is called: "factor"
  Of of = Of::all;        ///< the commands that have it, of those that measure
  bool or_off = false;    ///< "off" stands for zero
};

/// A field that is an option of measuring.
template <typename Policy, typename T>
struct OptionOf : FieldOf<Policy, T> {
  /// The value that leaves the option out of an identity (tune/identity.h): rows that were measured before
  /// the option existed keep their keys. None: it is always part of it.
  std::optional<T> neutral;
  Flag flag;
};

template <typename Policy, typename T>
constexpr OptionOf<Policy, T> option(std::string_view name, T Policy::*member,
                                     typename BoundsOf<T>::type bounds,
                                     std::type_identity_t<std::optional<T>> neutral, Flag flag = {}) {
  return {{name, member, bounds}, neutral, flag};
}

/// What the L2 cache holds when a timed launch begins.
enum class CachePolicy {
  cold,    ///< nothing of the buffers, and nothing to write back; in batches each launch has another copy
  dirty,   ///< nothing of the buffers, but full of lines that the launch has to write back
  rotate,  ///< nothing of the buffers: every launch has another copy, which together exceed twice the cache
  warm     ///< what the launch before it left
};
template <>
inline constexpr std::array<Named<CachePolicy>, 4> kSpellings<CachePolicy>{{{CachePolicy::cold, "cold"},
                                                                            {CachePolicy::dirty, "dirty"},
                                                                            {CachePolicy::rotate, "rotate"},
                                                                            {CachePolicy::warm, "warm"}}};

/// How an application launches a kernel: what its finalists are timed in besides.
enum class Regime {
  cold,      ///< one launch that finds nothing of its buffers in the L2 cache
  warm,      ///< one that finds what an equal launch left there
  graph,     ///< launches of a CUDA graph that follow each other, each on other buffers
  eager,     ///< the same, queued by the host one by one
  sustained  ///< back to back for seconds
};
template <>
inline constexpr std::array<Named<Regime>, 5> kSpellings<Regime>{{{Regime::cold, "cold"},
                                                                  {Regime::warm, "warm"},
                                                                  {Regime::graph, "graph"},
                                                                  {Regime::eager, "eager"},
                                                                  {Regime::sustained, "sustained"}}};

inline constexpr Bounds<double> kPercentage{.min = 0, .max = 100};
/// Seconds of one launch or compilation.
inline constexpr Bounds<double> kTimeout{.min = 0, .max = 24 * 3600, .above = true};
inline constexpr int kMostLaunches = 10000;

/// The leaders are re-measured, interleaved with the baselines. Part of no identity: rows are what they were.
struct FinalsPolicy {
  int configurations = 10;    ///< the best so many; 0: no finals
  double within_percent = 2;  ///< and all that are not slower than the leader by more than this
  int rounds = 100;           ///< most samples of each; fewer where they would take more than some seconds
  double sustained_s = 0;     ///< then the best run back to back for so long each; 0: not
  std::vector<Regime> regimes = {};  ///< in which the best are timed, too
  bool host_copies = false;          ///< and are timed with the copies of their buffers from and to the host

  static constexpr auto fields() {
    using P = FinalsPolicy;
    constexpr int kFewestRounds = 6;  // with fewer nothing can be said of a median with 95% certainty
    return list_of(
        option("configurations", &P::configurations, {.min = 0, .max = 100}, {},
               {.name = "--finals",
                .help = "Re-measure the N best, interleaved with the baselines (default 10), or off",
                .kind = "number of finalists",
                .of = Flag::Of::sweep,
                .or_off = true}),
        option("within_percent", &P::within_percent, kPercentage, {}),
        option("rounds", &P::rounds, {.min = kFewestRounds, .max = kMostLaunches}, {},
               {.name = "--rounds",
                .help = "Most samples in the finals, interleaved with the baselines and a second copy of the "
                        "kernel",
                .kind = "number of samples",
                .of = Flag::Of::bench}),
        option("sustained_s", &P::sustained_s, {.min = 0, .max = 3600}, {},
               {.name = "--sustained",
                .help = "After the finals, run their best back to back for this long each (2s, 1min)",
                .kind = "time"}),
        option("regimes", &P::regimes, {}, {},
               {.name = "--regime",
                .help = "After the finals, also time the five best in these launch regimes: cold or warm L2 "
                        "cache, CUDA graph, eager (queued one by one), sustained",
                .kind = "regime"}),
        option("host_copies", &P::host_copies, {}, {},
               {.name = "--host-copies",
                .help = "After the finals, time their best and the baselines with copies of the inputs from "
                        "pinned host memory and of the outputs to it",
                .kind = "switch"}));
  }
};

struct MeasurePolicy {
  int warmup = 1;                  ///< launches before the samples; verification counts as one
  int samples = 30;                ///< most timed samples of a configuration
  double precision_percent = 0.5;  ///< enough samples when the median's 95% interval is within so much of it;
                                   ///< 0: always take all
  double screening = 1.5;          ///< given up when clearly slower than the leader by this factor; 0: never
  double batch_below_us = 20;      ///< kernels shorter than this are timed in batches; 0: never
  CachePolicy cache = CachePolicy::cold;
  std::uint64_t seed = 0;  ///< of the random inputs; 0: each sweep draws one
  bool verify = true;
  bool strict_error = false;     ///< wrong: an error in a check that is more than twice the library's own
  double launch_timeout_s = 10;  ///< one launch may take so long
  FinalsPolicy finals;

  static constexpr auto fields() {
    using P = MeasurePolicy;
    return list_of(
        option("warmup", &P::warmup, {.min = 0, .max = kMostLaunches}, 0),
        option("samples", &P::samples, {.min = 1, .max = kMostLaunches}, 0,
               {.name = "--samples",
                .help = "Most timed samples before the finals",
                .kind = "number of samples",
                .of = Flag::Of::bench}),
        option("precision_percent", &P::precision_percent, kPercentage, 0,
               {.name = "--precision",
                .help = "Stop sampling once the median's 95% interval is within this percentage of it; 0: "
                        "take all samples",
                .kind = "percentage"}),
        // A factor below 1 would drop what is faster than the leader.
        option(
            "screening", &P::screening, {.min = 1, .max = 1000, .or_zero = true}, 0,
            {.name = "--screening",
             .help =
                 "Drop configurations that are clearly slower than the leader by this factor (1.5), or off",
             .kind = "factor",
             .of = Flag::Of::sweep,
             .or_off = true}),
        option("batch_below_us", &P::batch_below_us, {.min = 0, .max = 1000}, 0),
        option(
            "cache", &P::cache, {}, {},
            {.name = "--cache",
             .help = "L2 before a launch: cold (flushed), dirty (flushed, but full of lines to write back), "
                     "rotate (another copy of the buffers) or warm",
             .kind = "state of the cache"}),
        // policy_identity() has 1 for a seed that is drawn.
        option(
            "seed", &P::seed, {}, 0,
            {.name = "--seed-inputs",
             .help =
                 "Seed of the random inputs, to repeat those of another sweep (column input_seed); without "
                 "it, they are drawn anew",
             .kind = "number"}),
        option("verify", &P::verify, {}, true),
        option(
            "strict_error", &P::strict_error, {}, false,
            {.name = "--strict-error",
             .help = "Reject a configuration whose error in one of the operation's checks exceeds twice the "
                     "library's (default: its row gets a warning)",
             .kind = "switch"}),
        option("launch_timeout_s", &P::launch_timeout_s, kTimeout, 0), field("finals", &P::finals));
  }
};

/// Calls `visit(option, value)` for every option of a policy, in their order; those of the finals last.
template <typename Policy, typename Visit>
void for_each_option(Policy& policy, const Visit& visit) {
  for_each_field<std::remove_const_t<Policy>>([&](const auto& field) {
    auto& value = policy.*field.member;
    if constexpr (HasFields<std::remove_cvref_t<decltype(value)>>)
      for_each_option(value, visit);
    else
      visit(field, value);
  });
}

}  // namespace tiletune
