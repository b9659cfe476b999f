#include "rank/compare_databases.h"

#include <array>

namespace tiletune {

Comparison compare_databases(const Databases& databases, const ComparedRows& rows, const GpuAlias& alias) {
  TrialFilter kernels = rows.filter;
  kernels.baselines = false;
  SideRows dealt(rows.by, rows.database_names, alias);
  databases.for_each(kernels, compare_columns(),
                     [&](std::int64_t id, Trial& trial) { dealt.add(Databases::index_of(id), id, trial); });
  std::vector<Side> sides = dealt.take(rows.names);
  Comparison comparison;
  if (sides.size() < 2) {
    for (const Side& side : sides) comparison.sides.push_back({side.name, {}, {}, {}, 0});
  } else {
    const ReadParameters read = [&](const std::vector<std::string>& templates, const auto& visit) {
      TrialFilter of_templates = kernels;
      of_templates.templates = templates;
      static constexpr std::array kColumns{"template", "parameters"};
      databases.for_each(of_templates, kColumns, visit);
    };
    comparison = compare_sides(rows.by, sides, alias, read);
  }
  comparison.recorded = dealt.recorded();
  return comparison;
}

}  // namespace tiletune
