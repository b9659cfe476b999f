#include "compile/message.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/cbor.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Reads a message of one type; whatever nlohmann/json objects to becomes a ProtocolError.
template <typename Read>
auto read_message(const Json& json, const char* type, Read read) {
  try {
    if (json.at("type").get<std::string>() != type) throw ProtocolError(fmt::format("'{}' expected", type));
    return read();
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("in a message '{}': {}", type, error.what()));
  }
}

Outcome outcome_of_reply(const std::string& text) {
  const auto outcome = outcome_from_name(text);
  if (outcome == Outcome::ok || outcome == Outcome::compile_failed || outcome == Outcome::compile_crashed) {
    return *outcome;
  }
  throw ProtocolError(fmt::format("'{}' is not an outcome of a compile worker", text));
}

}  // namespace

Json to_json(const Binary& binary) {
  return {{"key", binary.key},
          {"kernel_symbol", binary.kernel_symbol},
          {"compile_ms", binary.compile_ms},
          {"cubin", Json::binary({binary.cubin.begin(), binary.cubin.end()})}};
}

Binary binary_from_json(const Json& json) {
  try {
    const auto& cubin = json.at("cubin").get_binary();
    Binary binary;
    binary.key = json.at("key").get<std::string>();
    binary.kernel_symbol = json.at("kernel_symbol").get<std::string>();
    binary.compile_ms = json.at("compile_ms").get<double>();
    binary.cubin.assign(cubin.begin(), cubin.end());
    return binary;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("not a binary: {}", error.what()));
  }
}

Json to_json(const Dependencies& dependencies) {
  Json json = Json::array();
  for (const auto& [name, hash] : dependencies) json.push_back(Json::array({name, hash}));
  return json;
}

Dependencies dependencies_from_json(const Json& json) {
  try {
    Dependencies dependencies;
    for (const Json& pair : json)
      dependencies.emplace(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
    return dependencies;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("not dependencies: {}", error.what()));
  }
}

Json ready_message() { return {{"type", "ready"}}; }

bool is_ready_message(const Json& message) { return message == ready_message(); }

Json to_json(const WorkerSettings& settings) {
  return {{"type", "settings"},
          {"folders", settings.folders},
          {"may_leave", settings.may_leave},
          {"must_be_confined", settings.must_be_confined},
          {"max_memory_bytes", settings.max_memory_bytes}};
}

WorkerSettings worker_settings_from_json(const Json& json) {
  return read_message(json, "settings", [&] {
    return WorkerSettings{json.at("folders").get<std::vector<std::string>>(),
                          json.at("may_leave").get<bool>(), json.at("must_be_confined").get<bool>(),
                          message_unsigned(json.at("max_memory_bytes"))};
  });
}

Json compile_job(const CompileRequest& request, const Folders& folders) {
  return {{"type", "compile"}, {"request", to_json(request, folders)}};
}

CompileRequest request_of_job(const Json& json, const Folders& folders) {
  return read_message(json, "compile",
                      [&] { return compile_request_from_json(json.at("request"), folders); });
}

Json to_json(const CompileReply& reply) {
  Json json{{"type", "compiled"},
            {"key", reply.key},
            {"outcome", name(reply.outcome)},
            {"reason", reply.reason},
            {"cpu_ms", reply.cpu_ms},
            {"last", reply.last},
            {"dependencies", to_json(reply.dependencies)}};
  if (reply.binary) json["binary"] = to_json(*reply.binary);
  return json;
}

CompileReply compile_reply_from_json(const Json& json) {
  return read_message(json, "compiled", [&] {
    CompileReply reply;
    reply.key = json.at("key").get<std::string>();
    reply.outcome = outcome_of_reply(json.at("outcome").get<std::string>());
    reply.reason = json.at("reason").get<std::string>();
    reply.cpu_ms = json.at("cpu_ms").get<double>();
    reply.last = json.at("last").get<bool>();
    reply.dependencies = dependencies_from_json(json.at("dependencies"));
    if (json.contains("binary")) reply.binary = binary_from_json(json.at("binary"));
    if (reply.binary.has_value() != (reply.outcome == Outcome::ok))
      throw ProtocolError("an answer has a binary if and only if it compiled");
    return reply;
  });
}

}  // namespace tiletune
