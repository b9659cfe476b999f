#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "author/manifest.h"
#include "compile/pool.h"
#include "inspect/gpu_model.h"

namespace tiletune {

/// Of which kernel a template and a config are drafted, and where.
struct InitRequest {
  std::filesystem::path file;    ///< CUDA source
  std::string kernel;            ///< empty: the only one
  std::filesystem::path folder;  ///< of the template; empty: the file's own, or one beside the file
  bool force = false;            ///< replaces files that exist
};

/// What was drafted, and where it is.
struct Written {
  std::string kernel;
  std::filesystem::path manifest, config;
  std::filesystem::path copy;  ///< of the source; empty where that lies in the template's folder
  Draft draft;
  std::vector<Lines> host_code;  ///< lines of the source; the copy has #ifndef __CUDACC_RTC__ around them
};

/// Drafts both and writes them. `include_folders` exist. Throws UserError, before it writes anything, for a
/// kernel that is not found, does not compile for `gpu` or has no manifest, and for a place that is taken or
/// none.
Written write_draft(const InitRequest& request, const std::vector<std::filesystem::path>& include_folders,
                    const GpuModel& gpu, const CompilePoolOptions& compile);

}  // namespace tiletune
