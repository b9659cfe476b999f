#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tiletune {

/// How far a task of a command has come.
struct ProgressState {
  std::string task;  ///< "sgemm_warptile 4096x4096x4096"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  std::string best;         ///< "52.1 TFLOP/s, 101.3% of cublaslt (sgemm_warptile)"; empty: none yet
};

/// Why a workload's search ended.
enum class SearchEnd { all_tried, strategy, gain, evaluations, time };

/// How much of a workload was tried.
struct SearchedWorkload {
  std::string problem;  ///< its label
  std::string gpu;      ///< the model's name
  std::uint64_t tried = 0;
  std::uint64_t valid = 0;
  std::optional<SearchEnd> end;  ///< none: the sweep ended before it did

  bool is_whole() const { return tried == valid; }
};

}  // namespace tiletune
