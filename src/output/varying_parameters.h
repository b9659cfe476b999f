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
  /// Where all rows of a template agree in all parameters, and nothing would be left of them.
  enum class AllAlike { in_the_legend, in_rows };

  explicit VaryingParameters(AllAlike all_alike = AllAlike::in_the_legend) : all_alike_(all_alike) {}
  void add(const Trial& trial);

  /// "BM=128 BN=64" of a row that was among them.
  std::string of(const Trial& trial) const;
  /// What was left out: "in every sgemm_warptile row shown: TN=8 WN_ITER=2", a line per template.
  std::vector<std::string> legend() const;

 private:
  struct Alike {
    nlohmann::ordered_json values;
    std::size_t rows = 0;
    bool all = true;  ///< no parameter differs
  };
  bool is_left_out(const Alike& alike) const;

  AllAlike all_alike_;
  std::map<std::string, Alike> alike_;
};

}  // namespace tiletune
