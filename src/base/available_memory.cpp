#include "base/available_memory.h"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tiletune {

std::optional<std::uint64_t> available_memory_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  return available_memory_bytes(meminfo);
}

std::optional<std::uint64_t> available_memory_bytes(std::istream& meminfo) {
  constexpr std::uint64_t kKibibyte = 1024;
  std::string line;
  while (std::getline(meminfo, line)) {
    constexpr std::string_view kLabel = "MemAvailable:";
    if (!line.starts_with(kLabel)) continue;
    std::istringstream rest(line.substr(kLabel.size()));
    std::uint64_t kibibytes = 0;
    if (rest >> kibibytes) return kibibytes * kKibibyte;
  }
  return std::nullopt;
}

}  // namespace tiletune
