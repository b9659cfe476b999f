#pragma once

#include <string>

#include "store/columns.h"
#include "store/samples.h"

namespace tiletune {

/// A value of the column that differs for every `seed` and from the column's default.
inline Cell sample_cell(const Column& column, int seed) {
  if (column.name == "outcome") return std::string("wrong_result");
  if (column.name == "source") return std::string("replayed");
  if (column.name == "recorded_at") return std::to_string(1000 + seed) + "-11-21T10:00:00Z";
  switch (column.type) {
    case CellType::integer:
      return std::int64_t{1} << (seed % 62);
    case CellType::real:
      return seed + 0.1;
    case CellType::text:
      return column.name + " µs 'quoted' " + std::to_string(seed);
    case CellType::json:
      return "{\"" + column.name + "\":" + std::to_string(seed) + "}";
    case CellType::blob:
      return pack_samples({seed + 0.1, 1e-300, seed * 1e9});
  }
  return {};
}

/// A row in which every column is set, so that a column that gets lost is noticed whatever it is called.
inline Trial filled_trial(const std::string& key, std::int64_t sweep_id) {
  Trial trial;
  int seed = 1;
  for (const Column& column : trial_columns()) column.write(trial, sample_cell(column, seed++));
  trial.key = key;
  trial.sweep_id = sweep_id;
  trial.seen_in_sweep = sweep_id;
  return trial;
}

/// A kernel that ran and was verified, with parameters of its own.
inline Trial timed_trial(const std::string& key, double median_us, double half_interval_us) {
  Trial trial;
  trial.key = key;
  trial.template_name = "sgemm_tiled";
  trial.parameters = "{\"id\":\"" + key + "\"}";
  trial.problem = "64x64x64";
  trial.gpu = "NVIDIA H200";
  trial.outcome = Outcome::ok;
  trial.median_us = median_us;
  trial.relative_error = 1e-7;
  trial.ci_low_us = median_us - half_interval_us;
  trial.ci_high_us = median_us + half_interval_us;
  return trial;
}

}  // namespace tiletune
