#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// A kernel's text with every file of its own that it includes, transitively, each under the name used.
struct SourceBundle {
  struct File {
    std::string name;
    std::string text;
  };
  File main;
  std::vector<File> headers;

  /// Over names and texts.
  std::string hash() const;
};

/// Reads a template's source and what it includes from the template's folder, kernel_templates/common and the
/// config's folder. Throws UserError (file and line of the #include, where it was looked for) when one is
/// missing, cannot be followed or, unless that is allowed, leaves those folders.
SourceBundle read_sources(const std::filesystem::path& source,
                          const std::vector<std::filesystem::path>& include_folders,
                          bool allow_outside = false);

/// Everything that determines a binary.
struct CompileRequest {
  SourceBundle sources;
  std::vector<std::string> options;  ///< NVRTC's, all but where this machine keeps the CUDA headers
  std::string kernel_expression;     ///< "sgemm<128, 64>", or the plain name of a kernel that is no template

  /// Hash of sources, options, expression and the NVRTC version: the cache key.
  std::string key() const;
};

nlohmann::ordered_json to_json(const CompileRequest& request);
/// Throws ProtocolError when a member is missing or of the wrong type.
CompileRequest compile_request_from_json(const nlohmann::ordered_json& json);

/// "sm_90a" for compute capability 9.0, "sm_80" for 8.0: the architecture whose cubin the GPU runs with all
/// its instructions. Throws UserError when this NVRTC does not support it.
std::string architecture_for(int major, int minor);

/// Builds the request of one configuration. Options: the project's own, then the template's, then the
/// config's, then the defines.
CompileRequest make_compile_request(const CompilePolicy& policy, const SourceBundle& sources,
                                    const Instance& instance, const std::string& architecture);

/// Checks options that a person wrote against the NVRTC options known to be harmless (no file or include
/// options). Throws UserError naming the option and `where`.
void check_compile_options(const std::vector<std::string>& options, const Where& where);
void check_compile_option(const std::string& option, const Where& where);

}  // namespace tiletune
