#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "cli/common.h"
#include "spec/tune_spec.h"
#include "store/database.h"

namespace tiletune {

/// Whether a row of the operation, with its types and options, on the GPU, by its whole name, is among those
/// of the filter, whose own GPUs do not count.
bool has_row_of(const Database& database, const std::string& gpu, const Operation& operation,
                TrialFilter filter);

/// Predictions in a database that is removed with this object.
class PredictedRows {
 public:
  /// Predicts a config's configurations for a model, with progress on standard error. Throws UserError for an
  /// unknown model; rethrows what ended the sweep.
  void predict(TuneSpec spec, const CompileOptions& compile, const std::string& model);
  /// A person ended it early.
  bool interrupted() const { return interrupted_; }
  std::filesystem::path file() const { return folder_.path() / "predicted"; }

 private:
  ScratchFolder folder_;
  bool interrupted_ = false;
};

}  // namespace tiletune
