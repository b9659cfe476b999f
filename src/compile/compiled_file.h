#pragma once

#include <string>

#include "compile/binary.h"
#include "compile/request.h"

namespace tiletune {

/// The kernels of the file that a request names, which is compiled already: a cubin as it is, PTX as
/// nvJitLink assembles it. The file is a dependency. A cubin is not looked into: inspect/resources.h does
/// that.
Compiled load_compiled_file(const CompileRequest& request);

/// Loads nvJitLink, which assembles PTX, once. False when there is none.
bool has_nvjitlink();

/// The nvJitLink that is loaded: "13.0". Throws UserError when there is none.
const std::string& nvjitlink_version();

}  // namespace tiletune
