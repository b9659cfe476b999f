#pragma once

#include <vector>

#include "gpu/device.h"
#include "measure/messages.h"
#include "measure/reference.h"
#include "measure/timing.h"
#include "measure/workspace.h"

namespace tiletune {

/// One configuration on the GPU: its loaded kernel, bound to a workspace's buffers.
class LoadedKernel {
 public:
  /// Throws CudaError. `request` and `workspace` must outlive it.
  LoadedKernel(Gpu& gpu, Workspace& workspace, const MeasureRequest& request);

  KernelAttributes attributes() const { return kernel_.attributes(); }
  int blocks_per_multiprocessor() const;

  void launch(std::size_t copy = 0);
  /// For the timer. Refers to this object.
  Subject subject();
  /// After the workspace moved its buffers.
  void rebind();

 private:
  std::size_t bind_copies();

  Gpu& gpu_;
  Workspace& workspace_;
  const MeasureRequest& request_;
  Kernel kernel_;
  std::vector<ArgumentPack> arguments_;  ///< by copy
};

}  // namespace tiletune
