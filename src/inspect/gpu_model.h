#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/device_properties.h"

namespace tiletune {

/// One GPU model as configs/gpus/<name>.json describes it; every figure there names its source.
struct GpuModel : DeviceProperties {
  std::string name;                  ///< "H100 SXM"
  std::vector<std::string> aliases;  ///< other names people use, and what the driver calls it
  int max_registers_per_thread = 255;
  double memory_bandwidth_gbs = 0;  ///< 10^9 bytes/s, peak
  int fp32_lanes_per_multiprocessor = 128;
  /// What a multiprocessor's tensor cores do together: operations on 16-bit floats, summed in FP32, of
  /// matrices that are not sparse.
  int tensor_flops_per_clock = 1024;

  /// The figures, which stand in every file, each with its source.
  static constexpr auto fields() {
    using M = GpuModel;
    return joined(DeviceProperties::figures(),
                  list_of(field("max_registers_per_thread", &M::max_registers_per_thread),
                          field("memory_bandwidth_gbs", &M::memory_bandwidth_gbs),
                          field("fp32_lanes_per_multiprocessor", &M::fp32_lanes_per_multiprocessor),
                          field("tensor_flops_per_clock", &M::tensor_flops_per_clock)));
  }

  std::string compute_capability() const;  ///< "9.0"
  double fp32_peak_tflops() const;         ///< lanes * 2 * multiprocessors * boost clock
};

/// All models of a folder, by name. Throws UserError with file and pointer for a bad one.
std::vector<GpuModel> load_gpu_models(const std::filesystem::path& folder);

/// The model of this name or alias, compared without case, spaces or punctuation; null where none has it.
const GpuModel* model_called(const std::vector<GpuModel>& models, const std::string& name);

/// As model_called(); throws UserError for any other text, with the models that have it among their words
/// ("A100" is one of three), or with the nearest names.
const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name);

}  // namespace tiletune
