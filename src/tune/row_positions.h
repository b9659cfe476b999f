#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rank/parameters.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Finds where the values that a row states stand among those of a template's parameters.
class RowPositions {
 public:
  /// `kernel` outlives this.
  explicit RowPositions(const TemplateSpec& kernel);

  /// Of a row's `parameters`, in the template's order. None where a value is not among them, or a parameter
  /// of several values is not stated.
  std::optional<std::vector<std::uint32_t>> of(const std::string& parameters) const;

 private:
  const TemplateSpec* kernel_;
  std::vector<WrittenAs> values_;
};

}  // namespace tiletune
