#pragma once

#include <set>
#include <string>

#include "compile/request.h"

namespace tiletune {

/// A compiler's log as the reason of a row: at most 16 KiB, and UTF-8. Logs quote source lines, which may be
/// in any encoding; what is stored and exported must be UTF-8.
std::string reason_of_log(std::string log);

/// Why a source was not compiled, from NVRTC's log of it: the first error, and what a person needs to know
/// where a file was not found. `otherwise` is the reason where the log is empty; `refused` are names of files
/// that lead out of the kernel's folders.
std::string reason_of_failure(const std::string& log, const char* otherwise, const CompileRequest& request,
                              const std::set<std::string>& refused);

}  // namespace tiletune
