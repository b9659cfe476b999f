#include "compile/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/cbor.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/nvrtc_program.h"
#include "compile/options.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

nlohmann::ordered_json to_json(const KernelSource& source, const Folders& folders) {
  nlohmann::ordered_json roots = nlohmann::ordered_json::array();
  for (const KernelSource::Root& root : source.roots) {
    const auto is_it = [&](const auto& folder) { return folder->path() == root.folder->path(); };
    const auto place = std::find_if(folders.begin(), folders.end(), is_it);
    if (place == folders.end()) throw std::logic_error("a kernel's folder was not given to the workers");
    roots.push_back({{"name", root.name}, {"folder", place - folders.begin()}});
  }
  return {{"name", source.name},
          {"text", source.text},
          {"roots", std::move(roots)},
          {"search_before", source.search_before},
          {"search_behind", source.search_behind},
          {"may_leave", source.may_leave}};
}

KernelSource kernel_source_from_json(const nlohmann::ordered_json& json, const Folders& folders) {
  KernelSource source;
  source.name = json.at("name").get<std::string>();
  source.text = json.at("text").get<std::string>();
  source.search_before = json.at("search_before").get<std::vector<std::string>>();
  source.search_behind = json.at("search_behind").get<std::vector<std::string>>();
  source.may_leave = json.at("may_leave").get<bool>();
  for (const auto& root : json.at("roots")) {
    const std::uint64_t number = message_unsigned(root.at("folder"));
    if (number >= folders.size()) throw ProtocolError("a compile request names a folder that does not exist");
    source.roots.push_back({root.at("name").get<std::string>(), folders[number]});
  }
  return source;
}

}  // namespace

std::string CompileRequest::key() const {
  Hasher hasher;
  hasher.add("cubin 2").add(nvrtc_version()).add(source.hash()).add(kernel_expression);
  for (const std::string& option : options) hasher.add(option);
  return hasher.hex();
}

nlohmann::ordered_json to_json(const CompileRequest& request, const Folders& folders) {
  return {{"source", to_json(request.source, folders)},
          {"options", request.options},
          {"kernel_expression", request.kernel_expression}};
}

CompileRequest compile_request_from_json(const nlohmann::ordered_json& json, const Folders& folders) {
  try {
    CompileRequest request;
    request.source = kernel_source_from_json(json.at("source"), folders);
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
    throw UserError(fmt::format("NVRTC {} cannot generate code for compute capability {}.{}", nvrtc_version(),
                                major, minor),
                    fmt::format("It knows {}. Build tiletune with a CUDA toolkit that supports this GPU.",
                                join(known, ", ")));
  }
  return fmt::format("sm_{}{}", wanted, wanted >= kFirstWithSpecific ? "a" : "");
}

CompileRequest make_compile_request(const CompilePolicy& policy, const KernelSource& source,
                                    const Instance& instance, const std::string& architecture) {
  CompileRequest request;
  request.source = source;
  request.kernel_expression = instance.kernel_expression;
  request.options = {
      "--gpu-architecture=" + architecture, "--std=c++17", "--device-as-default-execution-space",
      "--modify-stack-limit=false",  // it would change the limit of the whole process
  };
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

}  // namespace tiletune
