#include "measure/own_kernels.h"

#include <future>

#include "compile/cache.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

/// As typed_kernels.cu calls it.
const char* device_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return "Half";
    case ElementType::bf16:
      return "BFloat16";
    case ElementType::tf32:
      return "TF32";
    case ElementType::f32:
      return "float";
    case ElementType::f64:
      return "double";
    case ElementType::e4m3:
      return "E4M3";
    case ElementType::e5m2:
      return "E5M2";
    case ElementType::i8:
      return "i8";
    case ElementType::u8:
      return "u8";
    case ElementType::i16:
      return "i16";
    case ElementType::u16:
      return "u16";
    case ElementType::i32:
      return "int";
    case ElementType::u32:
      return "u32";
    case ElementType::i64:
      return "i64";
    case ElementType::u64:
      return "u64";
    case ElementType::boolean:
      break;
  }
  return "Bool";
}

}  // namespace

CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor,
                                  std::optional<ElementType> type) {
  CompileRequest request;
  request.source.name = source.file;
  request.source.text = source.text;
  request.options = {"--std=c++17", "--gpu-architecture=" + architecture_for(compute_major, compute_minor)};
  if (type) request.options.push_back(std::string("-DELEMENT=") + device_type(*type));
  request.kernel_expressions = {source.kernel};
  return request;
}

std::string cubin_of(const OwnSource& source, const DeviceFacts& device, std::optional<ElementType> type) {
  const CompileRequest request = compile_request_of(source, device.compute_major, device.compute_minor, type);
  const CubinCache cache = default_cubin_cache();
  if (const auto cached = cache.load(request.key())) return cached->binary->cubin;
  const Compiled compiled = compile_here(request);
  if (compiled.outcome != Outcome::ok) {
    throw GpuError("NVRTC cannot compile the harness' own kernels for this GPU:\n" + compiled.reason);
  }
  cache.store(compiled);
  return compiled.binary->cubin;
}

void compile_together(const std::vector<OwnKernels>& wanted, const DeviceFacts& device) {
  std::vector<std::future<std::string>> compiling;
  for (const OwnKernels& each : wanted)
    compiling.push_back(
        std::async(std::launch::async, [&] { return cubin_of(*each.source, device, each.type); }));
  for (auto& each : compiling) each.get();
}

}  // namespace tiletune
