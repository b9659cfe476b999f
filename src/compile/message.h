#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "compile/binary.h"
#include "compile/request.h"

namespace tiletune {

/// What the pool and its workers say to each other, as JSON by its lists of fields (base/fields_json.h).

/// First to a worker, which answers {"type": "ready"}.
struct WorkerSettings {
  std::vector<std::string> folders;    ///< paths of those that it inherited open, in their order
  bool may_leave = false;              ///< kernels may include files outside of them
  bool must_be_confined = false;       ///< a worker that cannot be confined ends instead
  std::uint64_t max_memory_bytes = 0;  ///< growth of its address space from here on

  static constexpr std::string_view kMessage = "settings";
  static constexpr auto fields() {
    using S = WorkerSettings;
    return std::tuple{field("folders", &S::folders), field("may_leave", &S::may_leave),
                      field("must_be_confined", &S::must_be_confined),
                      field("max_memory_bytes", &S::max_memory_bytes)};
  }
};

struct CompileReply {
  std::string key;
  Outcome outcome = Outcome::ok;
  std::string reason;
  double cpu_ms = 0;
  bool last = false;             ///< the worker ends after this reply
  std::optional<Binary> binary;  ///< when the outcome is ok
  Dependencies dependencies;

  static constexpr std::string_view kMessage = "compiled";
  static constexpr auto fields() {
    using R = CompileReply;
    return std::tuple{field("key", &R::key),
                      field("outcome", &R::outcome),
                      field("reason", &R::reason),
                      field("cpu_ms", &R::cpu_ms),
                      field("last", &R::last),
                      field("binary", &R::binary),
                      field("dependencies", &R::dependencies)};
  }
  std::string fault() const {
    const bool compiled = outcome == Outcome::ok;
    if (!compiled && outcome != Outcome::compile_failed && outcome != Outcome::compile_crashed)
      return "the outcome is not one of a compile worker";
    return binary.has_value() == compiled ? "" : "an answer has a binary if and only if it compiled";
  }
};

nlohmann::ordered_json ready_message();
bool is_ready_message(const nlohmann::ordered_json& message);

/// The message that asks for a binary. Throws std::logic_error for a kernel's folder that is not among
/// `folders`.
nlohmann::ordered_json compile_job(const CompileRequest& request, const Folders& folders);
/// Throws ProtocolError, also for a folder that does not exist.
CompileRequest request_of_job(const nlohmann::ordered_json& json, const Folders& folders);

}  // namespace tiletune
