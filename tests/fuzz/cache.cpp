// A file of the cubin cache. The first byte chooses: the file as it is, or the magic and the right checksum
// put before it.

#include "compile/cache.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "fuzz/fuzz.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

const std::string kKey = "00fuzz";

void require_equal(const Compiled& first, const Compiled& second) {
  const Binary& a = *first.binary;
  const Binary& b = *second.binary;
  require(a.key == b.key && a.kernel_symbols == b.kernel_symbols && a.cubin == b.cubin &&
              first.dependencies == second.dependencies,
          "a binary comes back from the cache as it was stored");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const CubinCache cache(scratch_folder());
  if (size == 0) return 0;
  const std::string_view payload = text_of(data + 1, size - 1);
  const bool whole = (data[0] & 1) == 0;
  std::string header = whole ? "" : fmt::format("TTCUBIN2{:016x}", checksum64(payload));
  write_scratch(std::filesystem::relative(cache.path_of(kKey), scratch_folder()).string(),
                header.append(payload));
  const std::optional<Compiled> compiled = cache.load(kKey);
  require(compiled.has_value() == std::filesystem::exists(cache.path_of(kKey)), "a damaged file is removed");
  if (!compiled) return 0;
  require(compiled->binary->key == kKey && compiled->binary->from_cache, "no other key's binary is loaded");
  cache.store(*compiled);
  const std::optional<Compiled> again = cache.load(kKey);
  require(again.has_value(), "a stored binary can be loaded");
  require_equal(*again, *compiled);
  return 0;
}
