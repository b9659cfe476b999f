#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"
#include "inspect/gpu_model.h"
#include "inspect/static_model.h"
#include "measure/messages.h"
#include "store/trial.h"

namespace tiletune {

/// The GPU a sweep is for: one that is here, or a model to predict for.
struct Target {
  GpuModel model;            ///< figures for admission and prediction
  std::string name;          ///< as rows carry it: the driver's name, or the model's
  std::string uuid;          ///< empty for a model
  std::string architecture;  ///< "sm_90a"
  std::string driver_version;
  std::string cuda_version;
  Source source = Source::measured;
  StaticModel static_model;  ///< that times are predicted with
};

/// A GPU that is here: the driver's figures, completed (bandwidth, FP32 lanes) from the model file of the
/// same name when there is one, else from the compute capability.
Target target_from_device(const GpuOpened& opened, const std::vector<GpuModel>& models);
/// The GPU that `row` was recorded on, for replaying; figures from the model file of the same name, if there
/// is one.
Target target_from_row(const Trial& row, const std::vector<GpuModel>& models);
Target target_from_model(const GpuModel& model, const StaticModel& static_model = {});

}  // namespace tiletune
