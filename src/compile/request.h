#pragma once

#include <string>
#include <vector>

#include "compile/source.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What determines a binary, together with the files that its kernel includes.
struct CompileRequest {
  KernelSource source;
  std::vector<std::string> options;  ///< NVRTC's, all but where this machine keeps the CUDA headers
  /// "sgemm<128, 64>", or the plain name of a kernel that is not a template; at least one
  std::vector<std::string> kernel_expressions;

  /// Hash of source, options, expressions and the NVRTC version, under which a result lies in the cache
  /// together with its dependencies.
  std::string key() const;

  static constexpr auto fields() {
    using R = CompileRequest;
    return fields_of<&R::source, &R::options, &R::kernel_expressions>();
  }
};

/// "sm_90a" for compute capability 9.0, "sm_80" for 8.0: the architecture whose cubin the GPU runs with all
/// its instructions. Throws UserError when this NVRTC does not support it.
std::string architecture_for(int major, int minor);

/// Builds the request of one configuration. Options: the project's own, then the template's, then the
/// config's, then the defines. For a file of compiled kernels only those of the assembler are left.
CompileRequest make_compile_request(const CompilePolicy& policy, const KernelSource& source,
                                    const Instance& instance, const std::string& architecture);

/// Checks options that a person wrote against the NVRTC options known to be harmless (no file or include
/// options). Throws UserError naming the option and `where`.
void check_compile_options(const std::vector<std::string>& options, const Where& where);
void check_compile_option(const std::string& option, const Where& where);
/// Whether the option is about assembling PTX: --maxrregcount or --ptxas-options.
bool is_assembler_option(const std::string& option);

/// Appends compile options; one that says again what an earlier one said replaces it, as NVRTC would do with
/// a warning. Those that only make the assembler print figures are left out: figures are read from the cubin.
void append_options(std::vector<std::string>& options, const std::vector<std::string>& more);

}  // namespace tiletune
