#pragma once

#include <string>
#include <vector>

#include "output/replay.h"
#include "tune/recording.h"
#include "tune/stage.h"

namespace tiletune {

/// A replay before its first evaluation: one problem per group of `stages`, in their order, each with what is
/// recorded of it. `file` is the recording's.
Replay plan_replay(const TuneSpec& spec, const std::vector<Stage>& stages, const Recording& recording,
                   const Target& target, const std::string& file);

}  // namespace tiletune
