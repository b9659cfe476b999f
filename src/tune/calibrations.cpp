#include "tune/calibrations.h"

#include "tune/provenance.h"

namespace tiletune {

std::optional<Calibration> known_calibration(const Database& database, const Target& target) {
  const auto record = database.calibration(target.uuid, target.driver_version);
  if (!record) return std::nullopt;
  return Calibration{record->ffma_tflops,    record->copy_gbs,        record->shared_gbs,
                     record->event_floor_us, record->empty_kernel_us, record->empty_kernel_batch_us};
}

void keep_calibration(Database& database, const Target& target, const Calibration& calibration) {
  CalibrationRecord record;
  record.gpu = target.name;
  record.gpu_uuid = target.uuid;
  record.driver_version = target.driver_version;
  record.recorded_at = utc_now();
  record.ffma_tflops = calibration.ffma_tflops;
  record.copy_gbs = calibration.copy_gbs;
  record.shared_gbs = calibration.shared_gbs;
  record.event_floor_us = calibration.event_floor_us;
  record.empty_kernel_us = calibration.empty_kernel_us;
  record.empty_kernel_batch_us = calibration.empty_kernel_batch_us;
  database.record_calibration(record);
}

}  // namespace tiletune
