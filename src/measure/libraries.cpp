#include "measure/libraries.h"

#include <fmt/format.h>

namespace tiletune {

namespace {

/// One on each GPU, in the group's order.
std::vector<std::unique_ptr<Blas>> blas_on_each(Gpu& gpu, GpuGroup* group) {
  std::vector<std::unique_ptr<Blas>> opened;
  if (group == nullptr)
    opened.push_back(std::make_unique<Blas>(gpu));
  else
    group->on_each([&](std::size_t number) { opened.push_back(std::make_unique<Blas>(group->gpu(number))); });
  return opened;
}

/// cuBLAS on every GPU; of all_gather_gemm after NCCL has gathered A, of gemm_reduce_scatter before NCCL adds
/// up what the GPUs have of C.
class GroupProduct {
 public:
  GroupProduct(ProblemBuffers& buffers, const std::vector<std::unique_ptr<Blas>>& blas)
      : slices_(*buffers.slices()),
        group_(slices_.group()),
        blas_(blas),
        operation_(*buffers.request().baselines),
        launches_(group_) {
    const PrepareRequest& request = buffers.request();
    const Workload::SizedBuffer& whole = request.workload.buffer(gathers() ? "A" : "C");
    group_.on_each([&](std::size_t gpu) {
      if (gathers() || scatters()) memory_.emplace_back(static_cast<std::size_t>(whole.bytes()));
      products_.push_back(product(request, gpu));
      parts_.push_back(part(gpu));
    });
    part_elements_ = static_cast<std::size_t>(whole.elements) / group_.size();
    part_type_ = whole.type;
  }

  void launch() {
    launches_.launch([this] {
      if (gathers()) group_.nccl()->all_gather(parts_, part_elements_, part_type_);
      group_.on_each([this](std::size_t gpu) { blas_[gpu]->gemm(products_[gpu]); });
      if (scatters()) group_.nccl()->reduce_scatter(parts_, part_elements_, part_type_);
    });
  }

  std::vector<std::vector<double>> times_us(int count) { return launches_.times_us(count); }

 private:
  bool gathers() const { return operation_ == LibraryOperation::all_gather_gemm; }
  bool scatters() const { return operation_ == LibraryOperation::gemm_reduce_scatter; }

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
    if (!gathers() && !scatters()) return {};
    const auto& addresses = slices_.addresses(gpu);
    const DeviceAddress whole = memory_[gpu].address();
    return gathers() ? NcclPart{addresses.at("A"), whole, group_.stream(gpu)}
                     : NcclPart{whole, addresses.at("C"), group_.stream(gpu)};
  }

  Slices& slices_;
  GpuGroup& group_;
  const std::vector<std::unique_ptr<Blas>>& blas_;
  LibraryOperation operation_;
  GroupLaunches launches_;
  std::vector<DeviceBuffer> memory_;  ///< by GPU: the gathered A, or what it has of C
  std::vector<BlasGemm> products_;
  std::vector<NcclPart> parts_;
  std::size_t part_elements_ = 0;
  ElementType part_type_ = ElementType::f32;
};

LibraryWay group_way(std::string name, std::string library, ProblemBuffers& buffers,
                     const std::vector<std::unique_ptr<Blas>>& blas) {
  const auto product = std::make_shared<GroupProduct>(buffers, blas);
  LibraryWay way{std::move(name), {std::move(library), "", ""}, {}};
  way.subject = {[product](std::size_t) { product->launch(); }, [] { return std::size_t{1}; }, &buffers};
  way.subject.gpu_times_us = [product](int count) { return product->times_us(count); };
  way.subject.floor_us = buffers.slices()->group().floor_us;
  return way;
}

/// A product on each copy of a problem's buffers; `run` queues it on one of them.
template <typename Run>
Subject product_on_copies(ProblemBuffers& buffers, const BlasGemm& gemm, const Run& run) {
  const auto launch = [gemm, run, &buffers](std::size_t copy) {
    BlasGemm on_copy = gemm;
    const auto& addresses = buffers.addresses(copy);
    on_copy.a_address = addresses.at("A");
    on_copy.b_address = addresses.at("B");
    on_copy.c_address = addresses.at("C");
    if (has_bias(gemm.epilogue)) on_copy.bias_address = addresses.at("bias");
    run(on_copy);
  };
  return {launch, [&buffers] { return buffers.copies(); }, &buffers};
}

class Cublas : public ComputeLibrary {
 public:
  Cublas(Gpu& gpu, GpuGroup* group)
      : blas_(blas_on_each(gpu, group)), version_("cuBLAS " + blas_.front()->version()) {}

  std::vector<LibraryWay> ways(ProblemBuffers& buffers) override {
    const BlasGemm gemm = blas_gemm(buffers.request(), buffers.addresses());
    const bool is_on_one = buffers.slices() == nullptr;
    if (is_on_one && !Blas::computes(gemm)) return {};
    const Subject alone =
        product_on_copies(buffers, gemm, [&blas = *blas_.front()](const BlasGemm& one) { blas.gemm(one); });
    if (is_on_one) return {{"cublas", {version_, "", ""}, alone, gemm}};
    // What several GPUs gain: the whole product by the first GPU alone.
    return {group_way("cublas", version_, buffers, blas_),
            {"cublas_one_gpu", {version_, "", ""}, alone, {}, true}};
  }

  void compute_reference(DeviceKernels& kernels, const PrepareRequest& request,
                         const std::map<std::string, DeviceAddress>& wide) override {
    const BlasGemm gemm = f64_gemm(request, wide);
    BlasGemm plain = gemm;
    plain.epilogue = BlasEpilogue::identity;
    blas_.front()->gemm(plain);
    if (gemm.epilogue != BlasEpilogue::identity) kernels.finish_f64(gemm);
  }

 private:
  std::vector<std::unique_ptr<Blas>> blas_;
  std::string version_;
};

class CublasLt : public ComputeLibrary {
 public:
  explicit CublasLt(Gpu& gpu) : lt_(gpu) {}

  std::vector<LibraryWay> ways(ProblemBuffers& buffers) override {
    const BlasGemm gemm = blas_gemm(buffers.request(), buffers.addresses());
    const std::vector<LtAlgorithm> algorithms = lt_.heuristics(gemm);
    if (algorithms.empty()) throw GpuError("its heuristics return no algorithm for this problem");
    const std::string library = "cuBLASLt " + lt_.version();
    std::vector<LibraryWay> ways;
    for (const LtAlgorithm& algorithm : algorithms) {
      const std::string text =
          fmt::format("heuristic {} of {}: {}", ways.size() + 1, algorithms.size(), algorithm.text);
      ways.push_back(
          {"cublaslt",
           {library, "", text},
           product_on_copies(buffers, gemm,
                             [&lt = lt_, algorithm](const BlasGemm& one) { lt.run(one, algorithm); }),
           gemm});
    }
    return ways;
  }

 private:
  BlasLt lt_;
};

class NcclCublas : public ComputeLibrary {
 public:
  NcclCublas(Gpu& gpu, GpuGroup& group) : blas_(blas_on_each(gpu, &group)) {}

  std::vector<LibraryWay> ways(ProblemBuffers& buffers) override {
    const std::string library = fmt::format(
        "NCCL {} + cuBLAS {}", buffers.slices()->group().nccl()->version(), blas_.front()->version());
    return {group_way("nccl_cublas", library, buffers, blas_)};
  }

 private:
  std::vector<std::unique_ptr<Blas>> blas_;
};

std::unique_ptr<ComputeLibrary> open_nccl_cublas(Gpu& gpu, GpuGroup* group) {
  if (group == nullptr) throw GpuError("it is for several GPUs");
  group->open_nccl();
  if (group->nccl() == nullptr) throw GpuError(group->why_no_nccl());
  return std::make_unique<NcclCublas>(gpu, *group);
}

using enum LibraryOperation;

/// Baselines are measured in this order. The names of all of them are in kLibraryBaselines, too.
const std::vector<KnownLibrary> kLibraries{
    {"cublas",
     Baseline::cublas,
     {gemm, batched_gemm, row_split_gemm},
     {gemm, batched_gemm, all_gather_gemm, gemm_reduce_scatter, row_split_gemm},
     [](Gpu& gpu, GpuGroup* group) -> std::unique_ptr<ComputeLibrary> {
       return std::make_unique<Cublas>(gpu, group);
     }},
    {"cublaslt",
     Baseline::lt,
     {gemm},
     {},
     [](Gpu& gpu, GpuGroup*) -> std::unique_ptr<ComputeLibrary> { return std::make_unique<CublasLt>(gpu); }},
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
