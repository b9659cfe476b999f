#include "measure/confined_worker.h"

#include <fcntl.h>
#include <link.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/confinement.h"
#include "base/descriptor.h"
#include "base/file.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// Where the libraries of this process lie: others are loaded from beside them.
std::set<fs::path> library_folders() {
  std::set<fs::path> folders;
  const auto add = [](dl_phdr_info* info, std::size_t /*bytes*/, void* to) {
    std::error_code missing;
    const fs::path file = fs::canonical(info->dlpi_name, missing);
    if (!missing) static_cast<std::set<fs::path>*>(to)->insert(file.parent_path());
    return 0;
  };
  ::dl_iterate_phdr(add, &folders);
  return folders;
}

/// Those of the paths that are there, open.
std::vector<Descriptor> places(const std::set<fs::path>& paths) {
  std::vector<Descriptor> open;
  for (const fs::path& path : paths) {
    Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (place.is_open()) open.push_back(std::move(place));
  }
  return open;
}

std::vector<int> numbers(const std::vector<Descriptor>& descriptors) {
  std::vector<int> numbers;
  for (const Descriptor& descriptor : descriptors) numbers.push_back(descriptor.number());
  return numbers;
}

}  // namespace

void confine_gpu_worker(bool must, const WorkerReach& reach) {
  if (!may_be_confined(must)) return;
  std::set<fs::path> readable = library_folders();
  readable.insert({"/usr", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys", cache_folder()});
  readable.insert(reach.readable.begin(), reach.readable.end());
  const std::vector<Descriptor> read = places(readable);
  std::set<fs::path> devices{"/dev/null", "/dev/zero", "/dev/dxg", "/dev/nvidia-caps", "/proc/self"};
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev", none)) {
    if (entry.path().filename().string().starts_with("nvidia")) devices.insert(entry.path());
  }
  devices.insert(reach.writable.begin(), reach.writable.end());
  const std::vector<Descriptor> written = places(devices);
  confine({numbers(read), numbers(written), true});
}

}  // namespace tiletune
