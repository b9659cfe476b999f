#include "measure/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/array_files.h"

namespace tiletune {

namespace {

template <typename Pairs>
auto find_named(const Pairs& pairs, const char* name) {
  return std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
}

template <typename Pairs>
auto named(const Pairs& pairs, const char* name) {
  const auto found = find_named(pairs, name);
  if (found == pairs.end()) throw GpuError(fmt::format("the problem has no '{}'", name));
  return found->second;
}

template <typename Pairs, typename Value>
Value named_or(const Pairs& pairs, const char* name, Value fallback) {
  const auto found = find_named(pairs, name);
  return found == pairs.end() ? fallback : found->second;
}

BlasType blas_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return BlasType::f16;
    case ElementType::bf16:
      return BlasType::bf16;
    case ElementType::f64:
      return BlasType::f64;
    default:
      return BlasType::f32;
  }
}

const Workload::SizedBuffer& buffer_of(const PrepareRequest& request, const std::string& name) {
  for (const auto& buffer : request.workload.buffers) {
    if (buffer.name == name) return buffer;
  }
  throw GpuError(fmt::format("the operation has no buffer '{}'", name));
}

using Addresses = std::map<std::string, DeviceAddress>;
using Buffers = std::map<std::string, DeviceBuffer>;

/// FP64 copies of all floating-point buffers and plain copies of the others; outputs start at zero.
Buffers widened_copies(Gpu& gpu, DeviceKernels& kernels, const PrepareRequest& request,
                       const Addresses& addresses) {
  Buffers copies;
  for (const auto& buffer : request.workload.buffers) {
    const auto elements = static_cast<std::size_t>(buffer.elements);
    const std::size_t bytes =
        elements * (is_floating(buffer.type) ? sizeof(double) : size_bytes(buffer.type));
    DeviceBuffer copy(std::max<std::size_t>(bytes, 1));
    if (buffer.role == BufferRole::out) {
      gpu.fill8(copy.address(), 0, copy.bytes());
    } else if (is_floating(buffer.type)) {
      kernels.widen(buffer.type, addresses.at(buffer.name), copy.address(), elements);
    } else {
      gpu.copy_on_device(copy.address(), addresses.at(buffer.name), bytes);
    }
    copies.emplace(buffer.name, std::move(copy));
  }
  return copies;
}

Addresses addresses_of(const Buffers& buffers) {
  Addresses addresses;
  for (const auto& [name, buffer] : buffers) addresses[name] = buffer.address();
  return addresses;
}

void run_gemm(DeviceKernels& kernels, Blas* blas, const PrepareRequest& request, const Addresses& wide) {
  BlasGemm gemm = blas_gemm(request, wide);
  gemm.a = gemm.b = gemm.c = gemm.compute = BlasType::f64;
  if (blas != nullptr) {
    blas->gemm(gemm);
  } else {
    const auto bytes = [](std::int64_t elements) {
      return static_cast<DeviceAddress>(elements) * sizeof(double);
    };
    for (std::int64_t i = 0; i < gemm.batch; ++i) {
      kernels.gemm_f64(gemm);
      gemm.a_address += bytes(gemm.m * gemm.k);
      gemm.b_address += bytes(gemm.k * gemm.n);
      gemm.c_address += bytes(gemm.m * gemm.n);
    }
  }
}

}  // namespace

void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const Addresses& addresses) {
  const Kernel kernel(launch.cubin, launch.call.symbol);
  const ArgumentPack pack(launch.call.arguments, addresses);
  gpu.launch(kernel, launch.call.shape, pack.pointers());
  gpu.synchronize();
}

bool has_blas_types(const PrepareRequest& request) {
  using enum ElementType;
  constexpr std::array kTypes{f16, bf16, f32, f64};
  return std::all_of(request.workload.buffers.begin(), request.workload.buffers.end(),
                     [&](const auto& buffer) {
                       return std::find(kTypes.begin(), kTypes.end(), buffer.type) != kTypes.end();
                     });
}

BlasGemm blas_gemm(const PrepareRequest& request, const Addresses& addresses) {
  BlasGemm gemm;
  gemm.batch = named_or(request.dimensions, "batch", 1);
  gemm.m = named(request.dimensions, "M");
  gemm.n = named(request.dimensions, "N");
  gemm.k = named(request.dimensions, "K");
  gemm.alpha = named(request.scalars, "alpha");
  gemm.beta = named(request.scalars, "beta");
  gemm.a = blas_type(buffer_of(request, "A").type);
  gemm.b = blas_type(buffer_of(request, "B").type);
  gemm.c = blas_type(buffer_of(request, "C").type);
  gemm.compute = blas_type(request.accumulator);
  gemm.a_address = addresses.at("A");
  gemm.b_address = addresses.at("B");
  gemm.c_address = addresses.at("C");
  gemm.lda = named_or(request.dimensions, "lda", gemm.k);
  gemm.ldb = named_or(request.dimensions, "ldb", gemm.n);
  gemm.ldc = named_or(request.dimensions, "ldc", gemm.n);
  return gemm;
}

Buffers compute_reference(Gpu& gpu, DeviceKernels& kernels, Blas* blas, const PrepareRequest& request,
                          const Addresses& addresses) {
  Buffers expected;
  for (const auto& buffer : request.workload.buffers)
    if (buffer.expected) expected.emplace(buffer.name, load_expected(gpu, buffer));
  if (!expected.empty()) return expected;
  Buffers copies = widened_copies(gpu, kernels, request, addresses);
  if (request.reference_library) {
    run_gemm(kernels, blas, request, addresses_of(copies));
  } else {
    if (!request.reference)
      throw GpuError("the problem has neither a reference kernel nor a library that computes it");
    run_operation_kernel(gpu, *request.reference, addresses_of(copies));
  }
  gpu.synchronize();
  Buffers outputs;
  for (const auto& buffer : request.workload.buffers) {
    if (buffer.role != BufferRole::in) outputs.emplace(buffer.name, std::move(copies.at(buffer.name)));
  }
  return outputs;
}

}  // namespace tiletune
