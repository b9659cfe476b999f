#pragma once

#include <vector>

#include "base/statistics.h"

namespace tiletune {

/// One finalist of the finals, with a sample per round so far.
struct FinalistSamples {
  Samples samples;
  bool stays = false;    ///< to the end, however slow: baselines, and the twin with its original
  bool competes = true;  ///< false for baselines: they set no pace for the others
  bool is_out = false;
};

/// After enough rounds, drops finalists whose 95% interval is narrow and lies above that of the fastest
/// of those who compete by more than what the finals can still change.
void drop_slow_finalists(std::vector<FinalistSamples>& finalists);

/// Whether further rounds would change little: there were 40, and the 95% intervals of all who still take
/// part are within 0.1% of the median, those of baselines within 0.2%.
bool are_times_known(const std::vector<FinalistSamples>& finalists);

/// How many rounds: `most`, but fewer for slow kernels, so that all take at most `longest_us`; never so few
/// that nothing could be said. `round_us` is what one round of all takes.
int rounds_for(double round_us, int most, double longest_us);

}  // namespace tiletune
