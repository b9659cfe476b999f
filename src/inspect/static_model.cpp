#include "inspect/static_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace tiletune {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMost = 1e6;

template <typename Owner>
struct Number {
  const char* key;
  double Owner::*member;
  bool may_be_zero;
};

constexpr std::array<Number<PipelineRates>, 10> kPipeline = {{
    {"shared_latency", &PipelineRates::shared_latency, false},
    {"l1_latency", &PipelineRates::l1_latency, false},
    {"l2_latency", &PipelineRates::l2_latency, false},
    {"other_latency", &PipelineRates::other_latency, false},
    {"barrier_latency", &PipelineRates::barrier_latency, true},
    {"operand_latency", &PipelineRates::operand_latency, true},
    {"memory_queue", &PipelineRates::memory_queue, true},
    {"l2_bytes_per_clock", &PipelineRates::l2_bytes_per_clock, false},
    {"bank_conflict_clocks", &PipelineRates::bank_conflict_clocks, true},
    {"burst_clocks", &PipelineRates::burst_clocks, true},
}};

constexpr std::array<Number<StaticModel>, 7> kLaunch = {{
    {"launch_us", &StaticModel::launch_us, true},
    {"loop_scale", &StaticModel::loop_scale, false},
    {"outside_scale", &StaticModel::outside_scale, true},
    {"byte_clocks", &StaticModel::byte_clocks, true},
    {"meeting_us", &StaticModel::meeting_us, true},
    {"cluster_us", &StaticModel::cluster_us, true},
    {"unhidden_share", &StaticModel::unhidden_share, true},
}};

const Json& member_of(const Json& object, const std::string& key, const Where& where, Json::value_t type,
                      const std::string& expected) {
  const auto found = object.find(key);
  if (found == object.end()) {
    throw UserError(fmt::format("'{}' is missing", key), where,
                    "Write the file again with tools/static_model.");
  }
  if (found->type() != type) {
    throw UserError(fmt::format("found {}, expected {}", found->dump(), expected), where.at(key),
                    "Write the file again with tools/static_model.");
  }
  return *found;
}

std::string text_of(const Json& object, const std::string& key, const Where& where) {
  auto text = member_of(object, key, where, Json::value_t::string, "a text").get<std::string>();
  if (trim(text).empty()) throw UserError("the text is empty", where.at(key), "Write one.");
  return text;
}

void check_keys(const Json& object, const std::vector<std::string>& known, const Where& where) {
  for (const auto& [key, unused] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw UserError(fmt::format("there is no '{}' in a static model", key), where.at(key),
                    "Remove or rename it." + suggestion(key, known));
  }
}

/// {"value": 30, "meaning": "..."}
double number_of(const Json& object, const std::string& key, bool may_be_zero, const Where& where) {
  const Json& entry = member_of(object, key, where, Json::value_t::object, "a value with its meaning");
  check_keys(entry, {"value", "meaning"}, where.at(key));
  text_of(entry, "meaning", where.at(key));
  const auto value = entry.find("value");
  const Where place = where.at(key).at("value");
  if (value == entry.end() || !value->is_number()) {
    throw UserError("the value is not a number", place, "Write the file again with tools/static_model.");
  }
  const auto number = value->get<double>();
  if (!std::isfinite(number) || number < 0 || number > kMost || (number == 0 && !may_be_zero)) {
    throw UserError(fmt::format("{} is out of bounds: {} 0, at most {:.0f}", number,
                                may_be_zero ? "at least" : "greater than", kMost),
                    place, "Correct the value, or write the file again with tools/static_model.");
  }
  return number;
}

template <typename Owner, std::size_t N>
void read_numbers(const Json& json, const std::string& key, const std::array<Number<Owner>, N>& numbers,
                  const Where& where, Owner& out) {
  const Json& section = member_of(json, key, where, Json::value_t::object, "an object");
  std::vector<std::string> known;
  for (const Number<Owner>& number : numbers) known.emplace_back(number.key);
  check_keys(section, known, where.at(key));
  for (const Number<Owner>& number : numbers) {
    out.*number.member = number_of(section, number.key, number.may_be_zero, where.at(key));
  }
}

}  // namespace

std::string StaticModel::provenance() const {
  if (calibrated_on.empty()) return "not calibrated";
  return fmt::format("calibrated on {}, {}", calibrated_on, calibrated_date);
}

std::string StaticModel::identity() const {
  std::string text = "static model 2";
  for (const auto& number : kPipeline) text += fmt::format(" {}", pipeline.*number.member);
  for (const auto& number : kLaunch) text += fmt::format(" {}", this->*number.member);
  return text;
}

StaticModel load_static_model(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const Where where{file.string(), ""};
  if (!json.is_object()) {
    throw UserError("a static model is an object", where,
                    "schemas/static_model.schema.json says what stands in it.");
  }
  check_keys(json, {"$schema", "calibrated_on", "pipeline", "launch"}, where);
  StaticModel model;
  const Json& source = member_of(json, "calibrated_on", where, Json::value_t::object, "an object");
  const Where place = where.at("calibrated_on");
  check_keys(source, {"gpu", "date", "rows", "problems", "held_out", "table"}, place);
  model.calibrated_on = text_of(source, "gpu", place);
  model.calibrated_date = text_of(source, "date", place);
  read_numbers(json, "pipeline", kPipeline, where, model.pipeline);
  read_numbers(json, "launch", kLaunch, where, model);
  return model;
}

}  // namespace tiletune
