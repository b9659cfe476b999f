#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/device_properties.h"
#include "base/outcome.h"

namespace tiletune {

/// The members of Trial, by the type of their column.
namespace column_types {
using text = std::string;
using label = std::string;
using json = std::string;
using integer = std::optional<std::int64_t>;
using real = std::optional<double>;
using figure = real;
using samples = std::vector<double>;  ///< stored as a blob
using outcome = Outcome;
using source = Source;
using sweep = std::int64_t;  ///< 0: none
}  // namespace column_types

/// One row of the database: one configuration (or baseline) of one problem on one GPU, and what became of it.
/// Names are the column names everywhere: SQL, JSON, CSV, --sort-by; `template_name` is the column
/// "template". Absent numbers are null, absent text is empty.
struct Trial {
  Trial() : kind("kernel") {}

#define TILETUNE_COLUMN(type, member, meaning) column_types::type member = {};
#include "store/trial_columns.h"

  /// All sweeps that made or reused it, ascending. No column but the table sweep_trial: filled in where a
  /// reader says so.
  std::vector<std::int64_t> sweeps;
};

/// Whether it was timed and its results were compared with nothing.
inline bool is_unverified(const Trial& row) {
  return row.source == Source::measured && row.median_us && !row.relative_error;
}

/// What was measured of a GPU itself, once per GPU and driver.
struct CalibrationRecord : Calibration {
  std::string gpu;
  std::string gpu_uuid;
  std::string driver_version;
  std::string recorded_at;
};

/// One run of the sweep command.
struct SweepRecord {
  std::int64_t id = 0;
  std::string started_at;
  std::string finished_at;  ///< empty when it never ended
  std::string command;      ///< as typed
  std::string config_file;
  std::string config;  ///< its full text
  std::string tiletune_version;
  std::string git_commit;  ///< of the checkout around the config; empty outside one
  std::string host;
  std::string gpu;
  std::string shard;  ///< "3/16": the third of 16 parts of the space; empty: all of it
};

}  // namespace tiletune
