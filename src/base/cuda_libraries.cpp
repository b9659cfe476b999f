#include "base/cuda_libraries.h"

#include <fmt/format.h>

#include <algorithm>

namespace tiletune {

std::vector<std::string> cuda_library_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const std::string folder : {TILETUNE_CUDA_LIB_FOLDER "/", "", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"}) {
      const std::string name = fmt::format("{}lib{}.so.{}", folder, stem, version);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace tiletune
