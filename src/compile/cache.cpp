#include "compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/cbor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/private_folder.h"
#include "compile/message.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

// A file is the magic, the checksum of the rest as 16 hexadecimal digits, and the binary as CBOR.
constexpr std::string_view kMagic = "TTCUBIN1";
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kLargestFile = std::size_t{256} << 20;

std::string header(std::string_view payload) { return fmt::format("{}{:016x}", kMagic, checksum64(payload)); }

/// The binary in a cache file; none when the file is torn, altered or another key's.
std::optional<Binary> decode(const std::string& content, const std::string& key) {
  if (content.size() < kHeaderBytes) return std::nullopt;
  const std::string_view payload = std::string_view(content).substr(kHeaderBytes);
  if (content.compare(0, kHeaderBytes, header(payload)) != 0) return std::nullopt;
  try {
    Binary binary = binary_from_json(decode_cbor(payload));
    if (binary.key == key) return binary;
  } catch (const ProtocolError&) {
  }
  return std::nullopt;
}

}  // namespace

CubinCache::CubinCache(fs::path folder) : folder_(std::move(folder)) { make_private_folder(folder_); }

fs::path CubinCache::path_of(const std::string& key) const {
  // Two levels keep folders small: a large sweep has tens of thousands of cubins.
  return folder_ / key.substr(0, 2) / (key.substr(2) + ".cubin");
}

std::optional<Binary> CubinCache::load(const std::string& key) const {
  const fs::path path = path_of(key);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::optional<Binary> binary;
  try {
    if (is_private_file(file)) binary = decode(read_open_file(file, path, kLargestFile), key);
  } catch (const UserError&) {
    return std::nullopt;
  }
  if (binary) {
    binary->from_cache = true;
  } else {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  return binary;
}

bool CubinCache::store(const Binary& binary) const {
  std::string payload;
  nlohmann::ordered_json::to_cbor(to_json(binary), payload);
  try {
    write_private_file_atomically(path_of(binary.key), header(payload) + payload);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

CubinCache default_cubin_cache() { return CubinCache(cache_folder() / "cubin"); }

}  // namespace tiletune
