#pragma once

#include <vector>

#include "store/columns.h"

namespace tiletune {

/// Samples as they lie in the column samples_us: IEEE 754 doubles, little-endian, one after the other.
/// Doubles and not floats, so that statistics over stored samples reproduce the stored median exactly.
Blob pack_samples(const std::vector<double>& samples);
/// Throws UserError when the size is no multiple of 8.
std::vector<double> unpack_samples(const Blob& blob);

}  // namespace tiletune
