#include "base/hash.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/error.h"

namespace tiletune {

struct Hasher::State {
  XXH3_state_t xxh;
};

// XXH3's state is declared with 64-byte alignment, which aligned new provides.
Hasher::Hasher() : state_(std::make_shared<State>()) { XXH3_128bits_reset(&state_->xxh); }

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

std::string hash_of_file(const std::filesystem::path& file) {
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return hash_of_file(open, file, std::numeric_limits<std::uint64_t>::max());
}

std::string hash_of_file(const Descriptor& file, const std::filesystem::path& name, std::uint64_t most) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  Hasher hasher;
  std::string chunk(kChunk, '\0');
  for (std::uint64_t done = 0; done < most;) {
    const std::size_t wanted = std::min<std::uint64_t>(chunk.size(), most - done);
    const ssize_t got = ::pread(file.number(), chunk.data(), wanted, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw UserError("the file cannot be read", Where{name.string(), ""}, "Check its permissions.");
    if (got == 0) break;
    hasher.add(std::string_view(chunk).substr(0, static_cast<std::size_t>(got)));
    done += static_cast<std::uint64_t>(got);
  }
  return hasher.hex();
}

std::uint64_t checksum64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::array<std::uint64_t, 2> checksum128(std::string_view bytes) {
  const XXH128_hash_t digest = XXH3_128bits(bytes.data(), bytes.size());
  return {digest.high64, digest.low64};
}

}  // namespace tiletune
