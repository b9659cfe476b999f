#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/binary.h"
#include "inspect/gpu_model.h"

namespace tiletune {

/// A binary with the compiler's log, which has ptxas' figures.
struct LoggedBinary : Binary {
  std::string log;
};

/// Compiles kernels of one source together; in the order of `expressions`.
std::vector<LoggedBinary> compile_all_for_test(const std::string& source,
                                               const std::vector<std::string>& expressions,
                                               const std::string& architecture,
                                               const std::vector<std::string>& more_options = {});

/// Compiles one kernel with NVRTC for "sm_90a" and the like. `expression` is a C++ name expression, or a
/// plain name of an extern "C" kernel.
LoggedBinary compile_for_test(const std::string& source, const std::string& expression,
                              const std::string& architecture);

/// The project's own GPU models.
const std::vector<GpuModel>& gpu_models();
const GpuModel& gpu(const std::string& name);

/// Architectures on which the tests compile: one per encoding that the reader has to know.
inline const std::vector<std::string> kArchitectures = {"sm_75",  "sm_80",  "sm_86", "sm_89",
                                                        "sm_90a", "sm_100", "sm_120"};

}  // namespace tiletune
