#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace tiletune {

/// Of the Python that tiletune runs.
inline bool has_numpy() {
  return std::system("${TILETUNE_PYTHON:-python3} -c 'import numpy' >/dev/null 2>&1") == 0;
}

}  // namespace tiletune

#define NEEDS_NUMPY() \
  if (!has_numpy()) GTEST_SKIP() << "${TILETUNE_PYTHON:-python3} has no NumPy"
