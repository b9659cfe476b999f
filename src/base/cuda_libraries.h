#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Where a library of the CUDA toolkit is looked for, by its name without prefix and suffix ("cublas"):
/// in the toolkit that tiletune was built with, through the loader, and where toolkits are installed, the
/// newest version first.
std::vector<std::string> cuda_library_names(const std::string& stem);

}  // namespace tiletune
