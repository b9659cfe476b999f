#pragma once

#include <nvrtc.h>

#include <filesystem>

#include "base/library.h"

namespace tiletune {

/// The functions of NVRTC that tiletune calls, loaded on first use. Private to the compile library.
struct NvrtcApi {
  Library library;
  std::filesystem::path file = std::filesystem::canonical(library.path());  ///< with links resolved

  TILETUNE_LOADED(version, nvrtcVersion);
  TILETUNE_LOADED(architecture_count, nvrtcGetNumSupportedArchs);
  TILETUNE_LOADED(architectures, nvrtcGetSupportedArchs);
  TILETUNE_LOADED(create, nvrtcCreateProgram);
  TILETUNE_LOADED(destroy, nvrtcDestroyProgram);
  TILETUNE_LOADED(add_name, nvrtcAddNameExpression);
  TILETUNE_LOADED(compile, nvrtcCompileProgram);
  TILETUNE_LOADED(lowered_name, nvrtcGetLoweredName);
  TILETUNE_LOADED(log_size, nvrtcGetProgramLogSize);
  TILETUNE_LOADED(log, nvrtcGetProgramLog);
  TILETUNE_LOADED(cubin_size, nvrtcGetCUBINSize);
  TILETUNE_LOADED(cubin, nvrtcGetCUBIN);
  TILETUNE_LOADED(error_string, nvrtcGetErrorString);
};

/// Loads NVRTC, and the builtins library beside it, once. Throws UserError when there is none.
const NvrtcApi& nvrtc();

}  // namespace tiletune
