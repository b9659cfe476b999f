#include "measure/verifier.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tiletune {

double Verifier::launch_on_poison(const Launch& launch, int variant) {
  buffers_.poison(variant);
  if (launch.own != nullptr) launch.own->poison(variant);
  gpu_.synchronize();
  return timer_.estimate_us(launch.run);
}

Verifier::Verdict Verifier::check(const Launch& launch, double tolerance_factor, int variant) {
  Verdict verdict;
  verdict.launch_us = launch_on_poison(launch, variant);
  verdict.finding = buffers_.check_surroundings();
  if (!verdict.finding && launch.own != nullptr) verdict.finding = launch.own->check();
  if (verdict.finding) return verdict;
  Verification verification = buffers_.verify(tolerance_factor);
  verdict.accuracy = verification.accuracy;
  if (verification.finding)
    verdict.finding = with_stability(std::move(*verification.finding), launch, variant);
  return verdict;
}

/// A wrong result that further launches from the same start do not repeat, bit by bit, comes from a race. A
/// race may give the same bits several times in a row.
Finding Verifier::with_stability(Finding finding, const Launch& launch, int variant) {
  constexpr int kLaunches = 5;
  const std::vector<std::uint64_t> before = buffers_.output_checksums();
  for (int i = 0; i < kLaunches; ++i) {
    launch_on_poison(launch, variant);
    if (buffers_.output_checksums() == before) continue;
    finding.outcome = Outcome::unstable;
    finding.reason = "the result changes from launch to launch: " + finding.reason;
    break;
  }
  return finding;
}

}  // namespace tiletune
