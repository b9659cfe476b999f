#include "gpu/blas_facts.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/cuda_libraries.h"
#include "base/error.h"
#include "base/library.h"

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

LibraryFacts find(const char* name, const char* stem, const char* property) {
  try {
    const Library library(cuda_library_names(stem));
    return {name, std::filesystem::path(library.path()).lexically_normal().string(),
            version_by(library, property)};
  } catch (const GpuError&) {
    return {name, "", ""};
  }
}

}  // namespace

LibraryFacts find_cublas() { return find("cuBLAS", "cublas", "cublasGetProperty"); }

LibraryFacts find_cublaslt() { return find("cuBLASLt", "cublasLt", "cublasLtGetProperty"); }

}  // namespace tiletune
