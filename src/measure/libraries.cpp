#include "measure/libraries.h"

#include <algorithm>

namespace tiletune {

// Each is defined in a file of its own subject.
std::unique_ptr<ComputeLibrary> open_cublas(Gpu& gpu, GpuGroup* group);
std::unique_ptr<ComputeLibrary> open_cublaslt(Gpu& gpu, GpuGroup* group);
std::unique_ptr<ComputeLibrary> open_nccl_cublas(Gpu& gpu, GpuGroup* group);

namespace {

using enum LibraryOperation;

/// Baselines are measured in this order. The names of all of them are in kLibraryBaselines, too.
const std::vector<KnownLibrary> kLibraries{
    {"cublas",
     Baseline::cublas,
     {gemm, batched_gemm, row_split_gemm},
     {gemm, batched_gemm, all_gather_gemm, gemm_reduce_scatter, row_split_gemm},
     open_cublas},
    {"cublaslt", Baseline::lt, {gemm}, {}, open_cublaslt},
    {"nccl_cublas", Baseline::cublas, {all_gather_gemm, gemm_reduce_scatter}, {}, open_nccl_cublas},
};

using Operations = std::vector<LibraryOperation>;

bool is_among(LibraryOperation operation, const Operations& operations) {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

bool is_needed(const KnownLibrary& library, const PrepareRequest& request) {
  const auto has_one_of = [](const Operations& operations, const Operations& wanted) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](LibraryOperation operation) { return is_among(operation, operations); });
  };
  return has_one_of(library.references, request.sweep_references) ||
         (request.baseline >= library.asked_by && has_one_of(library.baselines, request.sweep_baselines));
}

}  // namespace

void ComputeLibrary::compute_reference(DeviceKernels& /*kernels*/, const PrepareRequest& /*request*/,
                                       const std::map<std::string, DeviceAddress>& /*wide*/) {
  throw GpuError("the library computes no reference");
}

bool KnownLibrary::is_baseline_of(const PrepareRequest& request) const {
  return request.baseline >= asked_by && request.baselines && is_among(*request.baselines, baselines);
}

void Libraries::open(const PrepareRequest& request, Gpu& gpu, GpuGroup* group) {
  for (const KnownLibrary& known : kLibraries) {
    const bool is_open =
        std::any_of(opened_.begin(), opened_.end(), [&](const Opened& one) { return one.known == &known; });
    if (is_open || !is_needed(known, request)) continue;
    Opened opened{&known, nullptr, ""};
    try {
      opened.library = known.open(gpu, group);
    } catch (const CudaError&) {
      throw;
    } catch (const GpuError& error) {
      opened.why_not = error.what();
    }
    opened_.push_back(std::move(opened));
  }
}

ComputeLibrary* Libraries::reference_of(const PrepareRequest& request) const {
  for (const Opened& one : opened_) {
    if (one.library && request.reference_library &&
        is_among(*request.reference_library, one.known->references))
      return one.library.get();
  }
  return nullptr;
}

}  // namespace tiletune
