#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/outcome.h"

namespace tiletune {

/// What a GPU's model is called, whatever a driver or another tuner calls the GPU.
using GpuAlias = std::function<std::string(const std::string&)>;

/// Which recorded names mean the same GPU. Two names that drivers give may both be of one model and are two
/// GPUs all the same (SXM4 and PCIE); rows that bear the model's own name, as predictions do, stand beside
/// those of each, unless both have rows of one source.
class GpuNames {
 public:
  /// `recorded`: every name and the sources of its rows.
  GpuNames(const std::map<std::string, std::set<Source>>& recorded, const GpuAlias& alias);

  /// The names that drivers give to what this one means: of a model the GPUs of that model, where there are
  /// any; otherwise the name itself.
  const std::vector<std::string>& meant_by(const std::string& name) const { return meant_.at(name); }

 private:
  std::map<std::string, std::vector<std::string>> meant_;
};

}  // namespace tiletune
