#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace tiletune {

/// 128-bit XXH3 over a sequence of fields. Each field is preceded by its length, so ("ab","c") and ("a","bc")
/// differ.
class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept = default;
  Hasher& operator=(Hasher&&) noexcept = default;

  Hasher& add(std::string_view field);
  Hasher& add(std::int64_t field);
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< not shared with another Hasher
};

/// As hex(), of what a file holds. Throws UserError when it cannot be read.
std::string hash_of_file(const std::filesystem::path& file);
/// Hashes the first `most` bytes of an open file that is called `name`.
std::string hash_of_file(const Descriptor& file, const std::filesystem::path& name, std::uint64_t most);

std::uint64_t checksum64(std::string_view bytes);
/// Wide enough to stand for the bytes themselves.
std::array<std::uint64_t, 2> checksum128(std::string_view bytes);

}  // namespace tiletune
