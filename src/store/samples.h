#pragma once

#include <vector>

#include "store/columns.h"

namespace tiletune {

/// Samples as they lie in the columns samples_us and clocks_mhz. Every double comes back bit for bit, so that
/// statistics over stored samples reproduce the stored ones exactly. The first byte tells the layout:
///
///   0  doubles follow, little-endian
///   3  two bytes give their number, little-endian; a raw deflate stream (RFC 1951) of them follows
///
/// It is 3 where that takes fewer bytes. Version 0.1 wrote 1 and 2.
Blob pack_samples(const std::vector<double>& samples);
/// Throws UserError when the blob is none of these.
std::vector<double> unpack_samples(const Blob& blob);

}  // namespace tiletune
