#include "compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/hash.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

// A file is the magic, the checksum of the rest as 16 hexadecimal digits, and the binary as CBOR.
constexpr std::string_view kMagic = "TTCUBIN2";
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kLargestFile = std::size_t{256} << 20;

struct Content {
  Binary binary;
  Dependencies dependencies;

  static constexpr auto fields() { return fields_of<&Content::binary, &Content::dependencies>(); }
};

std::string header(std::string_view payload) { return fmt::format("{}{:016x}", kMagic, checksum64(payload)); }

/// What is in a cache file; none when the file is torn, altered or another key's.
std::optional<Compiled> decode(const std::string& content, const std::string& key) {
  if (content.size() < kHeaderBytes) return std::nullopt;
  const std::string_view payload = std::string_view(content).substr(kHeaderBytes);
  if (content.compare(0, kHeaderBytes, header(payload)) != 0) return std::nullopt;
  try {
    auto read = from_json<Content>(decode_cbor(payload));
    if (read.binary.key != key) return std::nullopt;
    read.binary.from_cache = true;
    return Compiled{Outcome::ok, "", std::make_shared<const Binary>(std::move(read.binary)),
                    std::move(read.dependencies)};
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

std::optional<Compiled> CubinCache::load(const std::string& key) const {
  const fs::path path = path_of(key);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::optional<Compiled> compiled;
  try {
    if (is_private_file(file)) compiled = decode(read_open_file(file, path, kLargestFile), key);
  } catch (const UserError&) {
    return std::nullopt;
  }
  std::error_code ignored;
  if (!compiled) fs::remove(path, ignored);
  return compiled;
}

void CubinCache::store(const Compiled& compiled) const {
  std::string payload;
  nlohmann::ordered_json::to_cbor(to_json(Content{*compiled.binary, compiled.dependencies}), payload);
  const fs::path path = path_of(compiled.binary->key);
  try {
    write_private_file_atomically(path, header(payload) + payload);
  } catch (const UserError&) {
  }
}

CubinCache default_cubin_cache() { return CubinCache(cache_folder() / "cubin"); }

}  // namespace tiletune
