#pragma once

#include <vector>

#include "compile/pool.h"

namespace tiletune {

/// Sleeps until a compile worker or one of the descriptors `others` has something to say, until the pool is
/// due or `due` has come; a moment at most, so that the caller notices signals.
void wait_for_work(const CompilePool& pool, const std::vector<int>& others = {},
                   Clock::time_point due = Clock::time_point::max());

}  // namespace tiletune
