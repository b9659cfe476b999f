#include "compile/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/hash.h"
#include "base/text.h"
#include "compile/compiled_file.h"
#include "compile/nvrtc_program.h"
#include "compile/pool.h"
#include "compile/standard_headers.h"

namespace tiletune {

std::string CompileRequest::key() const {
  Hasher hasher;
  hasher.add("cubin 4").add(nvrtc_version()).add(standard_headers_hash()).add(source.hash());
  if (is_ptx(source.name)) hasher.add(nvjitlink_version());
  for (const std::string& expression : kernel_expressions) hasher.add(expression);
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
  for (const KernelLaunch& launch : instance.launches)
    request.kernel_expressions.push_back(launch.kernel_expression);
  request.options = {"--gpu-architecture=" + architecture};
  if (!instance.compiled_file.empty()) {
    request.source.name = instance.compiled_file;
    std::vector<std::string> options;
    append_options(options, instance.compile_options);
    append_options(options, policy.options);
    std::copy_if(options.begin(), options.end(), std::back_inserter(request.options),
                 [&](const std::string& option) {
                   return is_ptx(request.source.name) && is_assembler_option(option);
                 });
    return request;
  }
  append_options(request.options,
                 {"--std=c++17", "--device-as-default-execution-space",
                  "--modify-stack-limit=false"});  // which would change the limit of the whole process
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

}  // namespace tiletune
