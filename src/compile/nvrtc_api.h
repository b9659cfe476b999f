#pragma once

#include <nvrtc.h>

#include <filesystem>

namespace tiletune {

/// The functions of NVRTC that tiletune calls, loaded on first use. Private to the compile library.
struct NvrtcApi {
  std::filesystem::path file;  ///< that was loaded, with symbolic links resolved

  decltype(&nvrtcVersion) version;
  decltype(&nvrtcGetNumSupportedArchs) architecture_count;
  decltype(&nvrtcGetSupportedArchs) architectures;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcAddNameExpression) add_name;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetLoweredName) lowered_name;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
  decltype(&nvrtcGetErrorString) error_string;
};

/// Loads NVRTC, and the builtins library beside it, once. Throws UserError when there is none.
const NvrtcApi& nvrtc();

}  // namespace tiletune
