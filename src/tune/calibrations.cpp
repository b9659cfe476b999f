#include "tune/calibrations.h"

#include "tune/provenance.h"

namespace tiletune {

std::optional<Calibration> known_calibration(const Database& database, const Target& target) {
  const auto record = database.calibration(target.uuid, target.driver_version);
  if (!record || record->read_gbs <= 0) return std::nullopt;
  const bool has_tensor_cores = target.model.compute_major >= 8;
  if (has_tensor_cores && record->tensor_f16_tflops <= 0) return std::nullopt;
  return *record;
}

void keep_calibration(Database& database, const Target& target, const Calibration& calibration) {
  database.record_calibration({calibration, target.name, target.uuid, target.driver_version, utc_now()});
}

}  // namespace tiletune
