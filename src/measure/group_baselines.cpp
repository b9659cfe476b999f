#include <fmt/format.h>

#include <memory>
#include <utility>

#include "measure/baselines.h"
#include "measure/measure_kernel.h"

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

/// A way to compute the product.
struct GroupCandidate {
  MeasuredBaseline measured;
  Subject subject;
};

class GroupBench {
 public:
  GroupBench(ProblemBuffers& buffers, Gpu& gpu, Timer& timer)
      : buffers_(buffers), libraries_(*buffers.libraries()), timer_(timer), verifier_(gpu, buffers, timer) {}

  Baselines result;

  void add_all_gpus() {
    const auto product = std::make_shared<GroupProduct>(buffers_);
    const std::string cublas = "cuBLAS " + libraries_.blas.front()->version();
    GroupCandidate candidate;
    candidate.measured.name = product->needs_nccl() ? "nccl_cublas" : "cublas";
    if (product->needs_nccl() && !libraries_.nccl)
      return leave_out(candidate.measured.name, libraries_.why_no_nccl);
    candidate.measured.library =
        product->needs_nccl() ? "NCCL " + libraries_.nccl->version() + " + " + cublas : cublas;
    candidate.subject = {[product](std::size_t) { product->launch(); }, [] { return std::size_t{1}; },
                         &buffers_};
    candidate.subject.gpu_times_us = [product](int count) { return product->times_us(count); };
    candidate.subject.floor_us = buffers_.slices()->group().floor_us;
    add(std::move(candidate), [this](const Subject& subject) {
      const Verifier::Verdict verdict = verifier_.check({[&] { subject.launch(0); }}, 1, 0);
      return std::pair(verdict.finding, verdict.accuracy);
    });
  }

  /// The whole product by the first GPU alone: what several GPUs gain.
  void add_one_gpu() {
    GroupCandidate candidate;
    candidate.measured.name = "cublas_one_gpu";
    candidate.measured.library = "cuBLAS " + libraries_.blas.front()->version();
    candidate.subject = {
        [&blas = *libraries_.blas.front(),
         gemm = blas_gemm(buffers_.request(), buffers_.addresses())](std::size_t) { blas.gemm(gemm); },
        [] { return std::size_t{1}; }, &buffers_};
    add(std::move(candidate), [this](const Subject& subject) {
      buffers_.poison(0);
      timer_.estimate_us([&] { subject.launch(0); });
      auto finding = buffers_.check_surroundings();
      const Verification verification = buffers_.verify_whole(1);
      return std::pair(finding ? finding : verification.finding, std::optional(verification.accuracy));
    });
  }

 private:
  /// `check` launches once: what is wrong, if anything, and how accurate it is.
  template <typename Check>
  void add(GroupCandidate candidate, const Check& check) {
    MeasuredBaseline& measured = candidate.measured;
    try {
      const auto [finding, accuracy] = check(candidate.subject);
      if (finding) {
        buffers_.rebuild();
        return leave_out(measured.name, finding->reason);
      }
      if (accuracy) measured.relative_error = accuracy->relative_error;
    } catch (const CudaError&) {
      throw;
    } catch (const GpuError& error) {
      return leave_out(measured.name, error.what());
    }
    measured.timing = summarise(timer_.time(buffers_.request().policy, candidate.subject, {}).samples);
    result.runnable.push_back({measured.name, std::move(candidate.subject)});
    result.measured.push_back(std::move(measured));
  }

  void leave_out(const std::string& name, const std::string& reason) {
    result.note +=
        fmt::format("{}{}: {}", result.note.empty() ? "left out as a baseline: " : "; ", name, reason);
  }

  ProblemBuffers& buffers_;
  GroupLibraries& libraries_;
  Timer& timer_;
  Verifier verifier_;
};

}  // namespace

Baselines measure_group_baselines(ProblemBuffers& buffers, Gpu& gpu, Timer& timer) {
  GroupBench bench(buffers, gpu, timer);
  bench.add_all_gpus();
  if (buffers.request().baselines == LibraryOperation::row_split_gemm) bench.add_one_gpu();
  return std::move(bench.result);
}

}  // namespace tiletune
