#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "deploy/recorded_kernels.h"
#include "rank/ranking.h"

// One configuration, for those who compile and launch it themselves.

namespace tiletune {

/// Adds the member "definition" to an entry of best.json: the files that are compiled, the buffers at the
/// recorded sizes, and the template's manifest. Null, which `note` hears of, where the template is missing.
void add_definition(RecordedKernels& recorded, std::int64_t row,
                    const std::function<void(const std::string&)>& note, nlohmann::ordered_json& entry);

/// The kernel that is the best of all rows. Throws UserError unless there is one set of rows that may be
/// compared.
RecordedKernel only_kernel(RecordedKernels& recorded, const std::vector<RankingGroup>& groups);

/// "-DTUNED_BM=64 -DTUNED_BN=64 --std=c++17 -arch=sm_90a": what nvcc takes. Macros of the template keep their
/// names; other parameters have `prefix` before theirs. Throws UserError for what a shell would not leave as
/// it is.
std::string defines_text(const RecordedKernel& kernel, const std::string& prefix);

/// The same as CMake variables that begin with `prefix`, with the source, its include folders, the kernel's
/// expression, grid, block and shared memory.
std::string cmake_text(const RecordedKernel& kernel, const std::string& prefix);

}  // namespace tiletune
