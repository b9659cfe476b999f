#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/trial.h"

namespace tiletune {

/// The parameters of rows shown together, without those that all rows of a template have alike: they would
/// make a table wide and tell nothing. A template's only row keeps all of its own.
class VaryingParameters {
 public:
  void add(const Trial& trial);

  /// "BM=128 BN=64" of a row that was among them.
  std::string of(const Trial& trial) const;
  /// What was left out: "in every sgemm_warptile row shown: TN=8 WN_ITER=2", a line per template.
  std::vector<std::string> legend() const;

 private:
  struct Alike {
    nlohmann::ordered_json values;
    std::size_t rows = 0;
  };
  std::map<std::string, Alike> alike_;
};

}  // namespace tiletune
