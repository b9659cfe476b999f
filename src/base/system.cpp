#include "base/system.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace tiletune {

namespace fs = std::filesystem;

namespace {

struct Magic {
  unsigned long type;
  const char* name;
};

/// statfs(2), and linux/magic.h; those of Lustre, GPFS, BeeGFS and PanFS are their drivers' own.
constexpr std::array kMagics{
    Magic{0x6969, "nfs"},        Magic{0x517B, "smb"},       Magic{0xFF534D42, "cifs"},
    Magic{0xFE534D42, "smb2"},   Magic{0x564C, "ncp"},       Magic{0x5346414F, "afs"},
    Magic{0x73757245, "coda"},   Magic{0x01021997, "9p"},    Magic{0x00C36400, "ceph"},
    Magic{0x0BD00BD0, "lustre"}, Magic{0x47504653, "gpfs"},  Magic{0x19830326, "beegfs"},
    Magic{0x01161970, "gfs2"},   Magic{0x7461636F, "ocfs2"}, Magic{0x20030528, "orangefs"},
    Magic{0xAAD7AAEA, "panfs"},  Magic{0x65735546, "fuse"},
};

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

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

std::string network_file_system(unsigned long type) {
  const auto* const found =
      std::find_if(kMagics.begin(), kMagics.end(), [&](const Magic& magic) { return magic.type == type; });
  return found == kMagics.end() ? "" : found->name;
}

std::string network_file_system(const fs::path& file) {
  std::error_code error;
  fs::path at = fs::absolute(file, error);
  while (!error && !fs::exists(at, error) && at != at.parent_path()) at = at.parent_path();
  struct statfs facts {};
  if (::statfs(at.c_str(), &facts) != 0) return "";
  // The kernel's type is signed where numbers above 2^31 do not fit.
  return network_file_system(static_cast<unsigned long>(facts.f_type) & 0xFFFFFFFFUL);
}

}  // namespace tiletune
