#pragma once

#include <string>

namespace tiletune {

/// A library of NVIDIA's as it would be loaded on this machine.
struct LibraryFacts {
  std::string name;     ///< "cuBLAS"
  std::string file;     ///< empty when it cannot be opened
  std::string version;  ///< "13.0.2"
};

/// Both are opened, and stay open, without a GPU or a context.
LibraryFacts find_cublas();
LibraryFacts find_cublaslt();

}  // namespace tiletune
