#include "base/hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"

namespace tiletune {

struct Hasher::State {
  XXH3_state_t xxh;
};

// XXH3's state is declared with 64-byte alignment, which aligned new provides.
Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(std::string_view field) {
  const std::uint64_t length = field.size();
  XXH3_128bits_update(&state_->xxh, &length, sizeof length);
  XXH3_128bits_update(&state_->xxh, field.data(), field.size());
  return *this;
}

Hasher& Hasher::add(std::int64_t field) {
  return add(std::string_view(reinterpret_cast<const char*>(&field), sizeof field));
}

std::string Hasher::hex() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(&state_->xxh);
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

std::string hash_of_file(const std::filesystem::path& file, std::uint64_t most) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::ifstream in(file, std::ios::binary);
  Hasher hasher;
  std::string chunk(kChunk, '\0');
  while (in && most > 0) {
    in.read(chunk.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(chunk.size(), most)));
    hasher.add(std::string_view(chunk).substr(0, static_cast<std::size_t>(in.gcount())));
    most -= static_cast<std::uint64_t>(in.gcount());
  }
  if (!in.eof() && most > 0)
    throw UserError("the file cannot be read", Where{file.string(), ""}, "Check its permissions.");
  return hasher.hex();
}

std::uint64_t checksum64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::array<std::uint64_t, 2> checksum128(std::string_view bytes) {
  const XXH128_hash_t digest = XXH3_128bits(bytes.data(), bytes.size());
  return {digest.high64, digest.low64};
}

}  // namespace tiletune
