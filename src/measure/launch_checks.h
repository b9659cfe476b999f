#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tiletune {

/// What the outputs of a kernel's timed launches were found to be.
struct LaunchTally {
  double tolerance_factor = 1;
  std::uint64_t queued = 0;  ///< launches; their checks may not have been read yet
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  std::string first_fault;  ///< of the first that was wrong
  double check_us = 0;      ///< what one check takes; 0: not known yet

  /// "1 of 11 timed launches that were checked is wrong: ..."
  std::string reason() const;
  /// Drops the results so far; that checks were queued, and what one takes, stays known.
  void drop_checks();
};

/// Decides which timed launches are checked, so that checks take at most a twentieth of the time that
/// measuring takes. Except for the last of each series, a kernel that counts its launches cannot foresee the
/// choice.
class CheckBudget {
 public:
  explicit CheckBudget(std::uint64_t seed) : random_(seed) {}

  /// Which samples of a series are checked: all where the budget allows. The last of a series of several is
  /// checked in any case, and so is the first one of a kernel.
  std::vector<bool> choose(int samples, double sample_us, const LaunchTally& tally);
  /// What a series took, and what of it were checks.
  void spend(double series_us, double checks_us);

 private:
  std::mt19937_64 random_;
  double measured_us_ = 0;
  double checked_us_ = 0;
};

}  // namespace tiletune
