#include "cli/single_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "rank/parameters.h"
#include "rank/ranking.h"
#include "space/space.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/values.h"
#include "tune/row.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Where set_flag(const std::string& name) { return {"--set " + name, ""}; }

struct Setting {
  std::string name;
  std::string value;
};

Setting parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size())
    return {text.substr(0, equals), text.substr(equals + 1)};
  throw UserError(fmt::format("'{}' sets nothing", text), Where{"--set", ""},
                  "Write a parameter's name and its value: --set BM=128.");
}

std::optional<double> finite(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && rest == end && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

std::vector<std::string> texts_of(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const Value& value : values) texts.push_back(to_text(value));
  return texts;
}

/// The value as the template lists it, which may write 1 as 1.0; null when it does not.
const Value* find_listed(const Value& value, const Parameter& parameter) {
  return find_value(parameter.values, json_text(to_json(value)));
}

/// What is typed, as a value of the parameter. Throws UserError.
Value typed_value(const std::string& text, const Parameter& parameter, bool extend) {
  const auto value = parse_value(text, parameter);
  const std::vector<std::string> known = texts_of(parameter.values);
  const std::string remedy = fmt::format("Use one of {}", join(known, ", "));
  if (!value) {
    throw UserError(fmt::format("'{}' is not {}", text, kind_of(parameter)), set_flag(parameter.name),
                    remedy + ".");
  }
  if (const Value* listed = find_listed(*value, parameter)) return *listed;
  if (extend) return *value;
  const auto near = std::holds_alternative<std::string>(*value) ? nearest(text, known) : std::nullopt;
  throw UserError(fmt::format("{} is not among the template's values", text), set_flag(parameter.name),
                  near ? fmt::format("Did you mean '{}'?", *near) : remedy + ", or add --extend.");
}

std::vector<std::string> names_of(const TemplateSpec& kernel) {
  std::vector<std::string> names;
  for (const Parameter& parameter : kernel.parameters) names.push_back(parameter.name);
  for (const auto& scalar : kernel.operation.scalars) names.push_back(scalar.first);
  return names;
}

bool set_parameter(SingleConfiguration& one, const Setting& setting) {
  auto& parameters = one.kernel.parameters;
  const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const Parameter& known) { return known.name == setting.name; });
  if (parameter == parameters.end()) return false;
  parameter->values = {typed_value(setting.value, *parameter, one.extend)};
  return true;
}

bool set_scalar_of(SingleConfiguration& one, const Setting& setting) {
  const auto& scalars = one.kernel.operation.scalars;
  const bool known = std::any_of(scalars.begin(), scalars.end(),
                                 [&](const auto& scalar) { return scalar.first == setting.name; });
  if (!known) return false;
  const auto value = finite(setting.value);
  if (!value) {
    throw UserError(fmt::format("'{}' is not a number", setting.value), set_flag(setting.name),
                    "Write a number such as 1 or -0.5.");
  }
  set_scalar(one.kernel, setting.name, *value);
  one.scalars[setting.name] = *value;
  return true;
}

bool has_choice(const Choices& choices, const std::string& name) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](const auto& choice) { return choice.first == name; });
}

/// Takes the settings that choose types and options.
void choose_variant(SingleConfiguration& one, std::vector<Setting>& settings, const LoadOptions& load) {
  const Operation offered = one.kernel.operation;
  Variant variant = variant_of(offered);
  const auto choose = [&](Choices& choices, const std::vector<Choices>& all, const char* what) {
    Json wanted = Json::object();
    std::erase_if(settings, [&](const Setting& setting) {
      const bool is_one = has_choice(choices, setting.name);
      if (is_one) wanted[setting.name] = setting.value;
      return is_one;
    });
    if (!wanted.empty())
      choices = select_offered(JsonNode{wanted, Where{"--set", ""}}, {}, all, what, one.kernel.name).front();
    return !wanted.empty();
  };
  const bool has_types = choose(variant.types, offered.offered_types, "type variable");
  const bool has_options = choose(variant.options, offered.offered_options, "option");
  if (!has_types && !has_options) return;
  one.kernel = load_template(one.manifest, load, &variant);
  one.kernel.variant = variant_text(variant, offered);
}

/// "with BM=128 WM=48", or nothing when nothing is set.
std::string with_what_is_set(const TemplateSpec& kernel) {
  std::string text;
  for (const Parameter& parameter : kernel.parameters) {
    if (parameter.values.size() != 1) continue;
    text += fmt::format("{}{}={}", text.empty() ? " with " : " ", parameter.name,
                        to_text(parameter.values.front()));
  }
  return text;
}

[[noreturn]] void refuse_empty(const SingleConfiguration& one, const Space& space) {
  std::string broken = "It breaks";
  for (const ConstraintReport& constraint : space.constraints()) {
    if (constraint.removed_first > 0)
      broken += fmt::format("\n    {}{}", constraint.require,
                            constraint.why.empty() ? "" : fmt::format("   ({})", constraint.why));
  }
  throw NothingToDo(fmt::format("{} has no valid configuration at {}{}", one.kernel.label(),
                                one.problem.label(), with_what_is_set(one.kernel)),
                    Where{"--set", ""}, broken);
}

/// The values of each parameter that occur in some configuration of the space.
std::vector<std::vector<Value>> occurring_values(const Space& space, std::size_t parameters) {
  std::vector<std::vector<Value>> values(parameters);
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const Configuration configuration = space.at(index);
    for (std::size_t i = 0; i < parameters; ++i) {
      const Value& value = configuration.values[i];
      if (std::find(values[i].begin(), values[i].end(), value) == values[i].end()) values[i].push_back(value);
    }
  }
  return values;
}

/// The value that a parameter is left with: all are determined.
Json determined_values(const SingleConfiguration& one) {
  const Space space(one.kernel, one.problem);
  return to_json(space.at(0).named(one.kernel));
}

Json config_of(const SingleConfiguration& one) {
  Json kernel{{"template", one.kernel.name}};
  const Json values = determined_values(one);
  for (const auto& [name, value] : values.items()) kernel["parameters"][name] = Json::array({value});
  if (one.extend) kernel["extend"] = true;
  if (!one.kernel.variant.empty()) {
    const Variant variant = variant_of(one.kernel.operation);
    for (const auto& [name, type] : variant.types) kernel["types"][name] = type;
    for (const auto& [name, option] : variant.options) kernel["options"][name] = option;
  }
  Json problem = Json::object();
  for (const auto& [dimension, size] : one.problem.dimensions) problem[dimension] = size;
  for (const auto& [name, size] : one.problem.leading) problem[name] = size;
  Json config{
      {"name", one.kernel.name}, {"templates", Json::array({kernel})}, {"problems", Json::array({problem})}};
  for (const auto& [name, value] : one.scalars) config["scalars"][name] = value;
  config["measure"] = {{"screening", 0}, {"finals", {{"configurations", 1}, {"within_percent", 0}}}};
  return config;
}

}  // namespace

fs::path manifest_of(const std::string& text, bool allow_outside_paths) {
  fs::path path(text);
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  if (fs::exists(path / kManifestName, error)) return path / kManifestName;
  const Where where{"TEMPLATE", ""};
  if (text.find('/') == std::string::npos)
    return find_template(text, {home_folder() / "kernel_templates"}, allow_outside_paths, where).path() /
           kManifestName;
  throw UserError(
      fmt::format("there is no template at {}", text), where,
      fmt::format("Name a folder with a {}, that file itself, or a shipped template.", kManifestName));
}

void apply_settings(SingleConfiguration& one, const std::vector<std::string>& texts,
                    const LoadOptions& load) {
  std::set<std::string> names;
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    settings.push_back(parse_setting(text));
    const std::string& name = settings.back().name;
    if (!names.insert(name).second) throw UserError("it is set twice", set_flag(name), "Set it once.");
  }
  choose_variant(one, settings, load);
  for (const Setting& setting : settings) {
    if (set_parameter(one, setting) || set_scalar_of(one, setting)) continue;
    throw UserError(fmt::format("{} has no parameter '{}'", one.kernel.name, setting.name),
                    set_flag(setting.name),
                    std::string(trim(suggestion(setting.name, names_of(one.kernel)))));
  }
}

std::string fill_from(SingleConfiguration& one, const Trial& row) {
  const Json recorded = Json::parse(row.parameters, nullptr, false);
  std::string filled;
  for (Parameter& parameter : one.kernel.parameters) {
    if (parameter.values.size() == 1 || !recorded.is_object() || !recorded.contains(parameter.name)) continue;
    Value value;
    if (!from_json(recorded[parameter.name], value)) continue;
    const Value* listed = find_listed(value, parameter);
    if (listed == nullptr && !one.extend) {
      throw UserError(fmt::format("the recorded best has {} = {}, which the template does not list",
                                  parameter.name, to_text(value)),
                      Where{"--best", ""}, "Set it with --set, or add --extend.");
    }
    parameter.values = {listed != nullptr ? *listed : value};
    filled += fmt::format("{}{}={}", filled.empty() ? "" : " ", parameter.name, to_text(value));
  }
  return filled;
}

std::vector<Parameter> open_parameters(const SingleConfiguration& one) {
  // Beyond this many, listing what is left under the constraints would take long and say little.
  constexpr std::uint64_t kMostVisited = 200000;
  const Space space(one.kernel, one.problem);
  if (space.size() == 0) refuse_empty(one, space);
  std::vector<Parameter> open;
  if (space.size() > kMostVisited) {
    for (const Parameter& parameter : one.kernel.parameters) {
      if (parameter.values.size() > 1) open.push_back(parameter);
    }
    return open;
  }
  const auto values = occurring_values(space, one.kernel.parameters.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() < 2) continue;
    open.push_back(one.kernel.parameters[i]);
    std::erase_if(open.back().values, [&](const Value& value) {
      return std::find(values[i].begin(), values[i].end(), value) == values[i].end();
    });
  }
  return open;
}

TuneSpec tune_spec_of(const SingleConfiguration& one) {
  LoadOptions options;
  options.allow_outside_paths = one.allow_outside_paths;
  options.template_folders = {fs::absolute(one.manifest).lexically_normal().parent_path().parent_path(),
                              home_folder() / "kernel_templates"};
  TuneSpec spec = parse_tune_spec(config_of(one).dump(2), "--set", options);
  // The nearest there is to a config's file: what git knows of it is recorded.
  spec.file = one.manifest;
  return spec;
}

std::optional<Trial> recorded_best(const Database& database, const TemplateSpec& kernel,
                                   const std::string& gpu, const std::string& problem) {
  TrialFilter filter;
  filter.templates = {kernel.name};
  filter.gpus = {gpu};
  filter.baselines = false;
  filter.source_age = SourceAge::newest;
  RankingRows rows = ranking_rows(database, filter);
  auto groups = rank_rows(rows);
  // Some words of a name suffice for the filter.
  std::erase_if(groups, [&](const RankingGroup& group) { return group.gpu != gpu; });
  const auto preference = [&](const RankingGroup& group) {
    return std::tuple(group.problem == problem, group.source == Source::measured);
  };
  std::optional<Trial> best;
  std::tuple<bool, bool> best_preference;
  for (const RankingGroup& group : groups) {
    if (best && preference(group) < best_preference) continue;
    Trial row = database.row(group.rows.front().id);
    if (!is_of_variant(row, kernel.operation)) continue;
    best = std::move(row);
    best_preference = preference(group);
  }
  return best;
}

std::string bench_command_line(const Trial& row, const TemplateSpec& kernel,
                               const std::string& kernel_template, const std::string& problem) {
  const auto parameters = nlohmann::ordered_json::parse(row.parameters, nullptr, false);
  std::string text = "tiletune bench " + shell_quoted(kernel_template);
  const auto set = [&](const std::string& name, const std::string& value) {
    text += fmt::format(" --set {}", shell_quoted(fmt::format("{}={}", name, value)));
  };
  if (!kernel.variant.empty()) {
    const Variant variant = variant_of(kernel.operation);
    for (const auto& [name, type] : variant.types) set(name, type);
    for (const auto& [name, option] : variant.options) set(name, option);
  }
  if (parameters.is_object()) {
    for (const auto& [name, value] : parameters.items())
      set(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text + " --problem " + shell_quoted(problem);
}

}  // namespace tiletune
