#pragma once

#include <filesystem>
#include <vector>

#include "base/stop.h"
#include "output/portfolio.h"
#include "rank/compare.h"
#include "rank/rows.h"

namespace tiletune {

/// Writes what measures the best configurations of other sides where a side has no row of them, exactly those
/// on exactly their problems: one config per side that lacks some and per GPU, set of scalars and state of
/// the cache. One config takes the file's name, of several each adds its side to it, and its GPU where sides
/// are none. Every config is loaded and counted before it is written; templates are looked up in the file's
/// folder and in kernel_templates. Prints on standard error what was written and what no config can measure.
/// Returns the exit code: 1 if nothing was written. Throws UserError if a template has changed so that it no
/// longer has these configurations, and PlanningStopped if `stop` is set. Configs written before that stay.
int write_fill_configs(const Comparison& comparison, const Databases& databases,
                       const std::filesystem::path& file, const Stop& stop);
/// Writes configs for kernels of portfolios on problems where they were not measured.
int write_fill_configs(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                       const std::filesystem::path& file, const Stop& stop);

}  // namespace tiletune
