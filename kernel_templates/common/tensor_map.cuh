#pragma once

/// How the Tensor Memory Accelerator (sm_90 and newer) sees an array in global memory: what the host passes
/// for an argument {"tensor_map": ...}. A kernel takes it as `const __grid_constant__ TensorMap` and hands
/// its address to cp.async.bulk.tensor; what the 128 bytes mean is the driver's secret.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};
