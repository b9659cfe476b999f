#pragma once

#include <string>

#include "spec/tune_spec.h"

namespace tiletune {

/// Hash of a function of Python: its name, its file, and the modules that the file may import from its own
/// folder: files *.py there and below, but for hidden folders and virtual environments. Throws UserError when
/// these are too many.
std::string hash_of_python(const PythonReference& reference);

}  // namespace tiletune
