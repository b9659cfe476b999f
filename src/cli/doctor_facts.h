#pragma once

#include <vector>

#include "cli/gpus.h"
#include "tune/doctor.h"

namespace tiletune {

struct DoctorFacts {
  MachineFacts machine;
  std::vector<GpuFacts> gpus;
};

/// Looks at the machine and opens the GPUs of the choice, each in a worker that may fail or be given up.
/// Changes nothing. Throws UserError for a malformed choice.
DoctorFacts collect_facts(const GpuChoice& choice);

}  // namespace tiletune
