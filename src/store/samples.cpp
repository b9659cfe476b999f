#include "store/samples.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"

namespace tiletune {

static_assert(std::endian::native == std::endian::little,
              "samples are stored as the host lays out its doubles");

Blob pack_samples(const std::vector<double>& samples) {
  Blob blob(samples.size() * sizeof(double));
  if (!samples.empty()) std::memcpy(blob.data(), samples.data(), blob.size());
  return blob;
}

std::vector<double> unpack_samples(const Blob& blob) {
  if (blob.size() % sizeof(double) != 0) {
    throw UserError(
        fmt::format("samples_us holds {} bytes, which is no whole number of 8-byte samples", blob.size()),
        "The row was not written by tiletune; measure that configuration again.");
  }
  std::vector<double> samples(blob.size() / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), blob.data(), blob.size());
  return samples;
}

}  // namespace tiletune
