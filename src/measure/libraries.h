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
  std::string name;        ///< of the baseline: "cublas". Of ways with one name, the fastest is the baseline
  LibraryKernels library;  ///< without the names of kernels, which are known after a launch
  Subject subject;         ///< refers to the buffers and the library
  /// The product with whose types the names of its kernels are compared; none: names are not checked.
  std::optional<BlasGemm> product = {};
  bool on_first_gpu = false;  ///< of a problem over several GPUs: the first GPU computes the whole alone
};

/// A library, opened on one GPU or on several.
class ComputeLibrary {
 public:
  ComputeLibrary() = default;
  virtual ~ComputeLibrary() = default;
  ComputeLibrary(const ComputeLibrary&) = delete;
  ComputeLibrary& operator=(const ComputeLibrary&) = delete;

  /// Its ways to compute a problem that it is a baseline of; those with one name are adjacent. An empty list
  /// needs no explanation. Throws GpuError if the user should read why there is none.
  virtual std::vector<LibraryWay> ways(ProblemBuffers& buffers) = 0;
  /// Computes the reference outputs of a problem on `wide`, FP64 copies of all buffers. Throws GpuError.
  virtual void compute_reference(DeviceKernels& kernels, const PrepareRequest& request,
                                 const std::map<std::string, DeviceAddress>& wide);
};

/// Facts about a library that are known before it is opened.
struct KnownLibrary {
  std::string_view name;  ///< of its baseline, or of its first one
  Baseline asked_by;      ///< the first choice of baselines that includes it; later choices do, too
  std::vector<LibraryOperation> baselines;
  std::vector<LibraryOperation> references;
  /// `group` is null on one GPU. Throws GpuError if the library cannot be opened.
  std::unique_ptr<ComputeLibrary> (*open)(Gpu& gpu, GpuGroup* group);

  bool is_baseline_of(const PrepareRequest& request) const;
};

/// The libraries of a worker, each opened once.
class Libraries {
 public:
  struct Opened {
    const KnownLibrary* known = nullptr;
    std::unique_ptr<ComputeLibrary> library;  ///< null: could not be opened
    std::string why_not;                      ///< the reason
  };

  /// Opens all libraries that the sweep needs: once confined, the worker cannot open any. Throws CudaError.
  void open(const PrepareRequest& request, Gpu& gpu, GpuGroup* group);
  const std::vector<Opened>& opened() const { return opened_; }
  /// The library that computes the reference of a problem; null if none does.
  ComputeLibrary* reference_of(const PrepareRequest& request) const;

 private:
  std::vector<Opened> opened_;
};

/// The expected outputs: the arrays of files, or else computed in FP64 from the buffers' present contents.
/// For operations of libraries, `library` computes them from widened inputs (tiletune's own product if it is
/// null); otherwise the reference kernel does. Returns one buffer per output: FP64 numbers, or integers of
/// the output's type.
std::map<std::string, DeviceBuffer> compute_reference(Gpu& gpu, DeviceKernels& kernels,
                                                      ComputeLibrary* library, const PrepareRequest& request,
                                                      const std::map<std::string, DeviceAddress>& addresses);

/// Launches a kernel of the operation on these buffers, and waits for it.
void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const std::map<std::string, DeviceAddress>& addresses);

/// The product of a gemm problem as cuBLAS takes it, on the given buffers and in their types.
BlasGemm blas_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& addresses);
/// The product of a gemm problem on FP64 copies of its buffers.
BlasGemm f64_gemm(const PrepareRequest& request, const std::map<std::string, DeviceAddress>& wide);

}  // namespace tiletune
