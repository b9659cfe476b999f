#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/compiler.h"

namespace tiletune {

namespace {

/// Headers of libcu++ by the names that sources include. It has those of C as <cstdint> alone.
constexpr std::array kForwarded{
    "stdint.h", "cstdint",  "stddef.h",   "cstddef",          "limits.h", "climits", "string.h", "cstring",
    "stdlib.h", "cstdlib",  "assert.h",   "cassert",          "array",    "atomic",  "bit",      "bitset",
    "complex",  "concepts", "functional", "initializer_list", "iterator", "limits",  "numeric",  "optional",
    "ratio",    "span",     "tuple",      "type_traits",      "utility",  "variant", "version",  "chrono"};

/// NVRTC has these functions without a header; libcu++'s <cmath> takes half a second to compile.
constexpr std::string_view kMath = R"(#pragma once
namespace std {
using ::abs; using ::acos; using ::acosf; using ::acosh; using ::acoshf; using ::asin; using ::asinf; using ::asinh;
using ::asinhf; using ::atan; using ::atan2; using ::atan2f; using ::atanf; using ::atanh; using ::atanhf; using ::cbrt;
using ::cbrtf; using ::ceil; using ::ceilf; using ::copysign; using ::copysignf; using ::cos; using ::cosf; using ::cosh;
using ::coshf; using ::erf; using ::erfc; using ::erfcf; using ::erff; using ::exp; using ::exp2; using ::exp2f;
using ::expf; using ::expm1; using ::expm1f; using ::fabs; using ::fabsf; using ::fdim; using ::fdimf; using ::floor;
using ::floorf; using ::fma; using ::fmaf; using ::fmax; using ::fmaxf; using ::fmin; using ::fminf; using ::fmod;
using ::fmodf; using ::frexp; using ::frexpf; using ::hypot; using ::hypotf; using ::ilogb; using ::ilogbf;
using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::ldexpf; using ::lgamma; using ::lgammaf;
using ::llrint; using ::llrintf; using ::llround; using ::llroundf; using ::log; using ::log10; using ::log10f;
using ::log1p; using ::log1pf; using ::log2; using ::log2f; using ::logb; using ::logbf; using ::logf; using ::lrint;
using ::lrintf; using ::lround; using ::lroundf; using ::modf; using ::modff; using ::nearbyint; using ::nearbyintf;
using ::nextafter; using ::nextafterf; using ::pow; using ::powf; using ::remainder; using ::remainderf; using ::remquo;
using ::remquof; using ::rint; using ::rintf; using ::round; using ::roundf; using ::scalbln; using ::scalblnf;
using ::scalbn; using ::scalbnf; using ::signbit; using ::sin; using ::sinf; using ::sinh; using ::sinhf; using ::sqrt;
using ::sqrtf; using ::tan; using ::tanf; using ::tanh; using ::tanhf; using ::tgamma; using ::tgammaf; using ::trunc;
using ::truncf;
}
)";

/// libcu++'s <cfloat> defines nothing for NVRTC.
constexpr std::string_view kFloat = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX 3.40282346638528859812e+38f
#define FLT_MIN 1.17549435082228750797e-38f
#define FLT_TRUE_MIN 1.40129846432481707092e-45f
#define FLT_EPSILON 1.19209289550781250000e-7f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX 1.79769313486231570815e+308
#define DBL_MIN 2.22507385850720138309e-308
#define DBL_TRUE_MIN 4.94065645841246544177e-324
#define DBL_EPSILON 2.22044604925031308085e-16
)";

constexpr std::string_view kStdio = R"(#pragma once
#include <cuda/std/cstddef>
namespace std {
using ::printf;
}
)";

constexpr std::string_view kAlgorithm = R"(#pragma once
#include <cuda/std/__algorithm/clamp.h>
#include <cuda/std/__algorithm/max.h>
#include <cuda/std/__algorithm/min.h>
#include <cuda/std/utility>
namespace std {
using namespace cuda::std;
}
)";

constexpr std::string_view kCub = R"(#pragma once
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
)";

constexpr std::array<std::pair<const char*, const char*>, 17> kMacros{
    {{"INFINITY", "__int_as_float(0x7f800000)"},
     {"NAN", "__int_as_float(0x7fffffff)"},
     {"HUGE_VALF", "__int_as_float(0x7f800000)"},
     {"HUGE_VAL", "__longlong_as_double(0x7ff0000000000000ll)"},
     {"M_E", "2.7182818284590452354"},
     {"M_LOG2E", "1.4426950408889634074"},
     {"M_LOG10E", "0.43429448190325182765"},
     {"M_LN2", "0.69314718055994530942"},
     {"M_LN10", "2.30258509299404568402"},
     {"M_PI", "3.14159265358979323846"},
     {"M_PI_2", "1.57079632679489661923"},
     {"M_PI_4", "0.78539816339744830962"},
     {"M_1_PI", "0.31830988618379067154"},
     {"M_2_PI", "0.63661977236758134308"},
     {"M_2_SQRTPI", "1.12837916709551257390"},
     {"M_SQRT2", "1.41421356237309504880"},
     {"M_SQRT1_2", "0.70710678118654752440"}}};

std::string prelude() {
  std::string text;
  for (const auto& [name, value] : kMacros)
    text += fmt::format("#ifndef {0}\n#define {0} {1}\n#endif\n", name, value);
  return text;
}

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
    std::vector<NamedHeader> headers{{kPrelude, prelude()},           {"math.h", std::string(kMath)},
                                     {"cmath", std::string(kMath)},   {"float.h", std::string(kFloat)},
                                     {"cfloat", std::string(kFloat)}, {"stdio.h", std::string(kStdio)},
                                     {"cstdio", std::string(kStdio)}, {"algorithm", std::string(kAlgorithm)},
                                     {kCubHeader, std::string(kCub)}};
    for (const char* name : kForwarded) headers.push_back({name, forward(name)});
    return headers;
  }();
  return all;
}

}  // namespace tiletune
