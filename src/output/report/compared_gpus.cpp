#include "output/report/compared_gpus.h"

#include <nlohmann/json.hpp>

#include "output/comparison.h"
#include "output/comparison_lines.h"
#include "rank/compare.h"

namespace tiletune {

nlohmann::ordered_json compared_gpus(const Database& database, const TrialFilter& filter,
                                     const GpuAlias& alias) {
  const std::size_t gpus = database.gpus().size();
  if (gpus < 2 || gpus > kMostSides) return nullptr;
  const Databases databases({&database});
  const Comparison comparison = compare_databases(databases, {CompareBy::gpu, filter, {}, {}}, alias);
  if (comparison.sides.size() < 2) return nullptr;
  nlohmann::ordered_json document = comparison_json(comparison, databases);
  for (std::size_t i = 0; i < comparison.problems.size(); ++i)
    document["problems"][i]["notes"] = notes_on(comparison, comparison.problems[i]);
  return document;
}

}  // namespace tiletune
