#include "compile/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace tiletune {

std::string reason_of_log(std::string log) {
  constexpr std::size_t kLongestReason = std::size_t{16} << 10;
  if (log.size() > kLongestReason) {
    const std::size_t kept = std::min(log.rfind('\n', kLongestReason), kLongestReason);
    const std::size_t left_out = log.size() - kept;
    log.resize(kept);
    log += fmt::format("\n[{} more bytes of the compiler's log left out]", left_out);
  }
  const nlohmann::json quoted(log);
  return nlohmann::json::parse(quoted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tiletune
