#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "measure/argument_pack.h"
#include "measure/input_values.h"
#include "measure/libraries.h"

namespace tiletune {

namespace {

template <typename Value>
std::optional<Value> find(const std::vector<std::pair<std::string, Value>>& pairs, std::string_view name) {
  for (const auto& [known, value] : pairs)
    if (known == name) return value;
  return std::nullopt;
}

BlasEpilogue blas_epilogue(const std::string& option) {
  constexpr std::array<std::string_view, 6> kNames{"identity", "relu",      "gelu",
                                                   "bias",     "bias_relu", "bias_gelu"};
  const auto* const found = std::find(kNames.begin(), kNames.end(), option);
  if (found == kNames.end()) throw GpuError(fmt::format("no library has the epilogue '{}'", option));
  return static_cast<BlasEpilogue>(found - kNames.begin());
}

const Workload::SizedBuffer& buffer_of(const PrepareRequest& request, const std::string& name) {
  for (const auto& buffer : request.workload.buffers)
    if (buffer.name == name) return buffer;
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
  if (gemm.epilogue != BlasEpilogue::identity) kernels.finish_f64(f64_gemm(request, wide));
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
  const auto size = [&](const char* dimension) {
    if (const auto found = find(request.dimensions, dimension)) return *found;
    throw GpuError(fmt::format("the problem has no '{}'", dimension));
  };
  BlasGemm gemm;
  gemm.batch = find(request.dimensions, "batch").value_or(1);
  gemm.m = size("M");
  gemm.n = size("N");
  gemm.k = size("K");
  gemm.alpha = find(request.scalars, "alpha").value_or(1);
  gemm.beta = find(request.scalars, "beta").value_or(0);
  gemm.a = buffer_of(request, "A").type;
  gemm.b = buffer_of(request, "B").type;
  gemm.c = buffer_of(request, "C").type;
  gemm.compute = request.accumulator;
  gemm.a_address = addresses.at("A");
  gemm.b_address = addresses.at("B");
  gemm.c_address = addresses.at("C");
  const std::string layout = find(request.options, "layout").value_or("nn");
  gemm.a_transposed = layout.starts_with('t');
  gemm.b_transposed = layout.ends_with('t');
  gemm.epilogue = blas_epilogue(find(request.options, "epilogue").value_or("identity"));
  if (has_bias(gemm.epilogue)) gemm.bias_address = addresses.at("bias");
  gemm.lda = find(request.dimensions, "lda").value_or(gemm.a_transposed ? gemm.m : gemm.k);
  gemm.ldb = find(request.dimensions, "ldb").value_or(gemm.b_transposed ? gemm.k : gemm.n);
  gemm.ldc = find(request.dimensions, "ldc").value_or(gemm.n);
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
