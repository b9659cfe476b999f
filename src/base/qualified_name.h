#pragma once

#include <string>
#include <string_view>

namespace tiletune {

/// "scale" of "foo::scale".
std::string_view unqualified(std::string_view name);

/// Whether it is identifiers joined by "::".
bool is_qualified_name(std::string_view text);

/// What a variable is called in a binary: "_ZN3foo5scaleE" of "foo::scale", "scale" of "scale".
std::string symbol_of_variable(std::string_view name);

/// The name in the source of such a symbol; another text stays as it is.
std::string variable_of_symbol(std::string_view symbol);

}  // namespace tiletune
