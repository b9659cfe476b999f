#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "author/signature.h"
#include "compile/pool.h"
#include "inspect/gpu_model.h"

namespace tiletune {

/// Something in the source, and what the manifest makes of it.
struct SourceFinding {
  std::string what;  ///< "buffer", "dimension", "scalar", "parameter" or "constant"
  std::string name;
  std::string guess;  ///< "f32, in", "[16, 32, 64]"
  int line = 0;       ///< in the source; 0: the kernel's own
};

/// A manifest that can be loaded, and what a person must check in it.
struct Draft {
  std::string manifest;  ///< JSON with comments; each thing to decide stands behind "// decide: "
  std::string problem;   ///< "4096x4096"
  std::vector<SourceFinding> findings;
};

/// A place in a draft where a person decides.
struct Decision {
  int line = 0;
  std::string text;
};
std::vector<Decision> decisions_in(const std::string& manifest);

/// A draft's decisions, that of the launch first: a wrong grid reads and writes out of bounds.
std::vector<Decision> launch_first(std::vector<Decision> decisions);

/// Drafts the manifest of a template `name`, whose source is the file `source` in its folder. A comment names
/// `operations`, which a manifest may refer to instead of describing its own. Throws
/// UserError for a kernel without parameters or output, and for a parameter that a manifest cannot pass.
Draft draft_manifest(const std::string& name, const std::string& source, const SourceFacts& facts,
                     const KernelText& kernel, const Signature& signature,
                     const std::vector<std::string>& operations = {});

/// The kernel for which a template and a config are drafted, and their folder.
struct InitRequest {
  std::filesystem::path file;    ///< CUDA source
  std::string kernel;            ///< empty: the file's only kernel
  std::filesystem::path folder;  ///< the template's; empty: the file's folder, or a new one beside the file
  bool force = false;            ///< overwrite existing files
};

/// The draft, and the files that it was written to.
struct Written {
  std::string kernel;
  std::filesystem::path manifest, config;
  std::filesystem::path copy;  ///< of the source; empty if the source is in the template's folder
  std::vector<std::filesystem::path> headers;  ///< copied with it
  Draft draft;
};

/// Drafts a template and a config, and writes both. `include_folders` must exist. Throws UserError, before it
/// writes anything, if the kernel is not found, does not compile for `gpu` or cannot have a manifest, or if
/// the folder cannot be used or has files already.
Written write_draft(const InitRequest& request, const std::vector<std::filesystem::path>& include_folders,
                    const GpuModel& gpu, const CompilePoolOptions& compile);

}  // namespace tiletune
