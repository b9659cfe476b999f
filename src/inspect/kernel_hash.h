#pragma once

#include <string>

#include "compile/binary.h"

namespace tiletune {

/// Hash of all that a GPU runs of a cubin when its kernels are launched, and of nothing else: code,
/// constants, initial values and resources, but no names, notes of tools and debugging information. So
/// kernels whose template arguments make no difference have one hash. Throws UserError when the cubin is
/// damaged.
std::string kernel_hash(const Binary& binary);

}  // namespace tiletune
