#pragma once

#include <vector>

#include "store/columns.h"

namespace tiletune {

/// Samples as they lie in the columns samples_us and clocks_mhz. Every double comes back bit for bit, so that
/// statistics over stored samples reproduce the stored ones exactly.
///
/// Times of one kernel lie close together on a grid: that of the GPU's timer, of single-precision
/// milliseconds, or of the digits they were rounded to. What is kept are their places on it:
///
///   byte     0: doubles follow, little-endian; 1: unit 2^exponent; 2: unit 10^-exponent
///   varint   exponent (zigzag)
///   varint   number of samples
///   varint   smallest sample, in units (zigzag)
///   varint   step, in units
///   byte     bits per place
///   bits     places, least significant bit first; a sample is unit * (smallest + step * place)
///
/// Varints are little-endian groups of seven bits, as in Protocol Buffers. Samples without such a grid (NaN,
/// infinities, a negative zero, magnitudes far apart) are kept as doubles.
Blob pack_samples(const std::vector<double>& samples);
/// Throws UserError when the blob is none of these.
std::vector<double> unpack_samples(const Blob& blob);

}  // namespace tiletune
