#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "spec/tune_spec.h"

namespace tiletune {

/// Puts a template together by hand, with places as a manifest's.
class SpecBuilder {
 public:
  SpecBuilder() {
    spec_.name = "example";
    spec_.where = {"template.json", ""};
    spec_.operation.dimensions = {"M", "N", "K"};
    spec_.operation.scalars = {{"alpha", 1.5}, {"beta", 0.0}};
    spec_.launches.emplace_back().kernel = "example";
    spec_.operation.flops = {"2.0 * M * N * K", place().at("flops")};
    spec_.operation.bytes = {"4 * (M * K + K * N + M * N)", place().at("bytes")};
    spec_.operation.accumulation = {"1", place().at("accumulation")};
  }

  SpecBuilder& parameter(const std::string& name, std::vector<Value> values) {
    const Where where = place().at("parameters").at(spec_.parameters.size());
    spec_.parameters.push_back({name, std::move(values), "", where});
    return *this;
  }

  SpecBuilder& integers(const std::string& name, const std::vector<int>& values) {
    std::vector<Value> converted;
    for (const int value : values) converted.emplace_back(std::int64_t{value});
    return parameter(name, std::move(converted));
  }

  SpecBuilder& derived(const std::string& name, const std::string& value) {
    spec_.derived.push_back({name, {value, place().at("derived").at(spec_.derived.size()).at("value")}, ""});
    return *this;
  }

  SpecBuilder& require(const std::string& condition, const std::string& why = "") {
    const Where where = place().at("constraints").at(spec_.constraints.size()).at("require");
    spec_.constraints.push_back({{condition, where}, why});
    return *this;
  }

  TemplateSpec& spec() { return spec_; }
  operator const TemplateSpec&() const { return spec_; }

 private:
  static Where place() { return {"template.json", ""}; }

  TemplateSpec spec_;
};

/// "p7"
inline std::string numbered(char letter, int number) { return fmt::format("{}{}", letter, number); }

inline Problem problem(std::int64_t m = 1024, std::int64_t n = 512, std::int64_t k = 256) {
  return {{{"M", m}, {"N", n}, {"K", k}}};
}

}  // namespace tiletune
