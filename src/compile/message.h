#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/frame.h"
#include "compile/binary.h"
#include "compile/request.h"

namespace tiletune {

/// What the pool and its workers say to each other. Reading throws ProtocolError when a member is missing or
/// of the wrong type.

/// First to a worker, which answers {"type": "ready"}.
struct WorkerSettings {
  std::filesystem::path cache_folder;  ///< absolute
  std::uint64_t max_memory_bytes = 0;  ///< growth of its address space from here on
};

struct CompileJob {
  CompileRequest request;
  bool return_binary = false;  ///< in the reply, although it is in the cache
};

struct CompileReply {
  std::string key;
  Outcome outcome = Outcome::ok;
  std::string reason;
  double cpu_ms = 0;
  bool from_cache = false;       ///< another process had compiled it meanwhile
  bool last = false;             ///< the worker ends after this reply
  std::optional<Binary> binary;  ///< absent when the parent finds it in the cache
};

nlohmann::ordered_json to_json(const Binary& binary);
Binary binary_from_json(const nlohmann::ordered_json& json);

nlohmann::ordered_json ready_message();
bool is_ready_message(const nlohmann::ordered_json& message);

nlohmann::ordered_json to_json(const WorkerSettings& settings);
WorkerSettings worker_settings_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const CompileJob& job);
CompileJob compile_job_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const CompileReply& reply);
CompileReply compile_reply_from_json(const nlohmann::ordered_json& json);

}  // namespace tiletune
