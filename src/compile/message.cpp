#include "compile/message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/fields_json.h"

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
