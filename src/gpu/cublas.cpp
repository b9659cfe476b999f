#include "gpu/cublas.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <source_location>
#include <utility>

#include "base/library.h"

namespace tiletune {

namespace {

/// Throws GpuError for a type whose matrices cuBLAS does not multiply.
cudaDataType blas_data_type(ElementType type) {
  constexpr std::array<std::pair<ElementType, cudaDataType>, 9> kTypes{{{ElementType::f16, CUDA_R_16F},
                                                                        {ElementType::bf16, CUDA_R_16BF},
                                                                        {ElementType::tf32, CUDA_R_32F},
                                                                        {ElementType::f32, CUDA_R_32F},
                                                                        {ElementType::f64, CUDA_R_64F},
                                                                        {ElementType::e4m3, CUDA_R_8F_E4M3},
                                                                        {ElementType::e5m2, CUDA_R_8F_E5M2},
                                                                        {ElementType::i8, CUDA_R_8I},
                                                                        {ElementType::i32, CUDA_R_32I}}};
  for (const auto& [known, data_type] : kTypes)
    if (known == type) return data_type;
  throw GpuError(fmt::format("cuBLAS multiplies no matrices of {}", name(type)));
}

/// The type of alpha and beta: FP16, FP64 and integer products have scalars of their own type.
cudaDataType blas_scalar_type(const BlasGemm& gemm) {
  if (gemm.compute == ElementType::f64) return CUDA_R_64F;
  if (gemm.compute == ElementType::i32) return CUDA_R_32I;
  return gemm.compute == ElementType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

cublasOperation_t blas_operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

/// Pedantic FP32: no TF32, no emulation, whatever the environment asks for; TF32 for matrices of that type.
cublasComputeType_t blas_compute_type(const BlasGemm& gemm) {
  if (gemm.compute == ElementType::f64) return CUBLAS_COMPUTE_64F;
  if (gemm.compute == ElementType::i32) return CUBLAS_COMPUTE_32I;
  if (gemm.a == ElementType::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (gemm.compute == ElementType::f16) return CUBLAS_COMPUTE_16F;
  return gemm.a == ElementType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

/// Alpha or beta in the scalar type of a product, in the first bytes.
std::uint64_t blas_scalar(const BlasGemm& gemm, double value) {
  const auto bytes_of = [](auto number) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, &number, sizeof number);
    return bytes;
  };
  const cudaDataType type = blas_scalar_type(gemm);
  if (type == CUDA_R_64F) return bytes_of(value);
  if (type == CUDA_R_32I) return bytes_of(static_cast<std::int32_t>(value));
  const auto f32 = static_cast<float>(value);
  return type == CUDA_R_16F ? bytes_of(static_cast<_Float16>(f32)) : bytes_of(f32);
}

/// "13.0.2" of 130002
std::string blas_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// A library that is open.
template <typename Api, typename Handle>
struct OpenedBlas {
  Api api;
  DeviceBuffer workspace{std::size_t{32} << 20};
  Handle handle = nullptr;

  /// Throws what the library says of an error.
  void check(cublasStatus_t status, const char* call,
             std::source_location where = std::source_location::current()) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw GpuError(
        fmt::format("{}: {} ({}:{})", call, api.status_text(status), where.file_name(), where.line()));
  }
};

struct BlasApi {
  Library library{cuda_library_names("cublas")};

  TILETUNE_LOADED(create, cublasCreate);
  TILETUNE_LOADED(destroy, cublasDestroy);
  TILETUNE_LOADED(set_stream, cublasSetStream);
  TILETUNE_LOADED(set_workspace, cublasSetWorkspace);
  TILETUNE_LOADED(version, cublasGetVersion);
  // The header has another function of each name, for older programs.
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                         const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                         cudaDataType, int, cublasComputeType_t,
                         cublasGemmAlgo_t) = library.load("cublasGemmEx");
  cublasStatus_t (*gemm_strided_batched)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const void*, const void*, cudaDataType, int, long long, const void*,
                                         cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                         long long, int, cublasComputeType_t,
                                         cublasGemmAlgo_t) = library.load("cublasGemmStridedBatchedEx");
  TILETUNE_LOADED(status_text, cublasGetStatusString);
};

int as_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw GpuError(fmt::format("cuBLAS takes no dimension of {}", size));
  return static_cast<int>(size);
}

/// `function` answers 0, 1 and 2 of library_types.h: MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL.
std::string version_by(const Library& library, const char* function) {
  int (*property)(int, int*) = library.find(function);
  std::array<int, 3> parts{};
  for (int i = 0; i < 3; ++i) {
    if (property == nullptr || property(i, &parts.at(static_cast<std::size_t>(i))) != 0)
      return "unknown version";
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

LibraryFacts find_library(const char* name, const char* stem, const char* property) {
  try {
    const Library library(cuda_library_names(stem));
    return {name, std::filesystem::path(library.path()).lexically_normal().string(),
            version_by(library, property)};
  } catch (const GpuError&) {
    return {name, "", ""};
  }
}

struct LtApi {
  Library library{cuda_library_names("cublasLt")};

  TILETUNE_LOADED(create, cublasLtCreate);
  TILETUNE_LOADED(destroy, cublasLtDestroy);
  TILETUNE_LOADED(version, cublasLtGetVersion);
  TILETUNE_LOADED(status_text, cublasLtGetStatusString);
  TILETUNE_LOADED(product_create, cublasLtMatmulDescCreate);
  TILETUNE_LOADED(product_destroy, cublasLtMatmulDescDestroy);
  TILETUNE_LOADED(product_set, cublasLtMatmulDescSetAttribute);
  TILETUNE_LOADED(layout_create, cublasLtMatrixLayoutCreate);
  TILETUNE_LOADED(layout_destroy, cublasLtMatrixLayoutDestroy);
  TILETUNE_LOADED(preference_create, cublasLtMatmulPreferenceCreate);
  TILETUNE_LOADED(preference_destroy, cublasLtMatmulPreferenceDestroy);
  TILETUNE_LOADED(preference_set, cublasLtMatmulPreferenceSetAttribute);
  TILETUNE_LOADED(heuristics, cublasLtMatmulAlgoGetHeuristic);
  TILETUNE_LOADED(algorithm_get, cublasLtMatmulAlgoConfigGetAttribute);
  TILETUNE_LOADED(matmul, cublasLtMatmul);
};

/// What algorithms may do to the numbers.
struct LtNumerics {
  cublasComputeType_t compute_type;
  std::uint64_t allowed;  ///< cublasLtNumericalImplFlags_t
};

/// How a product may be computed, the stricter first.
std::vector<LtNumerics> lt_numerics(const BlasGemm& gemm) {
  constexpr std::uint64_t kEverything = ~std::uint64_t{0};
  constexpr std::uint64_t kFp32 = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA |
                                  CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                                  CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
  std::vector<LtNumerics> ways{{blas_compute_type(gemm), kEverything}};
  if (ways.front().compute_type == CUBLAS_COMPUTE_32F_PEDANTIC) ways.push_back({CUBLAS_COMPUTE_32F, kFp32});
  return ways;
}

/// cuBLASLt's own upper limit for what it can make use of.
std::uint32_t alignment_of(DeviceAddress address) {
  constexpr DeviceAddress kMost = 256;
  return static_cast<std::uint32_t>(std::min(kMost, address & (~address + 1)));
}

/// In the order of BlasEpilogue.
constexpr std::array kLtEpilogues{CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,
                                  CUBLASLT_EPILOGUE_GELU,      CUBLASLT_EPILOGUE_BIAS,
                                  CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};

template <typename Handle>
using LtHandle = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

}  // namespace

struct Blas::Impl : OpenedBlas<BlasApi, cublasHandle_t> {};

Blas::Blas(Gpu& gpu) : impl_(std::make_unique<Impl>()) {
  impl_->check(impl_->api.create(&impl_->handle), "cublasCreate");
  impl_->check(impl_->api.set_stream(impl_->handle, reinterpret_cast<cudaStream_t>(gpu.stream())),
               "cublasSetStream");
  impl_->check(impl_->api.set_workspace(impl_->handle, reinterpret_cast<void*>(impl_->workspace.address()),
                                        impl_->workspace.bytes()),
               "cublasSetWorkspace");
}

Blas::~Blas() { impl_->api.destroy(impl_->handle); }

bool Blas::computes(const BlasGemm& gemm) {
  const auto is_8_bit_float = [](ElementType type) {
    return type == ElementType::e4m3 || type == ElementType::e5m2;
  };
  return gemm.epilogue == BlasEpilogue::identity && !is_8_bit_float(gemm.a) && !is_8_bit_float(gemm.b);
}

void Blas::gemm(const BlasGemm& gemm) {
  const std::uint64_t alpha = blas_scalar(gemm, gemm.alpha);
  const std::uint64_t beta = blas_scalar(gemm, gemm.beta);
  const int m = as_int(gemm.m);
  const int n = as_int(gemm.n);
  const int k = as_int(gemm.k);
  const int lda = as_int(gemm.lda);
  const int ldb = as_int(gemm.ldb);
  const int ldc = as_int(gemm.ldc);
  const auto* a = reinterpret_cast<const void*>(gemm.a_address);
  const auto* b = reinterpret_cast<const void*>(gemm.b_address);
  auto* c = reinterpret_cast<void*>(gemm.c_address);
  // cuBLAS is column-major: a row-major C = A B is its C^T = B^T A^T.
  const cublasOperation_t on_b = blas_operation(gemm.b_transposed);
  const cublasOperation_t on_a = blas_operation(gemm.a_transposed);
  if (gemm.batch == 1) {
    return impl_->check(impl_->api.gemm(impl_->handle, on_b, on_a, n, m, k, &alpha, b, blas_data_type(gemm.b),
                                        ldb, a, blas_data_type(gemm.a), lda, &beta, c, blas_data_type(gemm.c),
                                        ldc, blas_compute_type(gemm), CUBLAS_GEMM_DEFAULT),
                        "cublasGemmEx");
  }
  impl_->check(
      impl_->api.gemm_strided_batched(impl_->handle, on_b, on_a, n, m, k, &alpha, b, blas_data_type(gemm.b),
                                      ldb, gemm.k * gemm.n, a, blas_data_type(gemm.a), lda, gemm.m * gemm.k,
                                      &beta, c, blas_data_type(gemm.c), ldc, gemm.m * gemm.n,
                                      as_int(gemm.batch), blas_compute_type(gemm), CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}

std::string Blas::version() const {
  int version = 0;
  impl_->check(impl_->api.version(impl_->handle, &version), "cublasGetVersion");
  return blas_version_text(static_cast<std::size_t>(version));
}

struct BlasLt::Impl : OpenedBlas<LtApi, cublasLtHandle_t> {
  /// A product as cuBLASLt takes it: column-major, C^T = B^T A^T.
  struct Product {
    LtHandle<cublasLtMatmulDesc_t> operation;
    LtHandle<cublasLtMatrixLayout_t> b, a, c;
  };

  cudaStream_t stream = nullptr;

  LtHandle<cublasLtMatrixLayout_t> layout(ElementType type, std::int64_t rows, std::int64_t columns,
                                          std::int64_t leading) const {
    cublasLtMatrixLayout_t made = nullptr;
    check(api.layout_create(&made, blas_data_type(type), static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns), leading),
          "cublasLtMatrixLayoutCreate");
    return {made, api.layout_destroy};
  }

  Product product(const BlasGemm& gemm, int compute_type) const {
    cublasLtMatmulDesc_t operation = nullptr;
    check(api.product_create(&operation, static_cast<cublasComputeType_t>(compute_type),
                             blas_scalar_type(gemm)),
          "cublasLtMatmulDescCreate");
    LtHandle<cublasLtMatmulDesc_t> owned(operation, api.product_destroy);
    set(operation, CUBLASLT_MATMUL_DESC_TRANSA, blas_operation(gemm.b_transposed));
    set(operation, CUBLASLT_MATMUL_DESC_TRANSB, blas_operation(gemm.a_transposed));
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, kLtEpilogues.at(static_cast<std::size_t>(gemm.epilogue)));
    if (has_bias(gemm.epilogue)) {
      set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias_address);
      set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, blas_data_type(gemm.c));
    }
    // As tensor cores sum by themselves; without it cuBLASLt adds partial sums in FP32 outside of them.
    if (gemm.a == ElementType::e4m3 || gemm.a == ElementType::e5m2)
      set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    const auto stored = [&](ElementType type, bool transposed, std::int64_t rows, std::int64_t columns,
                            std::int64_t leading) {
      return transposed ? layout(type, columns, rows, leading) : layout(type, rows, columns, leading);
    };
    return {std::move(owned), stored(gemm.b, gemm.b_transposed, gemm.n, gemm.k, gemm.ldb),
            stored(gemm.a, gemm.a_transposed, gemm.k, gemm.m, gemm.lda),
            layout(gemm.c, gemm.n, gemm.m, gemm.ldc)};
  }

  template <typename T>
  void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) const {
    check(api.product_set(operation, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }

  template <typename T>
  void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
              T value) const {
    check(api.preference_set(preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }

  LtHandle<cublasLtMatmulPreference_t> preference(const BlasGemm& gemm, std::uint64_t allowed) const {
    cublasLtMatmulPreference_t made = nullptr;
    check(api.preference_create(&made), "cublasLtMatmulPreferenceCreate");
    LtHandle<cublasLtMatmulPreference_t> owned(made, api.preference_destroy);
    prefer<std::uint64_t>(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace.bytes());
    prefer(made, CUBLASLT_MATMUL_PREF_IMPL_MASK, allowed);
    prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(gemm.b_address));
    prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(gemm.a_address));
    prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(gemm.c_address));
    prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(gemm.c_address));
    return owned;
  }

  template <typename T>
  T configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    T value{};
    std::size_t written = 0;
    check(api.algorithm_get(&algorithm, attribute, &value, sizeof value, &written),
          "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
  }

  std::string describe(const cublasLtMatmulAlgo_t& algorithm) const;
  std::vector<LtAlgorithm> heuristics(const BlasGemm& gemm, const LtNumerics& numerics, int most) const;
};

std::string BlasLt::Impl::describe(const cublasLtMatmulAlgo_t& algorithm) const {
  const auto named = [](const char* what, std::uint32_t id, std::string_view name) {
    if (id == 0) return std::string();
    return name.empty() ? fmt::format(", {} no. {}", what, id) : fmt::format(", {} {}", what, name);
  };
  const auto tile = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
  const auto stages = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  const auto cluster = configured<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  const auto swizzle = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  const auto option = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  std::string text = fmt::format("algo {}", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID));
  text += named("tile", tile, lt_tile_name(tile));
  text += named("stages", stages, lt_stages_name(stages));
  text += named("cluster", cluster, lt_cluster_name(cluster));
  text += fmt::format(", split-k {}", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
  if (swizzle != 0) text += fmt::format(", swizzle {}", swizzle);
  if (option != 0) text += fmt::format(", option {}", option);
  return text;
}

std::vector<LtAlgorithm> BlasLt::Impl::heuristics(const BlasGemm& gemm, const LtNumerics& numerics,
                                                  int most) const {
  const Product form = product(gemm, numerics.compute_type);
  const auto preferences = preference(gemm, numerics.allowed);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int found = 0;
  const cublasStatus_t status =
      api.heuristics(handle, form.operation.get(), form.b.get(), form.a.get(), form.c.get(), form.c.get(),
                     preferences.get(), most, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  results.resize(static_cast<std::size_t>(found));
  std::vector<LtAlgorithm> algorithms;
  for (const auto& result : results) {
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    LtAlgorithm algorithm;
    static_assert(sizeof result.algo == sizeof algorithm.descriptor);
    std::memcpy(algorithm.descriptor.data(), &result.algo, sizeof result.algo);
    algorithm.compute_type = numerics.compute_type;
    algorithm.text = describe(result.algo);
    algorithms.push_back(std::move(algorithm));
  }
  return algorithms;
}

BlasLt::BlasLt(Gpu& gpu) : impl_(std::make_unique<Impl>()) {
  impl_->stream = reinterpret_cast<cudaStream_t>(gpu.stream());
  impl_->check(impl_->api.create(&impl_->handle), "cublasLtCreate");
}

BlasLt::~BlasLt() { impl_->api.destroy(impl_->handle); }

std::vector<LtAlgorithm> BlasLt::heuristics(const BlasGemm& gemm, int most) {
  for (const LtNumerics& numerics : lt_numerics(gemm)) {
    auto algorithms = impl_->heuristics(gemm, numerics, most);
    if (!algorithms.empty()) return algorithms;
  }
  return {};
}

void BlasLt::run(const BlasGemm& gemm, const LtAlgorithm& algorithm) {
  const Impl::Product form = impl_->product(gemm, algorithm.compute_type);
  const std::uint64_t alpha = blas_scalar(gemm, gemm.alpha);
  const std::uint64_t beta = blas_scalar(gemm, gemm.beta);
  cublasLtMatmulAlgo_t descriptor;
  std::memcpy(&descriptor, algorithm.descriptor.data(), sizeof descriptor);
  auto* const c = reinterpret_cast<void*>(gemm.c_address);
  impl_->check(
      impl_->api.matmul(impl_->handle, form.operation.get(), &alpha,
                        reinterpret_cast<const void*>(gemm.b_address), form.b.get(),
                        reinterpret_cast<const void*>(gemm.a_address), form.a.get(), &beta, c, form.c.get(),
                        c, form.c.get(), &descriptor, reinterpret_cast<void*>(impl_->workspace.address()),
                        impl_->workspace.bytes(), impl_->stream),
      "cublasLtMatmul");
}

std::string BlasLt::version() const { return blas_version_text(impl_->api.version()); }

std::vector<LibraryFacts> find_libraries() {
  return {find_library("cuBLAS", "cublas", "cublasGetProperty"),
          find_library("cuBLASLt", "cublasLt", "cublasLtGetProperty")};
}

}  // namespace tiletune
