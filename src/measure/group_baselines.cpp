#include "measure/group_baselines.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "measure/verifier.h"

namespace tiletune {

namespace {

/// cuBLAS on every GPU; of all_gather_gemm after NCCL has gathered A, of gemm_reduce_scatter before NCCL adds
/// up what the GPUs have of C.
class GroupProduct {
 public:
  explicit GroupProduct(ProblemBuffers& buffers)
      : slices_(*buffers.slices()),
        group_(slices_.group()),
        libraries_(*buffers.libraries()),
        library_(*buffers.request().baselines),
        launches_(group_) {
    const PrepareRequest& request = buffers.request();
    const Workload::SizedBuffer& a = request.workload.buffer("A");
    const Workload::SizedBuffer& c = request.workload.buffer("C");
    const Workload::SizedBuffer& whole = gathers() ? a : c;
    group_.on_each([&](std::size_t gpu) {
      if (needs_nccl()) memory_.emplace_back(static_cast<std::size_t>(whole.bytes()));
      products_.push_back(product(request, gpu));
      parts_.push_back(part(gpu));
    });
    part_elements_ = static_cast<std::size_t>(whole.elements) / group_.size();
    part_type_ = whole.type;
  }

  bool needs_nccl() const { return library_ != LibraryOperation::row_split_gemm; }

  void launch() {
    launches_.launch([this] {
      if (gathers()) libraries_.nccl->all_gather(parts_, part_elements_, part_type_);
      group_.on_each([this](std::size_t gpu) { libraries_.blas[gpu]->gemm(products_[gpu]); });
      if (scatters()) libraries_.nccl->reduce_scatter(parts_, part_elements_, part_type_);
    });
  }

  std::vector<std::vector<double>> times_us(int count) { return launches_.times_us(count); }

 private:
  bool gathers() const { return library_ == LibraryOperation::all_gather_gemm; }
  bool scatters() const { return library_ == LibraryOperation::gemm_reduce_scatter; }

  /// One GPU's part of the product.
  BlasGemm product(const PrepareRequest& request, std::size_t gpu) const {
    const auto gpus = static_cast<std::int64_t>(group_.size());
    BlasGemm gemm = blas_gemm(request, slices_.addresses(gpu));
    if (gathers()) {
      gemm.a_address = memory_[gpu].address();
      gemm.n /= gpus;
      gemm.ldb = gemm.ldc = gemm.n;
    } else if (scatters()) {
      gemm.c_address = memory_[gpu].address();
      gemm.k /= gpus;
      gemm.lda = gemm.k;
    } else {
      gemm.m /= gpus;
    }
    return gemm;
  }

  /// What NCCL reads and writes.
  NcclPart part(std::size_t gpu) const {
    if (!needs_nccl()) return {};
    const auto& addresses = slices_.addresses(gpu);
    const DeviceAddress whole = memory_[gpu].address();
    return gathers() ? NcclPart{addresses.at("A"), whole, group_.stream(gpu)}
                     : NcclPart{whole, addresses.at("C"), group_.stream(gpu)};
  }

  Slices& slices_;
  GpuGroup& group_;
  GroupLibraries& libraries_;
  LibraryOperation library_;
  GroupLaunches launches_;
  std::vector<DeviceBuffer> memory_;  ///< by GPU: the gathered A, or what it has of C
  std::vector<BlasGemm> products_;
  std::vector<NcclPart> parts_;
  std::size_t part_elements_ = 0;
  ElementType part_type_ = ElementType::f32;
};

/// Launches once. Why it cannot be a baseline; empty when it can.
std::string fault_of(const Subject& subject, Verifier& verifier, ProblemBuffers& buffers,
                     MeasuredBaseline& measured, double& estimate_us) {
  try {
    const Verifier::Verdict verdict = verifier.check({[&] { subject.launch(0); }}, 1, 0);
    estimate_us = verdict.launch_us;
    if (verdict.accuracy) measured.relative_error = verdict.accuracy->relative_error;
    if (!verdict.finding) return "";
    buffers.rebuild();
    return verdict.finding->reason;
  } catch (const CudaError&) {
    throw;
  } catch (const GpuError& error) {
    return error.what();
  }
}

}  // namespace

Baselines measure_group_baseline(ProblemBuffers& buffers, Gpu& gpu, Timer& timer) {
  Baselines baselines;
  const GroupLibraries& libraries = *buffers.libraries();
  const auto product = std::make_shared<GroupProduct>(buffers);
  MeasuredBaseline measured;
  measured.name = product->needs_nccl() ? "nccl_cublas" : "cublas";
  if (product->needs_nccl() && !libraries.nccl) {
    baselines.note = fmt::format("left out as a baseline: {}: {}", measured.name, libraries.why_no_nccl);
    return baselines;
  }
  measured.library = "cuBLAS " + libraries.blas.front()->version();
  if (product->needs_nccl())
    measured.library = "NCCL " + libraries.nccl->version() + " + " + measured.library;
  Subject subject{[product](std::size_t) { product->launch(); }, [] { return std::size_t{1}; }, &buffers};
  subject.gpu_times_us = [product](int count) { return product->times_us(count); };
  subject.floor_us = buffers.slices()->group().floor_us;
  Verifier verifier(gpu, buffers, timer);
  double estimate_us = 0;
  const std::string fault = fault_of(subject, verifier, buffers, measured, estimate_us);
  if (!fault.empty()) {
    baselines.note = fmt::format("left out as a baseline: {}: {}", measured.name, fault);
    return baselines;
  }
  measured.timing = summarise(timer.time(buffers.request().policy, subject, estimate_us, {}).samples);
  baselines.runnable.push_back({measured.name, subject});
  baselines.measured.push_back(std::move(measured));
  return baselines;
}

}  // namespace tiletune
