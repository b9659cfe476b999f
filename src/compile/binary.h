#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/outcome.h"
#include "compile/source.h"

namespace tiletune {

/// The largest kernel. One and its reference, so two of the largest, fit into one message (kMaxFrameBytes).
inline constexpr std::size_t kMostCubinBytes = std::size_t{24} << 20;

/// Compiled kernels as they lie in the cache.
struct Binary {
  std::string key;                          ///< their compile request's
  std::vector<std::string> kernel_symbols;  ///< mangled names in the module, by the request's expressions
  std::string cubin;                        ///< ELF image
  double compile_ms = 0;                    ///< CPU time of the compile worker, when it was compiled
  bool from_cache = false;

  static constexpr auto fields() {
    using B = Binary;
    return list_of(field("key", &B::key), field("kernel_symbols", &B::kernel_symbols),
                   field("compile_ms", &B::compile_ms), binary_field("cubin", &B::cubin));
  }
};

/// The result of compiling one request.
struct Compiled {
  Outcome outcome = Outcome::ok;         ///< ok, compile_failed, compile_timeout or compile_crashed
  std::string reason;                    ///< the compiler's log, or how the worker ended
  std::shared_ptr<const Binary> binary;  ///< when ok
  Dependencies dependencies = {};        ///< what the result rests on besides the request
};

}  // namespace tiletune
