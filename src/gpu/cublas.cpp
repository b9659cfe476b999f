#include "gpu/cublas.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <array>
#include <limits>
#include <source_location>
#include <string>
#include <vector>

#include "gpu/library.h"

namespace tiletune {

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

std::vector<std::string> library_names() {
  std::vector<std::string> names{"libcublas.so.13", "libcublas.so.12"};
  for (const std::string folder : {TILETUNE_CUDA_LIB_FOLDER, "/usr/local/cuda/lib64"}) {
    names.push_back(folder + "/libcublas.so.13");
    names.push_back(folder + "/libcublas.so.12");
  }
  return names;
}

struct BlasApi {
  cublasStatus_t (*create)(cublasHandle_t*);
  cublasStatus_t (*destroy)(cublasHandle_t);
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
  cublasStatus_t (*set_workspace)(cublasHandle_t, void*, std::size_t);
  cublasStatus_t (*version)(cublasHandle_t, int*);
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                         const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                         cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  const char* (*status_text)(cublasStatus_t);
};

BlasApi load_blas_api() {
  const Library library(library_names());
  BlasApi api{};
  library.load(api.create, "cublasCreate_v2");
  library.load(api.destroy, "cublasDestroy_v2");
  library.load(api.set_stream, "cublasSetStream_v2");
  library.load(api.set_workspace, "cublasSetWorkspace_v2");
  library.load(api.version, "cublasGetVersion_v2");
  library.load(api.gemm, "cublasGemmEx");
  library.load(api.status_text, "cublasGetStatusString");
  return api;
}

cudaDataType data_type(BlasType type) {
  switch (type) {
    case BlasType::f16:
      return CUDA_R_16F;
    case BlasType::bf16:
      return CUDA_R_16BF;
    case BlasType::f32:
      return CUDA_R_32F;
    case BlasType::f64:
      return CUDA_R_64F;
  }
  return CUDA_R_32F;
}

/// Pedantic FP32: no TF32, no emulation, whatever the environment asks for.
cublasComputeType_t compute_type(const BlasGemm& gemm) {
  if (gemm.compute == BlasType::f64) return CUBLAS_COMPUTE_64F;
  if (gemm.compute == BlasType::f16) return CUBLAS_COMPUTE_16F;
  return gemm.a == BlasType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

int as_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw GpuError(fmt::format("cuBLAS takes no dimension of {}", size));
  return static_cast<int>(size);
}

}  // namespace

struct Blas::Impl {
  BlasApi api = load_blas_api();
  DeviceBuffer workspace{kWorkspaceBytes};
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

void Blas::gemm(const BlasGemm& gemm) {
  const auto alpha32 = static_cast<float>(gemm.alpha);
  const auto beta32 = static_cast<float>(gemm.beta);
  // IEEE half of alpha and beta, for products computed in FP16.
  const auto alpha16 = static_cast<_Float16>(alpha32);
  const auto beta16 = static_cast<_Float16>(beta32);
  const void* alpha = &alpha32;
  const void* beta = &beta32;
  if (gemm.compute == BlasType::f64) {
    alpha = &gemm.alpha;
    beta = &gemm.beta;
  } else if (gemm.compute == BlasType::f16) {
    alpha = &alpha16;
    beta = &beta16;
  }
  const int m = as_int(gemm.m);
  const int n = as_int(gemm.n);
  const int k = as_int(gemm.k);
  // cuBLAS is column-major: a row-major C = A B is its C^T = B^T A^T.
  impl_->check(impl_->api.gemm(impl_->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, alpha,
                               reinterpret_cast<const void*>(gemm.b_address), data_type(gemm.b), n,
                               reinterpret_cast<const void*>(gemm.a_address), data_type(gemm.a), k, beta,
                               reinterpret_cast<void*>(gemm.c_address), data_type(gemm.c), n,
                               compute_type(gemm), CUBLAS_GEMM_DEFAULT),
               "cublasGemmEx");
}

std::string Blas::version() const {
  int version = 0;
  impl_->check(impl_->api.version(impl_->handle, &version), "cublasGetVersion");
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace tiletune
