#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "carries.h"
#include "cli/process.h"

namespace tiletune {

inline constexpr int kNothingToDo = 1;
inline constexpr int kUserError = 2;

/// The exit code, and parts that standard error must hold: the place, what is wrong, the remedy.
inline void expect_error(const Finished& run, int code, const std::vector<std::string>& parts) {
  EXPECT_EQ(run.code, code) << run.out << run.err;
  EXPECT_TRUE(carries(run.err, parts));
}

}  // namespace tiletune
