#include "output/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "output/cell_text.h"
#include "output/header_lookup.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The whole of a text as a number; 0 for anything else.
long long number_in(std::string_view text) {
  long long number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && number > 0 ? number : 0;
}

/// "{4096, 4096, 4096, 0}"; all zero for what is no list of at most four sizes.
std::string sizes_text(const std::string& problem) {
  const std::vector<std::string> sizes = split(problem.substr(0, problem.find(' ')), 'x');
  std::array<long long, 4> numbers{};
  const bool are_sizes =
      sizes.size() <= numbers.size() &&
      std::all_of(sizes.begin(), sizes.end(), [](const std::string& size) { return number_in(size) > 0; });
  if (are_sizes) std::transform(sizes.begin(), sizes.end(), numbers.begin(), number_in);
  return fmt::format("{{{}LL, {}LL, {}LL, {}LL}}", numbers[0], numbers[1], numbers[2], numbers[3]);
}

/// 90 of "sm_90a"; 0 for anything else.
int compute_capability(const std::string& architecture) {
  constexpr std::string_view kPrefix = "sm_";
  if (!architecture.starts_with(kPrefix)) return 0;
  int number = 0;
  std::from_chars(architecture.data() + kPrefix.size(), architecture.data() + architecture.size(), number);
  return number;
}

/// What a launch takes; 0 for numbers that it cannot, which a stranger's database may have.
unsigned launch_number(std::int64_t number) {
  const bool fits = number > 0 && number <= std::numeric_limits<unsigned>::max();
  return fits ? static_cast<unsigned>(number) : 0;
}

unsigned launch_number(const Json& json) {
  return json.is_number_integer() ? launch_number(json.get<std::int64_t>()) : 0;
}

std::string extent_text(const Json& launch, const char* name) {
  std::array<unsigned, 3> extent{};
  const auto found = launch.find(name);
  if (found != launch.end() && found->is_array()) {
    for (std::size_t i = 0; i < std::min(extent.size(), found->size()); ++i)
      extent.at(i) = launch_number((*found)[i]);
  }
  return fmt::format("{{{}, {}, {}}}", extent[0], extent[1], extent[2]);
}

Json object_in(const std::string& text) {
  Json json = parsed_cell(text);
  return json.is_object() ? json : Json::object();
}

/// "inline constexpr Parameter kParameters3[] = {...};" unless there are none.
std::string parameters_definition(const Json& parameters, std::size_t number) {
  if (parameters.empty()) return "";
  std::string text = fmt::format("inline constexpr Parameter kParameters{}[] = {{", number);
  for (const auto& [name, value] : parameters.items())
    text += fmt::format("{{{}, {}}}, ", cpp_literal(name), cpp_literal(value_text(value)));
  text.resize(text.size() - 2);
  return text + "};\n";
}

bool beta_is_zero(const std::string& scalars) {
  const std::vector<std::string> words = split(scalars, ' ');
  return std::find(words.begin(), words.end(), "beta=0") != words.end();
}

std::string entry_text(const Trial& trial, std::size_t number) {
  const Json launch = object_in(trial.launch);
  const std::size_t parameters = object_in(trial.parameters).size();
  std::string text = "    {";
  for (const std::string* field : {&trial.gpu, &trial.gpu_uuid}) text += cpp_literal(*field) + ", ";
  text += fmt::format("{}, ", compute_capability(trial.architecture));
  for (const std::string* field : {&trial.operation, &trial.element_types, &trial.scalars})
    text += cpp_literal(*field) + ", ";
  text += fmt::format("{}, {}, {},\n     ", beta_is_zero(trial.scalars), cpp_literal(trial.cache),
                      cpp_literal(std::string(name(trial.source))));
  text += fmt::format("{}, {}, {},\n     ", cpp_literal(trial.problem), sizes_text(trial.problem),
                      trial.problem.find(' ') == std::string::npos);
  for (const std::string* field : {&trial.template_name, &trial.kernel_expression, &trial.compile_options})
    text += cpp_literal(*field) + ",\n     ";
  text += parameters == 0 ? "nullptr, 0, " : fmt::format("kParameters{}, {}, ", number, parameters);
  return text + fmt::format("{}, {}, {}U, {:.9g}}},\n", extent_text(launch, "grid"),
                            extent_text(launch, "block"),
                            launch_number(trial.dynamic_shared_bytes.value_or(0)),
                            ranking_time_us(trial).value_or(0));
}

}  // namespace

std::string cpp_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kFirstPrintable = 0x20;
    constexpr unsigned char kLastPrintable = 0x7E;
    if (c == '"' || c == '\\' || c == '?') {  // ? is escaped for the sake of trigraphs
      literal += std::string("\\") + c;
    } else if (byte >= kFirstPrintable && byte <= kLastPrintable) {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", byte);
    }
  }
  return literal + "\"";
}

std::string best_as_header(const std::vector<RankingGroup>& groups, const Database& database) {
  std::string parameters;
  std::string entries;
  std::size_t number = 0;
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    const Trial trial = database.row(leaders.front().id);
    parameters += parameters_definition(object_in(trial.parameters), number);
    entries += entry_text(trial, number++);
  }
  return fmt::format("// The best configurations, written by tiletune {}. C++17, no dependencies.\n",
                     kVersion) +
         kHeaderTypes + parameters + "\n// clang-format off\ninline constexpr Entry kEntries[] = {\n" +
         entries + "};\n// clang-format on\n" + kHeaderLookup;
}

}  // namespace tiletune
