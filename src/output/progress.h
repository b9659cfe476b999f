#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tiletune {

struct ProgressState {
  std::string stage;  ///< "sgemm_warptile 4096x4096x4096"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string best;  ///< "52.1 TFLOP/s, 101% of cuBLAS"; empty: none yet
};

/// The live line on standard error: done/total, rate, ETA, best so far. On a terminal it is redrawn at most
/// ten times a second; elsewhere a plain line appears at most every ten seconds; quiet prints nothing.
class Progress {
 public:
  Progress(bool quiet, bool terminal);
  ~Progress();
  void update(const ProgressState& state);
  /// A line above the live one.
  void note(const std::string& line);
  /// Removes the live line.
  void finish();

 private:
  void draw(const ProgressState& state);
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
  std::string stage_;
  std::uint64_t stage_first_done_ = 0;
};

}  // namespace tiletune
