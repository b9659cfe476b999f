#pragma once

#include <string>
#include <vector>

#include "output/replay.h"
#include "tune/recorded_stage.h"

namespace tiletune {

/// Takes from a spec what only compiling and measuring need: kernels, references, launches, arguments. What a
/// T1 tuning problem lacks of these does not matter any more.
void leave_out_kernels(TuneSpec& spec);

/// A replay before its first evaluation: one problem per group of `stages`, in their order, each with what is
/// recorded of it. `file` is the recording's. Throws UserError where the parameters of no stage are those of
/// the recording, NothingToDo where it holds nothing of their templates, problems and conditions.
Replay plan_replay(const TuneSpec& spec, const std::vector<Stage>& stages, const Recording& recording,
                   const Target& target, const std::string& file);

}  // namespace tiletune
