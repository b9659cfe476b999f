#pragma once

#include <optional>

#include "measure/guards.h"

namespace tiletune {

/// What a configuration has for itself beside the problem's buffers.
class OwnMemory {
 public:
  virtual ~OwnMemory() = default;

  /// As before the first launch.
  virtual void reset() = 0;
  /// Gives the arrays whose contents are undefined one of two bit patterns, both NaN as floating point. What
  /// is to be zero stays as the last launch left it.
  virtual void poison(int variant) = 0;
  /// What a launch did wrong, if anything: it wrote outside an array, or left one not zero that it must.
  virtual std::optional<Finding> check() = 0;
  /// The former alone.
  virtual std::optional<Finding> check_surroundings() = 0;
};

}  // namespace tiletune
