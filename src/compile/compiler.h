#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/binary.h"
#include "compile/request.h"

/// The compiler libraries: NVRTC, and nvJitLink, which assembles PTX.
namespace tiletune {

/// The CUDA toolkit's headers on this machine: $TILETUNE_CUDA_INCLUDE, else the folder known from the build,
/// else include/ beside the folder of NVRTC or one level higher, else /usr/local/cuda/include; none when
/// there are none. Absolute. Throws UserError when the environment names a folder that does not exist, and
/// where the last ones are looked for without an NVRTC.
std::optional<std::filesystem::path> cuda_include_folder();

/// Architectures NVRTC makes code for, ascending: 75, 80, ... 121.
const std::vector<int>& supported_architectures();

/// CPU time of this process over all its threads.
double process_cpu_ms();

/// Whether tiletune notices which files this NVRTC includes, as dependencies need. Compiles two lines.
bool notices_includes();

/// Loads nvJitLink at the first call. False if this machine has none.
bool has_nvjitlink();

/// A header that the compiler finds by its name, wherever it looks.
struct NamedHeader {
  const char* name;
  std::string text;
};

/// What sources written for nvcc include and NVRTC has no file for: the C headers, the headers of the C++
/// library whose contents CUDA has as cuda::std, which become std, and the device part of CUB. Only functions
/// and types that exist on the device are in them.
std::span<const NamedHeader> standard_headers();

/// The one that stands before every source: nvcc reads the host's <math.h> there.
inline constexpr const char* kPrelude = "tiletune/prelude.h";

/// The whole-device algorithms of CUB are host code, which NVRTC refuses: in the place of its own list of
/// headers, whichever CUB the search finds, stands one of those that kernels use.
inline constexpr const char* kCubHeader = "cub/cub.cuh";

/// The kernels of the file that a request names, which is compiled already: a cubin as it is, PTX as
/// nvJitLink assembles it. The file is a dependency. A cubin is not looked into: inspect/resources.h does
/// that.
Compiled load_compiled_file(const CompileRequest& request);

/// A compiler's log as the reason of a row: at most 16 KiB, and UTF-8. Logs quote source lines, which may be
/// in any encoding; what is stored and exported must be UTF-8.
std::string reason_of_log(std::string log);

/// Why a source was not compiled, from NVRTC's log of it: the first error, and what a person needs to know
/// where a file was not found. `otherwise` is the reason where the log is empty; `refused` are names of files
/// that lead out of the kernel's folders.
std::string reason_of_failure(const std::string& log, const char* otherwise, const CompileRequest& request,
                              const std::set<std::string>& refused);

}  // namespace tiletune
