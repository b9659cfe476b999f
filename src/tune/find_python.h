#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace tiletune {

/// A Python that has NumPy.
struct Python {
  std::string executable;
  std::vector<std::string> places;  ///< files and folders that it reads
};

/// The one that TILETUNE_PYTHON names, else python3. It is looked for once in a process. Throws UserError,
/// with `where` for the place, when there is none, or it has no NumPy.
const Python& find_python(const Where& where);

/// The script that tells where a Python lies, and runs functions.
std::filesystem::path python_runner();

}  // namespace tiletune
