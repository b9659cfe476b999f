#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "inspect/scheduler.h"

namespace tiletune {

/// The numbers of the static model that no datasheet has: fitted to recorded times, then used for every GPU.
/// As constructed it is physics alone.
struct StaticModel {
  PipelineRates pipeline;
  double launch_us = 2;       ///< of a kernel that does nothing
  double loop_scale = 1;      ///< clocks that the hot loop takes, per clock of the simulated one
  double outside_scale = 1;   ///< clocks of the code outside the loop, per instruction issued
  double byte_clocks = 0;     ///< of it, per byte of global memory that it moves
  double meeting_us = 0;      ///< of blocks that meet in device memory
  double cluster_us = 0;      ///< of blocks that meet in a cluster
  double unhidden_share = 0;  ///< of the shorter of computing and device memory's time

  std::string calibrated_on;    ///< "NVIDIA H200"; empty: not calibrated
  std::string calibrated_date;  ///< "2026-11-21"

  /// "calibrated on NVIDIA H200, 2026-11-21", or "not calibrated".
  std::string provenance() const;
  /// All numbers, for the keys of rows.
  std::string identity() const;
};

/// configs/model/static_model.json. Throws UserError with file and pointer for a bad one.
StaticModel load_static_model(const std::filesystem::path& file);

}  // namespace tiletune
