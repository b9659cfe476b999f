#pragma once

#include <memory>
#include <vector>

#include "tune/evaluator.h"
#include "tune/task.h"

namespace tiletune {

/// GPUs of one model, architecture and driver: their times compare, so they share one way through the space,
/// and what one of them has measured the others need not.
struct GpuSet {
  std::vector<Task> tasks;
  std::vector<std::unique_ptr<Evaluator>> evaluators;  ///< at least one

  const Target& target() const { return evaluators.front()->target(); }
};

}  // namespace tiletune
