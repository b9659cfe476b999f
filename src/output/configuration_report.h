#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "store/trial.h"

namespace tiletune {

/// All that is known of one configuration on one GPU. What a row does not have is left out of the report.
struct ConfigurationReport {
  Trial kernel;
  std::vector<Trial> baselines;
  std::optional<Trial> twin;
  std::optional<CalibrationRecord> calibration;
  double flops = 0;         ///< of one launch
  double bytes = 0;         ///< compulsory DRAM traffic of one launch
  std::string error_bound;  ///< where the row's bound comes from: "2 u + 2 sqrt(K) u, ..."
  int multiprocessors = 0;  ///< of the GPU
};

/// For people: sections on the binary, time, throughput, accuracy and the method, as far as the row went.
void write_report(std::ostream& out, const ConfigurationReport& report);

/// For programs: the rows with all their columns and samples, and what the report computes from them. Its
/// text may hold broken UTF-8: dump with error_handler_t::replace.
nlohmann::ordered_json report_json(const ConfigurationReport& report);

}  // namespace tiletune
