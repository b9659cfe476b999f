// A list of configurations: a CSV file beside a config that names it.

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "spec/problem.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;

Parameter parameter(const std::string& name, std::vector<Value> values) {
  Parameter made;
  made.name = name;
  made.values = std::move(values);
  return made;
}

/// Two templates, which share a parameter.
std::vector<TemplateSpec> two_templates() {
  std::vector<TemplateSpec> specs(2);
  specs[0].name = "tile";
  specs[0].parameters = {parameter("BM", {std::int64_t{16}, std::int64_t{32}}),
                         parameter("TYPE", {std::string("float"), std::string("a,\"b\"")})};
  specs[1].name = "plain";
  specs[1].parameters = {parameter("BM", {std::int64_t{8}, 0.5}), parameter("FAST", {true, false})};
  return specs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = write_scratch("list.csv", text_of(data, size));
  const nlohmann::ordered_json name = "list.csv";
  for (const std::size_t templates : {1, 2}) {
    std::vector<TemplateSpec> specs = two_templates();
    specs.resize(templates);
    refused([&] {
      read_configurations({name, Where{"config.json", "/configurations"}}, file.parent_path(), false, specs);
      for (const TemplateSpec& spec : specs) {
        require(spec.listed.has_value(), "each template has a list");
        require(!spec.listed->empty(), "a list has rows");
      }
    });
  }
  return 0;
}
