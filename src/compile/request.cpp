#include "compile/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "compile/nvrtc_program.h"
#include "compile/options.h"
#include "compile/pool.h"

namespace tiletune {

std::string CompileRequest::key() const {
  Hasher hasher;
  hasher.add("cubin 2").add(nvrtc_version()).add(source.hash()).add(kernel_expression);
  for (const std::string& option : options) hasher.add(option);
  return hasher.hex();
}

std::string architecture_for(int major, int minor) {
  // The architecture-specific code ("a") of compute capability 9.0 and later runs on exactly that capability
  // and may use all its instructions, such as wgmma.
  constexpr int kFirstWithSpecific = 90;
  const int wanted = 10 * major + minor;
  const std::vector<int>& supported = supported_architectures();
  if (std::find(supported.begin(), supported.end(), wanted) == supported.end()) {
    std::vector<std::string> known;
    known.reserve(supported.size());
    for (const int one : supported) known.push_back(fmt::format("{}.{}", one / 10, one % 10));
    throw UserError(fmt::format("NVRTC {} cannot generate code for compute capability {}.{}", nvrtc_version(),
                                major, minor),
                    fmt::format("It knows {}. Build tiletune with a CUDA toolkit that supports this GPU.",
                                join(known, ", ")));
  }
  return fmt::format("sm_{}{}", wanted, wanted >= kFirstWithSpecific ? "a" : "");
}

CompileRequest make_compile_request(const CompilePolicy& policy, const KernelSource& source,
                                    const Instance& instance, const std::string& architecture) {
  CompileRequest request;
  request.source = source;
  request.kernel_expression = instance.kernel_expression;
  request.options = {
      "--gpu-architecture=" + architecture, "--std=c++17", "--device-as-default-execution-space",
      "--modify-stack-limit=false",  // it would change the limit of the whole process
  };
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

}  // namespace tiletune
