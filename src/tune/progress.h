#pragma once

#include <cstdint>
#include <string>

namespace tiletune {

/// How far a task of a command has come.
struct ProgressState {
  std::string task;  ///< "sgemm_warptile 4096x4096x4096"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  std::string best;         ///< "52.1 TFLOP/s, 101.3% of cublaslt (sgemm_warptile)"; empty: none yet
};

}  // namespace tiletune
