#pragma once

#include <cstdint>

#include "tune/context.h"

namespace tiletune {

/// Makes what the outputs of each workload are compared with: compiles reference kernels, runs functions of
/// Python, and chooses and compiles the configurations that are to agree. Compiles the kernels that compute
/// inputs, too.
class References {
 public:
  explicit References(SweepContext& sweep) : sweep_(sweep) {}

  /// Compiles the kernels of all workloads' operations, which are part of their rows' keys.
  void compile_kernels();
  /// Takes what functions of Python have come to meanwhile.
  void attend();
  /// Whether a workload's reference and kernels are there; begins to make it where nothing has. When it
  /// fails, the workload is one of the queue's failed ones.
  bool ready(TaskQueue& queue, const Task& task);

 private:
  void compile_kernels(TaskQueue& queue, const Task& task, WorkloadReference& reference);
  void compile_candidate(TaskQueue& queue, std::size_t workload, ReferenceCandidate candidate);
  void take_candidate(TaskQueue& queue, std::size_t workload, std::size_t place, const Compiled& compiled);
  void take_template(TaskQueue& queue, std::size_t workload, WorkloadReference& reference,
                     const Compiled& compiled);
  void refuse_small_consensus(TaskQueue& queue, const Task& task);
  void begin_consensus(TaskQueue& queue, std::size_t workload, WorkloadReference& reference);
  void choose_candidates(TaskQueue& queue, std::size_t workload, WorkloadReference& reference);
  void take_kernel(TaskQueue& queue, std::size_t workload, std::size_t place, const Compiled& compiled);
  void start_python(TaskQueue& queue, const Task& task, WorkloadReference& reference);
  void attend_python(TaskQueue& queue, std::size_t workload, WorkloadReference& reference);
  void fail(TaskQueue& queue, std::size_t workload, const std::string& why);

  SweepContext& sweep_;
};

}  // namespace tiletune
