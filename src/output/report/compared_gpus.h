#pragma once

#include <nlohmann/json_fwd.hpp>

#include "rank/sides.h"
#include "store/database.h"

namespace tiletune {

/// The comparison of the GPUs that rows of the filter are of, as `compare --format json` writes it, with
/// "notes" of each problem besides: lines of text; null where there are not two.
nlohmann::ordered_json compared_gpus(const Database& database, const TrialFilter& filter,
                                     const GpuAlias& alias);

}  // namespace tiletune
