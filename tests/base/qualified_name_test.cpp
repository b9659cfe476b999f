#include <gtest/gtest.h>

#include "base/text.h"

namespace tiletune {
namespace qualified_name_test {

TEST(QualifiedName, IsNamesJoinedByColons) {
  for (const char* name : {"a", "a::b", "a1::_b::c"}) EXPECT_TRUE(is_qualified_name(name)) << name;
  for (const char* name : {"", "::a", "a::", "a:b", "a:::b", "a::1", "a b", "a::b<int>"})
    EXPECT_FALSE(is_qualified_name(name)) << name;
  EXPECT_EQ(unqualified("a::b::c"), "c");
  EXPECT_EQ(unqualified("c"), "c");
}

TEST(QualifiedName, OfAVariableIsASymbol) {
  EXPECT_EQ(symbol_of_variable("scale"), "scale");
  EXPECT_EQ(symbol_of_variable("foo::scale"), "_ZN3foo5scaleE");
  for (const char* name : {"scale", "foo::scale", "a::b::c"})
    EXPECT_EQ(variable_of_symbol(symbol_of_variable(name)), name);
  for (const char* symbol : {"_ZN3fooILi3EE1aE", "_ZNE", "_ZN99aE", "_ZN0E", "_ZN"})
    EXPECT_EQ(variable_of_symbol(symbol), symbol) << "it has no such name";
}

}  // namespace qualified_name_test
}  // namespace tiletune
