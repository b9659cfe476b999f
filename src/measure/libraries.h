#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cublas.h"
#include "measure/device_kernels.h"
#include "measure/gpu_group.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

/// One way in which a library computes a problem's operation.
struct LibraryWay {
  std::string name;  ///< of the baseline: "cublas". Ways of one name compete: the fastest is the baseline
  LibraryKernels library;  ///< without the names of kernels, which its launch tells
  Subject subject;         ///< refers to the buffers and the library
  /// What the names of its kernels must tell that they multiply; none: nobody looks at them.
  std::optional<BlasGemm> product = {};
  bool on_first_gpu = false;  ///< of a problem of several: there it computes the whole, alone
};

/// A library that is open, on one GPU or on several.
class ComputeLibrary {
 public:
  ComputeLibrary() = default;
  virtual ~ComputeLibrary() = default;
  ComputeLibrary(const ComputeLibrary&) = delete;
  ComputeLibrary& operator=(const ComputeLibrary&) = delete;

  /// Its ways to compute a problem that it is a baseline of, ways of one name behind each other; none: it has
  /// none and needs no excuse. Throws GpuError with the reason why it has none.
  virtual std::vector<LibraryWay> ways(ProblemBuffers& buffers) = 0;
  /// Computes the outputs of a problem that it is a reference of, on FP64 copies of all buffers. Throws
  /// GpuError.
  virtual void compute_reference(DeviceKernels& kernels, const PrepareRequest& request,
                                 const std::map<std::string, DeviceAddress>& wide);
};

/// What is known of a library before it is open.
struct KnownLibrary {
  std::string_view name;  ///< of its baseline, or of the first of them
  Baseline asked_by;      ///< the choice of baselines that takes it in, as those behind it do
  std::vector<LibraryOperation> baselines;
  std::vector<LibraryOperation> references;
  /// `group` is null on one GPU. Throws GpuError where it cannot be opened.
  std::unique_ptr<ComputeLibrary> (*open)(Gpu& gpu, GpuGroup* group);

  bool is_baseline_of(const PrepareRequest& request) const;
};

/// The libraries of a worker, each opened once.
class Libraries {
 public:
  struct Opened {
    const KnownLibrary* known = nullptr;
    std::unique_ptr<ComputeLibrary> library;  ///< null: it cannot be had
    std::string why_not;
  };

  /// Opens all that the sweep of a problem needs, so that the worker can be confined. Throws CudaError.
  void open(const PrepareRequest& request, Gpu& gpu, GpuGroup* group);
  const std::vector<Opened>& opened() const { return opened_; }
  /// Computes the reference of a problem; null where none does.
  ComputeLibrary* reference_of(const PrepareRequest& request) const;

 private:
  std::vector<Opened> opened_;
};

/// What the outputs must hold: what files say, else computed in FP64 from the buffers' present contents by
/// the library (or, where it is null, the harness' own product) on widened inputs for operations of
/// libraries, by the reference kernel otherwise. Returns one buffer per output: of FP64 numbers, or of
/// integers of its own type.
std::map<std::string, DeviceBuffer> compute_reference(Gpu& gpu, DeviceKernels& kernels,
                                                      ComputeLibrary* library, const PrepareRequest& request,
                                                      const std::map<std::string, DeviceAddress>& addresses);

/// Launches a kernel of the operation on these buffers, and waits for it.
void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const std::map<std::string, DeviceAddress>& addresses);

/// The product of a gemm problem as cuBLAS takes it, on the given buffers and in their types.
BlasGemm blas_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& addresses);
/// The same product of FP64 copies.
BlasGemm f64_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& wide);

}  // namespace tiletune
