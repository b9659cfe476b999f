#pragma once

#include <functional>

namespace tiletune {

/// Asked from time to time by what may take long: whether to give up. An interrupt or a deadline.
using Stop = std::function<bool()>;
inline bool never_stop() { return false; }

/// Thrown by what was asked to stop.
struct Stopped {};

}  // namespace tiletune
