#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Where a library of the CUDA toolkit is looked for, by its name without prefix and suffix ("cublas"):
/// in the toolkit that tiletune was built with, through the loader, and where toolkits are installed, the
/// newest version first.
std::vector<std::string> cuda_library_names(const std::string& stem);

/// Where libnccl.so.2 is looked for, in this order: $TILETUNE_NCCL, beside the CUDA libraries that tiletune
/// was built with, through the loader, and in NVIDIA's wheel for each python3 on $PATH.
std::vector<std::string> nccl_library_names();

}  // namespace tiletune
