#include "gpu/cublas.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>
#include <source_location>
#include <string>

#include "base/error.h"
#include "base/library.h"
#include "gpu/blas_types.h"

namespace tiletune {

namespace {

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

}  // namespace

struct Blas::Impl {
  BlasApi api;
  DeviceBuffer workspace{kBlasWorkspaceBytes};
  cublasHandle_t handle = nullptr;

  void check(cublasStatus_t status, const char* call,
             std::source_location where = std::source_location::current()) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw GpuError(
        fmt::format("{}: {} ({}:{})", call, api.status_text(status), where.file_name(), where.line()));
  }
};

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
  const BlasScalar alpha(gemm, gemm.alpha);
  const BlasScalar beta(gemm, gemm.beta);
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
    return impl_->check(
        impl_->api.gemm(impl_->handle, on_b, on_a, n, m, k, alpha.address(), b, blas_data_type(gemm.b), ldb,
                        a, blas_data_type(gemm.a), lda, beta.address(), c, blas_data_type(gemm.c), ldc,
                        blas_compute_type(gemm), CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  }
  impl_->check(impl_->api.gemm_strided_batched(
                   impl_->handle, on_b, on_a, n, m, k, alpha.address(), b, blas_data_type(gemm.b), ldb,
                   gemm.k * gemm.n, a, blas_data_type(gemm.a), lda, gemm.m * gemm.k, beta.address(), c,
                   blas_data_type(gemm.c), ldc, gemm.m * gemm.n, as_int(gemm.batch), blas_compute_type(gemm),
                   CUBLAS_GEMM_DEFAULT),
               "cublasGemmStridedBatchedEx");
}

std::string Blas::version() const {
  int version = 0;
  impl_->check(impl_->api.version(impl_->handle, &version), "cublasGetVersion");
  return blas_version_text(static_cast<std::size_t>(version));
}

LibraryFacts find_cublas() { return find_library("cuBLAS", "cublas", "cublasGetProperty"); }

LibraryFacts find_cublaslt() { return find_library("cuBLASLt", "cublasLt", "cublasLtGetProperty"); }

}  // namespace tiletune
