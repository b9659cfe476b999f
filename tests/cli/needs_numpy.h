#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace tiletune {

inline bool has_numpy() { return std::system("python3 -c 'import numpy' >/dev/null 2>&1") == 0; }

}  // namespace tiletune

#define NEEDS_NUMPY() \
  if (!has_numpy()) GTEST_SKIP() << "python3 has no NumPy"
