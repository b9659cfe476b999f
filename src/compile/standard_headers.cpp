#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/compiler.h"

namespace tiletune {

/// The headers of the folder headers, which CMake embeds. NVRTC has the functions of <cmath> without a
/// header, and libcu++'s takes half a second to compile; its <cfloat> defines nothing for NVRTC.
extern const std::string_view kMathHeader, kFloatHeader, kStdioHeader, kAlgorithmHeader, kCubHeaders, kMacros;

namespace {

/// Headers of libcu++ by the names that sources include. It has those of C as <cstdint> alone.
constexpr std::array kForwarded{
    "stdint.h", "cstdint",  "stddef.h",   "cstddef",          "limits.h", "climits", "string.h", "cstring",
    "stdlib.h", "cstdlib",  "assert.h",   "cassert",          "array",    "atomic",  "bit",      "bitset",
    "complex",  "concepts", "functional", "initializer_list", "iterator", "limits",  "numeric",  "optional",
    "ratio",    "span",     "tuple",      "type_traits",      "utility",  "variant", "version",  "chrono"};

std::string forward(std::string_view name) {
  const bool is_of_c = name.ends_with(".h");
  const std::string to = is_of_c ? fmt::format("c{}", name.substr(0, name.size() - 2)) : std::string(name);
  return fmt::format(
      "#pragma once\n#include <cuda/std/{}>\nnamespace cuda {{ namespace std {{}} }}\n"
      "namespace std {{\nusing namespace cuda::std;\n}}\n",
      to);
}

}  // namespace

std::span<const NamedHeader> standard_headers() {
  static const std::vector<NamedHeader> all = [] {
    std::vector<NamedHeader> headers;
    for (const auto& [name, text] : {std::pair{kPrelude, kMacros},
                                     {"math.h", kMathHeader},
                                     {"cmath", kMathHeader},
                                     {"float.h", kFloatHeader},
                                     {"cfloat", kFloatHeader},
                                     {"stdio.h", kStdioHeader},
                                     {"cstdio", kStdioHeader},
                                     {"algorithm", kAlgorithmHeader},
                                     {kCubHeader, kCubHeaders}})
      headers.push_back({name, std::string(text)});
    for (const char* name : kForwarded) headers.push_back({name, forward(name)});
    return headers;
  }();
  return all;
}

}  // namespace tiletune
