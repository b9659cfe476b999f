#pragma once

#include <string>

namespace tiletune {

/// A compiler's log as the reason of a row: at most 16 KiB, and UTF-8. Logs quote source lines, which may be
/// in any encoding; what is stored and exported must be UTF-8.
std::string reason_of_log(std::string log);

}  // namespace tiletune
