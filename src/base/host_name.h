#pragma once

#include <string>

namespace tiletune {

/// Of this machine, as it calls itself in its network; empty where that cannot be read.
std::string host_name();

}  // namespace tiletune
