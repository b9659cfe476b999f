#include "tune/target.h"

namespace tiletune {

Target target_from_device(const GpuOpened& opened, const std::vector<GpuModel>& models) {
  const DeviceFacts& device = opened.device;
  Target target;
  GpuModel& model = target.model;
  if (const GpuModel* known = model_called(models, device.name)) {
    model = *known;
  } else {
    const int major = device.compute_major;
    const bool is_a100 = major == 8 && device.compute_minor == 0;
    // CUDA C++ Programming Guide, arithmetic instructions.
    model.fp32_lanes_per_multiprocessor = major < 8 || is_a100 ? 64 : 128;
    // They follow whitepapers of V100, T4, A100, GA102, H100 and B200. Some GPUs of consumers have half of
    // it.
    model.tensor_flops_per_clock = is_a100 ? 2048 : major == 9 ? 4096 : major == 10 ? 8192 : 1024;
  }
  model.name = device.name;
  static_cast<DeviceProperties&>(model) = device;
  target.name = device.name;
  target.uuid = device.uuid;
  target.architecture = architecture_for(device.compute_major, device.compute_minor);
  target.driver_version = opened.driver_version;
  target.cuda_version = device.cuda_version;
  target.source = Source::measured;
  return target;
}

Target target_from_row(const Trial& row, const std::vector<GpuModel>& models) {
  Target target;
  if (const GpuModel* known = model_called(models, row.gpu)) target.model = *known;
  target.name = row.gpu;
  target.uuid = row.gpu_uuid;
  target.architecture = row.architecture;
  target.driver_version = row.driver_version;
  target.cuda_version = row.cuda_version;
  target.source = Source::replayed;
  return target;
}

Target target_from_model(const GpuModel& model, const StaticModel& static_model) {
  Target target;
  target.model = model;
  target.name = model.name;
  target.architecture = architecture_for(model.compute_major, model.compute_minor);
  target.source = Source::predicted;
  target.static_model = static_model;
  return target;
}

}  // namespace tiletune
