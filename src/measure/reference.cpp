#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/argument_pack.h"
#include "measure/input_values.h"
#include "measure/libraries.h"

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

BlasEpilogue blas_epilogue(const std::string& option) {
  constexpr std::array<std::string_view, 6> kNames{"identity", "relu",      "gelu",
                                                   "bias",     "bias_relu", "bias_gelu"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), option);
  if (found == kNames.end()) throw GpuError(fmt::format("no library has the epilogue '{}'", option));
  return static_cast<BlasEpilogue>(found - kNames.begin());
}

const Workload::SizedBuffer& buffer_of(const PrepareRequest& request, const std::string& name) {
  for (const auto& buffer : request.workload.buffers) {
    if (buffer.name == name) return buffer;
  }
  throw GpuError(fmt::format("the operation has no buffer '{}'", name));
}

using Addresses = std::map<std::string, DeviceAddress>;
using Buffers = std::map<std::string, DeviceBuffer>;

/// What a library reads and computes is FP64 throughout, a kernel's own integers stay integers.
bool is_widened(const PrepareRequest& request, ElementType type) {
  return is_floating(type) || request.reference_library;
}

/// FP64 copies of all buffers that are widened and plain copies of the others; outputs start at zero.
Buffers widened_copies(Gpu& gpu, DeviceKernels& kernels, const PrepareRequest& request,
                       const Addresses& addresses) {
  Buffers copies;
  for (const auto& buffer : request.workload.buffers) {
    const auto elements = static_cast<std::size_t>(buffer.elements);
    const std::size_t bytes =
        elements * (is_widened(request, buffer.type) ? sizeof(double) : size_bytes(buffer.type));
    DeviceBuffer copy(std::max<std::size_t>(bytes, 1));
    if (buffer.role == BufferRole::out) {
      gpu.fill8(copy.address(), 0, copy.bytes());
    } else if (is_widened(request, buffer.type)) {
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

/// By the harness' own kernels.
void run_gemm(DeviceKernels& kernels, const PrepareRequest& request, const Addresses& wide) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<DeviceAddress>(elements) * sizeof(double);
  };
  BlasGemm gemm = f64_gemm(request, wide);
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    kernels.gemm_f64(gemm);
    gemm.a_address += bytes(gemm.m * gemm.k);
    gemm.b_address += bytes(gemm.k * gemm.n);
    gemm.c_address += bytes(gemm.m * gemm.n);
  }
  if (gemm.epilogue != BlasEpilogue::identity) kernels.finish_f64(gemm);
}

}  // namespace

void run_operation_kernel(Gpu& gpu, const PrepareRequest::OperationLaunch& launch,
                          const Addresses& addresses) {
  const Kernel kernel(launch.cubin, launch.launch.symbol);
  const ArgumentPack pack(launch.launch.arguments, addresses);
  gpu.launch(kernel, launch.launch, pack.pointers());
  gpu.synchronize();
}

BlasGemm blas_gemm(const PrepareRequest& request, const Addresses& addresses) {
  BlasGemm gemm;
  gemm.batch = named_or(request.dimensions, "batch", 1);
  gemm.m = named(request.dimensions, "M");
  gemm.n = named(request.dimensions, "N");
  gemm.k = named(request.dimensions, "K");
  gemm.alpha = named_or(request.scalars, "alpha", 1.0);
  gemm.beta = named_or(request.scalars, "beta", 0.0);
  gemm.a = buffer_of(request, "A").type;
  gemm.b = buffer_of(request, "B").type;
  gemm.c = buffer_of(request, "C").type;
  gemm.compute = request.accumulator;
  gemm.a_address = addresses.at("A");
  gemm.b_address = addresses.at("B");
  gemm.c_address = addresses.at("C");
  const std::string layout = named_or(request.options, "layout", std::string("nn"));
  gemm.a_transposed = layout.starts_with('t');
  gemm.b_transposed = layout.ends_with('t');
  gemm.epilogue = blas_epilogue(named_or(request.options, "epilogue", std::string("identity")));
  if (has_bias(gemm.epilogue)) gemm.bias_address = addresses.at("bias");
  gemm.lda = named_or(request.dimensions, "lda", gemm.a_transposed ? gemm.m : gemm.k);
  gemm.ldb = named_or(request.dimensions, "ldb", gemm.b_transposed ? gemm.k : gemm.n);
  gemm.ldc = named_or(request.dimensions, "ldc", gemm.n);
  return gemm;
}

BlasGemm f64_gemm(const PrepareRequest& request, const Addresses& wide) {
  BlasGemm gemm = blas_gemm(request, wide);
  gemm.a = gemm.b = gemm.c = gemm.compute = ElementType::f64;
  return gemm;
}

Buffers compute_reference(Gpu& gpu, DeviceKernels& kernels, ComputeLibrary* library,
                          const PrepareRequest& request, const Addresses& addresses) {
  Buffers expected;
  for (const auto& buffer : request.workload.buffers)
    if (buffer.expected) expected.emplace(buffer.name, load_expected(gpu, buffer));
  if (!expected.empty()) return expected;
  Buffers copies = widened_copies(gpu, kernels, request, addresses);
  if (library != nullptr) {
    library->compute_reference(kernels, request, addresses_of(copies));
  } else if (request.reference_library) {
    run_gemm(kernels, request, addresses_of(copies));
  } else {
    if (!request.reference)
      throw GpuError("the problem has neither a reference kernel nor a library that computes it");
    run_operation_kernel(gpu, *request.reference, addresses_of(copies));
  }
  gpu.synchronize();
  Buffers outputs;
  for (const auto& buffer : request.workload.buffers) {
    if (buffer.role == BufferRole::in) continue;
    DeviceBuffer& computed = copies.at(buffer.name);
    if (is_widened(request, buffer.type) && !is_floating(buffer.type)) {
      const auto elements = static_cast<std::uint64_t>(buffer.elements);
      DeviceBuffer integers(std::max<std::size_t>(elements * size_bytes(buffer.type), 1));
      kernels.narrow(buffer.type, computed.address(), integers.address(), elements);
      gpu.synchronize();
      computed = std::move(integers);
    }
    outputs.emplace(buffer.name, std::move(computed));
  }
  return outputs;
}

}  // namespace tiletune
