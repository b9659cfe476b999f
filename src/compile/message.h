#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/frame.h"
#include "compile/binary.h"
#include "compile/request.h"

namespace tiletune {

/// What the pool and its workers say to each other. Reading throws ProtocolError when a member is missing or
/// of the wrong type.

/// First to a worker, which answers {"type": "ready"}.
struct WorkerSettings {
  std::vector<std::string> folders;    ///< paths of those that it inherited open, in their order
  bool may_leave = false;              ///< kernels may include files outside of them
  bool must_be_confined = false;       ///< a worker that cannot be confined ends instead
  std::uint64_t max_memory_bytes = 0;  ///< growth of its address space from here on
};

struct CompileReply {
  std::string key;
  Outcome outcome = Outcome::ok;
  std::string reason;
  double cpu_ms = 0;
  bool last = false;             ///< the worker ends after this reply
  std::optional<Binary> binary;  ///< when the outcome is ok
  Dependencies dependencies;
};

nlohmann::ordered_json to_json(const Binary& binary);
Binary binary_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const Dependencies& dependencies);
Dependencies dependencies_from_json(const nlohmann::ordered_json& json);

nlohmann::ordered_json ready_message();
bool is_ready_message(const nlohmann::ordered_json& message);

nlohmann::ordered_json to_json(const WorkerSettings& settings);
WorkerSettings worker_settings_from_json(const nlohmann::ordered_json& json);
/// The message that asks for a binary.
nlohmann::ordered_json compile_job(const CompileRequest& request, const Folders& folders);
CompileRequest request_of_job(const nlohmann::ordered_json& json, const Folders& folders);
nlohmann::ordered_json to_json(const CompileReply& reply);
CompileReply compile_reply_from_json(const nlohmann::ordered_json& json);

}  // namespace tiletune
