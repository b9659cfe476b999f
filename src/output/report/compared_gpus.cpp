#include "output/report/compared_gpus.h"

#include <nlohmann/json.hpp>

#include "output/comparison.h"
#include "rank/compare_databases.h"

namespace tiletune {

nlohmann::ordered_json compared_gpus(const Database& database, const TrialFilter& filter,
                                     const GpuAlias& alias) {
  if (database.gpus().size() < 2) return nullptr;
  const Databases databases({&database});
  const Comparison comparison = compare_databases(databases, {CompareBy::gpu, filter, {}, {}}, alias);
  return comparison.sides.size() < 2 ? nlohmann::ordered_json() : comparison_json(comparison, databases);
}

}  // namespace tiletune
