#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/device.h"

struct CUgraph_st;
struct CUgraphExec_st;

namespace tiletune {

/// Launches recorded once and launched as one: the driver's work between them is small, so that short kernels
/// follow each other closely.
class Graph {
 public:
  /// Records what `body` queues on the GPU's stream; nothing of it runs. Throws CudaError, also for work that
  /// cannot be recorded.
  Graph(Gpu& gpu, const std::function<void()>& body);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Queues everything recorded.
  void launch();
  /// Names of the kernels in it, as compiled, in the order they were recorded; empty where the driver cannot
  /// tell.
  std::vector<std::string> kernel_names() const;

 private:
  Gpu& gpu_;
  CUgraph_st* graph_ = nullptr;
  CUgraphExec_st* executable_ = nullptr;
};

}  // namespace tiletune
