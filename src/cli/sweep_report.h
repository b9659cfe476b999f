#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/gpus.h"
#include "output/view.h"
#include "spec/tune_spec.h"
#include "store/database.h"
#include "tune/sweep.h"

namespace tiletune {

/// Where it runs: "tiletune 0.2.0: NVIDIA H200, sm_90a, 132 multiprocessors; driver ...", or what is
/// predicted for, and why.
std::string headline(const ChosenGpus& gpus);
/// How large the space of one set of GPUs is.
std::string space_line(const std::vector<Task>& tasks, const TuneSpec& spec);

/// How much was tried of each problem that was not completely tried, and what ended it.
std::string untried_lines(const SweepSummary& summary);

struct SweepView {
  Format format = Format::table;
  std::size_t limit = 20;  ///< kernels per problem; 0: all
};

/// Prints how a sweep went, what it found, and what to do next. Returns the exit code; rethrows what ended
/// the sweep early, and throws NothingToDo when nothing ran.
int report_sweep(const TuneSpec& spec, const Database& database, const SweepSummary& summary,
                 const SweepView& view);

}  // namespace tiletune
