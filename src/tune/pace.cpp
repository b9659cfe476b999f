#include "tune/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tiletune {

namespace {

/// More than two calibrations of one GPU differ.
constexpr double kNoticed = 0.03;

struct Rate {
  double Calibration::*member;
  const char* what;
  const char* unit;
};
constexpr std::array kRates{Rate{&Calibration::ffma_tflops, "FP32 arithmetic", "TFLOP/s"},
                            Rate{&Calibration::copy_gbs, "copies in device memory", "GB/s"}};

}  // namespace

std::vector<std::string> notes_of_slow_gpus(std::vector<GpuSlot>& slots) {
  std::vector<std::string> notes;
  for (const Rate& rate : kRates) {
    double fastest = 0;
    for (const GpuSlot& slot : slots)
      if (slot.calibration && !slot.retired) fastest = std::max(fastest, *slot.calibration.*rate.member);
    for (GpuSlot& slot : slots) {
      if (!slot.calibration || slot.retired) continue;
      const double own = *slot.calibration.*rate.member;
      if (own >= fastest * (1 - kNoticed) || std::exchange(slot.is_known_as_slow, true)) continue;
      notes.push_back(
          fmt::format("{} is {:.1f}% slower than another {} of this sweep: {} {:.4g} {} instead of {:.4g}. "
                      "Its rows count "
                      "like those of the others; leave it out with --gpus",
                      slot.evaluator->target().uuid, 100 * (1 - own / fastest), slot.evaluator->target().name,
                      rate.what, own, rate.unit, fastest));
    }
  }
  return notes;
}

}  // namespace tiletune
