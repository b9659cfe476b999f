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
/// folder and in kernel_templates. Says on standard error what was written and what no config can measure,
/// and returns the exit code: 1 where nothing was written. Throws UserError when a template has changed so
/// that the configurations cannot be named any more, and PlanningStopped once `stop` says so; the configs
/// written until then stay.
int write_fill_configs(const Comparison& comparison, const Databases& databases,
                       const std::filesystem::path& file, const Stop& stop);
/// Writes configs for kernels of portfolios on problems where they were not measured.
int write_fill_configs(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                       const std::filesystem::path& file, const Stop& stop);
/// Writes configs for kernels that portfolios choose on problems where they were not measured.
int write_fill_configs(const std::vector<AppliedPortfolio>& applied, const std::filesystem::path& file,
                       const Stop& stop);

}  // namespace tiletune
