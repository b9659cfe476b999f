#include <gtest/gtest.h>

#include <sstream>

#include "base/system.h"

namespace tiletune {
namespace available_memory_test {

TEST(AvailableMemory, IsReadFromWhatLinuxSays) {
  std::istringstream meminfo("MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:    2000 kB\n");
  EXPECT_EQ(available_memory_bytes(meminfo), 2000U * 1024);
}

TEST(AvailableMemory, IsUnknownWhereLinuxDoesNotSay) {
  std::istringstream old("MemTotal: 8000 kB\nMemFree: 100 kB\n");
  EXPECT_EQ(available_memory_bytes(old), std::nullopt);
  std::istringstream damaged("MemAvailable: many kB\n");
  EXPECT_EQ(available_memory_bytes(damaged), std::nullopt);
}

TEST(AvailableMemory, OfThisMachineIsKnown) { EXPECT_GT(available_memory_bytes(), 0U); }

}  // namespace available_memory_test
}  // namespace tiletune
