#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Where a library of the CUDA toolkit is looked for, by its name without prefix and suffix ("cublas"):
/// through the loader, beside NVRTC, and where toolkits are installed, the newest version first.
std::vector<std::string> cuda_library_names(const std::string& stem);

/// A library of the CUDA toolkit as it would be loaded on this machine.
struct CudaLibrary {
  std::string name;     ///< "cuBLAS"
  std::string file;     ///< empty when it cannot be opened
  std::string version;  ///< "13.0.2"
};

/// Both are opened, and stay open, without a GPU or a context.
CudaLibrary find_cublas();
CudaLibrary find_cublaslt();

}  // namespace tiletune
