#include "inspect/static_model.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "spec/reader.h"

namespace tiletune {
namespace {

constexpr std::array<std::string_view, 2> kNumberKeys{"value", "meaning"};

/// Each is {"value": 30, "meaning": "..."}.
template <typename Owner>
void read_numbers(const JsonNode& node, Owner& out) {
  static constexpr auto kKeys = field_names<Owner>();
  ObjectReader section(node, kKeys);
  for_each_field<Owner>([&](const auto& field) {
    ObjectReader number(section.need(field.name, "a value with its meaning"), kNumberKeys);
    read_string(number.need("meaning", "a text"), "a text");
    out.*field.member = read_number(number.need("value", "a number"), field.bounds);
  });
}

}  // namespace

std::string StaticModel::provenance() const {
  if (calibrated_on.empty()) return "not calibrated";
  return fmt::format("calibrated on {}, {}", calibrated_on, calibrated_date);
}

std::string StaticModel::identity() const {
  std::string text = "static model 2";
  for_each_field<PipelineRates>(
      [&](const auto& number) { text += fmt::format(" {}", pipeline.*number.member); });
  for_each_field<StaticModel>([&](const auto& number) { text += fmt::format(" {}", this->*number.member); });
  return text;
}

StaticModel load_static_model(const std::filesystem::path& file) {
  static constexpr std::array<std::string_view, 4> kModelKeys{"$schema", "calibrated_on", "pipeline",
                                                              "launch"};
  static constexpr std::array<std::string_view, 6> kSourceKeys{"gpu",      "date",     "rows",
                                                               "problems", "held_out", "table"};
  const nlohmann::ordered_json json = read_json(file);
  try {
    ObjectReader whole({json, {file.string(), ""}}, kModelKeys);
    ObjectReader source(whole.need("calibrated_on", "the GPU and the date"), kSourceKeys);
    StaticModel model;
    model.calibrated_on = read_string(source.need("gpu", "a text"), "a text");
    model.calibrated_date = read_string(source.need("date", "a text"), "a text");
    read_numbers(whole.need("pipeline", "numbers of a multiprocessor"), model.pipeline);
    read_numbers(whole.need("launch", "numbers of a launch"), model);
    return model;
  } catch (const UserError& error) {
    throw UserError(error.message(), error.where(), "Write the file again with tools/static_model.");
  }
}

}  // namespace tiletune
