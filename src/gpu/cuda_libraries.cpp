#include "gpu/cuda_libraries.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/error.h"
#include "gpu/library.h"

namespace tiletune {

namespace {

/// The MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL of library_types.h are 0, 1 and 2.
std::string version_by(const Library& library, const char* function) {
  int (*property)(int, int*) = nullptr;
  library.load_if_there(property, function);
  std::array<int, 3> parts{};
  for (int i = 0; i < 3; ++i) {
    if (property == nullptr || property(i, &parts.at(static_cast<std::size_t>(i))) != 0)
      return "unknown version";
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

CudaLibrary find(const char* name, const char* stem, const char* property) {
  try {
    const Library library(cuda_library_names(stem));
    return {name, std::filesystem::path(library.path()).lexically_normal().string(),
            version_by(library, property)};
  } catch (const GpuError&) {
    return {name, "", ""};
  }
}

}  // namespace

std::vector<std::string> cuda_library_names(const std::string& stem) {
  std::vector<std::string> names;
  for (const std::string folder : {"", TILETUNE_CUDA_LIB_FOLDER "/", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"})
      names.push_back(fmt::format("{}lib{}.so.{}", folder, stem, version));
  }
  return names;
}

CudaLibrary find_cublas() { return find("cuBLAS", "cublas", "cublasGetProperty"); }

CudaLibrary find_cublaslt() { return find("cuBLASLt", "cublasLt", "cublasLtGetProperty"); }

}  // namespace tiletune
