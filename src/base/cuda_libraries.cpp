#include "base/cuda_libraries.h"

#include <fmt/format.h>

namespace tiletune {

std::vector<std::string> cuda_library_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const std::string folder : {TILETUNE_CUDA_LIB_FOLDER "/", "", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"})
      names.push_back(fmt::format("{}lib{}.so.{}", folder, stem, version));
  }
  return names;
}

}  // namespace tiletune
