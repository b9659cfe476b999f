#include "author/signature.h"

#include <gtest/gtest.h>

namespace tiletune {
namespace signature_test {

TEST(ParameterTypes, StandInASymbol) {
  const auto types = parameter_types("x16tiletune_codesIJLi516ELi519ELi3075ELi0EEEv");
  ASSERT_EQ(types.size(), 4U);
  EXPECT_EQ(types[0].text(), "float");
  EXPECT_EQ(types[1].text(), "const float*");
  EXPECT_EQ(types[2].text(), "const a type of 24 bytes*");
  EXPECT_EQ(types[3].text(), "another type");
  EXPECT_TRUE(parameter_types("_Z1kPf").empty());
}

}  // namespace signature_test
}  // namespace tiletune
