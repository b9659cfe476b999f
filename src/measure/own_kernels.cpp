#include "measure/own_kernels.h"

#include "compile/cache.h"
#include "compile/pool.h"

namespace tiletune {

CompileRequest compile_request_of(const OwnSource& source, int compute_major, int compute_minor) {
  CompileRequest request;
  request.source.name = source.file;
  request.source.text = source.text;
  request.options = {"--std=c++17", "--gpu-architecture=" + architecture_for(compute_major, compute_minor)};
  request.kernel_expression = source.kernel;
  return request;
}

std::string cubin_of(const OwnSource& source, const DeviceFacts& device) {
  const CompileRequest request = compile_request_of(source, device.compute_major, device.compute_minor);
  const CubinCache cache = default_cubin_cache();
  if (const auto cached = cache.load(request.key())) return cached->binary->cubin;
  const Compiled compiled = compile_here(request);
  if (compiled.outcome != Outcome::ok) {
    throw GpuError("NVRTC cannot compile the harness' own kernels for this GPU:\n" + compiled.reason);
  }
  cache.store(compiled);
  return compiled.binary->cubin;
}

}  // namespace tiletune
