#include "tune/array_hashes.h"

#include "base/hash.h"

namespace tiletune {

std::string ArrayHashes::of(const Workload& workload) {
  Hasher hasher;
  bool has_files = false;
  for (const auto& buffer : workload.buffers) {
    for (const auto* file : {&buffer.file, &buffer.expected}) {
      if (!*file) continue;
      has_files = true;
      const auto count = static_cast<std::uint64_t>(buffer.values());
      hasher.add(buffer.name).add(of_file(**file, (*file)->offset + count * size_bytes((*file)->type)));
    }
  }
  return has_files ? hasher.hex() : "";
}

/// What lies behind the numbers is not read.
const std::string& ArrayHashes::of_file(const ArrayFile& file, std::uint64_t bytes) {
  const auto [entry, is_new] = by_file_.try_emplace({file.path, file.version, bytes});
  if (is_new) entry->second = hash_of_file(open_array(file), file.path, bytes);
  return entry->second;
}

}  // namespace tiletune
