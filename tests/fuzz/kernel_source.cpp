// A kernel's source, as `tiletune init` reads it before it is compiled.

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "author/init.h"
#include "compile/host_code.h"
#include "fuzz/fuzz.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

void check(const SourceFacts& facts, const KernelText& kernel) {
  Signature signature;
  for (std::size_t i = 0; i < kernel.parameter_names.size(); ++i)
    signature.parameters.push_back({i % 2 == 0, false, ElementType::i32, 1});
  Draft draft;
  if (refused([&] { draft = draft_manifest("k", "k.cu", facts, kernel, signature); })) return;
  const auto json = nlohmann::json::parse(draft.manifest, nullptr, false, true);
  require(json.is_object(), "a manifest is JSON with comments");
  for (const auto& parameter : json["parameters"])
    require(!parameter["values"].empty(), "a parameter has values");
  require(!decisions_in(draft.manifest).empty(), "a draft leaves something to decide");
}

void check_host_code(const std::string& text) {
  HostCode host(text);
  std::set<std::string> used;
  host.add_used(used);
  host.leave_out({2}, used);
  host.leave_out({1, 5}, used, true);
  host.leave_out_headers([](const std::string& header) { return header.size() % 2 == 0; });
  require(host.blanked().size() == text.size(), "what is left out keeps its place");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refused([&] {
    const SourceFacts facts = read_source_facts(text_of(data, size), "k.cu");
    for (const KernelText& kernel : facts.kernels) check(facts, kernel);
    check_host_code(std::string(text_of(data, size)));
  });
  return 0;
}
