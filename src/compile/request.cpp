#include "compile/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/frame.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/nvrtc_program.h"
#include "compile/options.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

nlohmann::ordered_json to_json(const SourceBundle::File& file) {
  return {{"name", file.name}, {"text", file.text}};
}

SourceBundle::File file_from_json(const nlohmann::ordered_json& json) {
  return {json.at("name").get<std::string>(), json.at("text").get<std::string>()};
}

}  // namespace

std::string CompileRequest::key() const {
  Hasher hasher;
  hasher.add("cubin").add(nvrtc_version()).add(sources.hash()).add(kernel_expression);
  for (const std::string& option : options) hasher.add(option);
  return hasher.hex();
}

nlohmann::ordered_json to_json(const CompileRequest& request) {
  nlohmann::ordered_json headers = nlohmann::ordered_json::array();
  for (const SourceBundle::File& header : request.sources.headers) headers.push_back(to_json(header));
  return {{"main", to_json(request.sources.main)},
          {"headers", std::move(headers)},
          {"options", request.options},
          {"kernel_expression", request.kernel_expression}};
}

CompileRequest compile_request_from_json(const nlohmann::ordered_json& json) {
  try {
    CompileRequest request;
    request.sources.main = file_from_json(json.at("main"));
    for (const auto& header : json.at("headers")) request.sources.headers.push_back(file_from_json(header));
    request.options = json.at("options").get<std::vector<std::string>>();
    request.kernel_expression = json.at("kernel_expression").get<std::string>();
    return request;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError(fmt::format("not a compile request: {}", error.what()));
  }
}

std::string architecture_for(int major, int minor) {
  // The architecture-specific code ("a") of compute capability 9.0 and later runs on exactly that capability
  // and may use all its instructions, such as wgmma.
  constexpr int kFirstWithSpecific = 90;
  const int wanted = 10 * major + minor;
  const std::vector<int>& supported = supported_architectures();
  if (std::find(supported.begin(), supported.end(), wanted) == supported.end()) {
    std::vector<std::string> known;
    known.reserve(supported.size());
    for (const int one : supported) known.push_back(fmt::format("{}.{}", one / 10, one % 10));
    throw UserError(
        fmt::format("NVRTC {} makes no code for compute capability {}.{}", nvrtc_version(), major, minor),
        fmt::format("It knows {}. Build tiletune with a CUDA toolkit that supports this GPU.",
                    join(known, ", ")));
  }
  return fmt::format("sm_{}{}", wanted, wanted >= kFirstWithSpecific ? "a" : "");
}

CompileRequest make_compile_request(const CompilePolicy& policy, const SourceBundle& sources,
                                    const Instance& instance, const std::string& architecture) {
  CompileRequest request;
  request.sources = sources;
  request.kernel_expression = instance.kernel_expression;
  request.options = {
      "--gpu-architecture=" + architecture,
      "--std=c++17",
      "--device-as-default-execution-space",
      "--modify-stack-limit=false",  // it would change the limit of the whole process
      "--ptxas-options=-v",          // registers, spills and shared memory go to the log
  };
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

}  // namespace tiletune
