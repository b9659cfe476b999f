#include "compile/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/fields_json.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// Asks for a binary. A kernel's folders are numbers: the worker has inherited them open.
struct CompileJob {
  CompileRequest request;
  std::vector<std::pair<std::string, std::uint64_t>> roots;  ///< name, place in the worker's folders

  static constexpr std::string_view kMessage = "compile";
  static constexpr auto fields() {
    return std::tuple{field("request", &CompileJob::request), field("roots", &CompileJob::roots)};
  }
};

}  // namespace

std::string CompileRequest::key() const {
  static const std::string headers = [] {
    Hasher hasher;
    for (const NamedHeader& header : standard_headers()) hasher.add(header.name).add(header.text);
    return hasher.hex();
  }();
  Hasher hasher;
  hasher.add("cubin 4").add(nvrtc_version()).add(headers).add(source.hash());
  if (is_ptx(source.name)) hasher.add(nvjitlink_version());
  for (const std::string& expression : kernel_expressions) hasher.add(expression);
  for (const std::string& option : options) hasher.add(option);
  return hasher.hex();
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
  for (const KernelLaunch& launch : instance.launches)
    request.kernel_expressions.push_back(launch.kernel_expression);
  request.options = {"--gpu-architecture=" + architecture};
  if (!instance.compiled_file.empty()) {
    request.source.name = instance.compiled_file;
    std::vector<std::string> options;
    append_options(options, instance.compile_options);
    append_options(options, policy.options);
    std::copy_if(options.begin(), options.end(), std::back_inserter(request.options),
                 [&](const std::string& option) {
                   return is_ptx(request.source.name) && is_assembler_option(option);
                 });
    return request;
  }
  append_options(request.options,
                 {"--std=c++17", "--device-as-default-execution-space",
                  "--modify-stack-limit=false"});  // which would change the limit of the whole process
  append_options(request.options, instance.compile_options);
  append_options(request.options, policy.options);
  append_options(request.options, instance.defines);
  return request;
}

Json ready_message() { return {{"type", "ready"}}; }

bool is_ready_message(const Json& message) { return message == ready_message(); }

Json compile_job(const CompileRequest& request, const Folders& folders) {
  CompileJob job{request, {}};
  for (const KernelSource::Root& root : request.source.roots) {
    const auto is_it = [&](const auto& folder) { return folder->path() == root.folder->path(); };
    const auto place = std::find_if(folders.begin(), folders.end(), is_it);
    if (place == folders.end()) throw std::logic_error("a kernel's folder was not given to the workers");
    job.roots.emplace_back(root.name, place - folders.begin());
  }
  return to_json(job);
}

CompileRequest request_of_job(const Json& json, const Folders& folders) {
  auto job = from_json<CompileJob>(json);
  for (const auto& [name, number] : job.roots) {
    if (number >= folders.size()) throw ProtocolError("a compile request names a folder that does not exist");
    job.request.source.roots.push_back({name, folders[number]});
  }
  return std::move(job.request);
}

}  // namespace tiletune
