#include "deploy/one_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "compile/compiler.h"
#include "deploy/plan_code.h"
#include "deploy/source_files.h"
#include "measure/argument_pack.h"
#include "output/cell_text.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/reader.h"
#include "tune/identity.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Absolute folders, in the order in which the compiler looks there.
std::vector<std::string> include_folders_of(const TemplateSpec& spec, const KernelSource& source) {
  std::vector<std::string> folders;
  for (const auto* names : {&source.search_before, &source.search_behind})
    for (const std::string& name : *names) {
      const std::string folder =
          (spec.source.parent_path() / name / "").lexically_normal().parent_path().string();
      if (!is_among(folder, folders)) folders.push_back(folder);
    }
  return folders;
}

/// Tells whether nvcc takes this NVRTC option unchanged; macros and the architecture are written apart.
bool is_of_nvcc(const std::string& option) {
  constexpr std::array kOthers{"-D",
                               "--gpu-architecture",
                               "--device-as-default-execution-space",
                               "--modify-stack-limit",
                               "--device-int128",
                               "--ptxas-options=-v"};
  return !option.empty() &&
         std::ranges::none_of(kOthers, [&](const char* other) { return option.starts_with(other); });
}

/// Throws UserError for control characters, which would act on a terminal or end a line.
void check_printable(const std::string& text, const RecordedKernel& kernel) {
  if (printable(text) != text)
    throw UserError(fmt::format("'{}' has control characters", printable(text)),
                    Where{"a row of " + kernel.row.template_name, ""}, "Export other rows.");
}

struct Options {
  std::vector<std::string> definitions;  ///< "BM=64"
  std::vector<std::string> others;       ///< "--std=c++17"
};

/// The macros that the source takes, then the parameters that are none of these, as `prefix`_NAME: a kernel
/// that is a template has parameters of such names.
Options options_of(const RecordedKernel& kernel, const std::string& prefix) {
  Options options;
  std::vector<std::string> macros;
  for (const Json& option : parsed_cell(kernel.row.compile_options)) {
    const std::string text = option.is_string() ? option.get<std::string>() : "";
    if (is_of_nvcc(text)) options.others.push_back(text);
    const std::string macro = text.starts_with("-D") ? text.substr(2, text.find('=') - 2) : "";
    if (!is_identifier(macro)) continue;
    options.definitions.push_back(text.substr(2));
    macros.push_back(macro);
  }
  for (const auto& [name, value] : kernel.configuration.named(*kernel.spec))
    if (!is_among(name, macros))
      options.definitions.push_back(fmt::format("{}_{}={}", prefix, name, to_text(value)));
  return options;
}

/// Values of a CMake variable. In a list, a semicolon would begin the next element.
std::string quoted_for_cmake(const std::vector<std::string>& texts) {
  const std::string_view special = texts.size() > 1 ? "\\\"$;" : "\\\"$";
  std::string all;
  for (const std::string& text : texts) {
    all += " \"";
    for (const char c : text)
      all += (special.find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
    all += '"';
  }
  return all;
}

/// Completes an argument: the bits of a scalar as the driver takes them, and all members of a tensor map.
void complete(Json& argument) {
  if (argument.contains("extents"))
    argument.update(Json{{"swizzle", argument.value("swizzle", "none")},
                         {"promotion", argument.value("promotion", "128B")},
                         {"offset", argument.value("offset", std::int64_t{0})}});
  const auto type = from_name<ElementType>(argument.value("type", ""));
  ArgumentValue value;
  if (!argument.contains("scalar") || argument["value"].is_string() || !type ||
      !from_json(argument["value"], value.value))
    return;
  value.type = *type;
  constexpr std::size_t kBitsOfAByte = 8;
  const std::size_t unused = kBitsOfAByte * (sizeof(std::uint64_t) - size_bytes(*type));
  argument["bits"] = scalar_bits(value) << unused >> unused;
}

/// Adds "launches", always a list, and "steps", "constants" and the workspaces where there are any.
void add_launches(const Instance& instance, Json& definition) {
  const Json whole = Json::parse(launch_text(instance, Arguments::always));
  Json launches = whole.value("launches", Json::array({whole}));
  for (Json& launch : launches) {
    for (const char* apart : {"workspace", "constants", "steps"}) launch.erase(apart);
    if (!launch.contains("kernel")) launch["kernel"] = instance.launches.front().kernel_expression;
    for (Json& argument : launch["arguments"]) complete(argument);
  }
  definition["launches"] = std::move(launches);
  for (const char* name : {"steps", "constants"})
    if (whole.contains(name)) definition[name] = whole[name];
  for (Json array : whole.value("workspace", Json::array())) {
    array["role"] = "workspace";
    definition["buffers"].push_back(std::move(array));
  }
}

/// The texts of the headers that tiletune supplies and a source includes, also through each other.
Json supplied_headers(const SourceFiles& files) {
  Json headers = Json::object();
  std::vector<std::string> open(files.not_found.begin(), files.not_found.end());
  while (!open.empty()) {
    const std::string name = std::exchange(open.back(), "");
    open.pop_back();
    const auto known = std::ranges::find(standard_headers(), name,
                                         [](const NamedHeader& one) { return std::string(one.name); });
    if (known == standard_headers().end() || headers.contains(name)) continue;
    headers[name] = known->text;
    for (const std::string& other : included_names(known->text)) open.push_back(other);
  }
  return headers;
}

}  // namespace

void add_definition(RecordedKernels& recorded, std::int64_t row,
                    const std::function<void(const std::string&)>& note, Json& entry) {
  entry["definition"] = nullptr;
  try {
    const RecordedKernel kernel = recorded.of_row(row);
    const TemplateSpec& spec = *kernel.spec;
    const std::optional<Instance> instance = recorded.instance_of(kernel);
    if (!instance) throw UserError("it has no launch at the recorded sizes", "Sweep again.");
    const bool is_source = instance->compiled_file.empty();
    Json definition{
        {"source", is_source ? spec.source.string() : (spec.folder / instance->compiled_file).string()},
        {"include_folders", Json::array()},
        {"supplied_headers", Json::object()}};
    if (is_source) {
      const KernelSource source = template_source(spec);
      definition["include_folders"] = include_folders_of(spec, source);
      definition["supplied_headers"] = supplied_headers(source_files(source));
      definition["prelude"] =
          std::ranges::find(standard_headers(), std::string_view(kPrelude), [](const NamedHeader& one) {
            return std::string_view(one.name);
          })->text;
    }
    definition["buffers"] = Json::array();
    for (const Workload::SizedBuffer& buffer :
         recorded.instantiator(kernel, kernel.problem)->workload().buffers)
      definition["buffers"].push_back({{"name", buffer.name},
                                       {"type", name(buffer.type)},
                                       {"role", name(buffer.role)},
                                       {"elements", buffer.elements},
                                       {"bytes", buffer.bytes()}});
    add_launches(*instance, definition);
    definition["template"] = read_json(spec.folder / kManifestName);
    entry["definition"] = std::move(definition);
  } catch (const UserError& error) {
    note(fmt::format("{} has no definition: {}. {}", entry.value("template", ""), error.message(),
                     error.remedy()));
  }
}

RecordedKernel only_kernel(RecordedKernels& recorded, const std::vector<RankingGroup>& groups) {
  std::vector<std::string> sets;
  std::vector<std::int64_t> rows;
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    rows.push_back(leaders.front().id);
    sets.push_back(fmt::format("{} on {} ({})", group.problem, group.gpu, group.conditions));
  }
  if (rows.size() != 1) {
    constexpr std::size_t kMostNamed = 3;
    const std::size_t count = sets.size();
    if (count > kMostNamed) sets.resize(kMostNamed);
    throw UserError(
        fmt::format("one configuration is written, but {} match: {}{}", counted(count, "comparable set"),
                    join(sets, ", "), count > kMostNamed ? ", ..." : ""),
        Where{"--format", ""}, "Choose one with --problem, --gpu, --template or --sweep.");
  }
  RecordedKernel kernel = recorded.of_row(rows.front());
  if (is_compiled(kernel.spec->source))
    throw UserError("it is precompiled: there is nothing to compile", Where{kernel.row.template_name, ""},
                    "Use --best.");
  return kernel;
}

std::string defines_text(const RecordedKernel& kernel, const std::string& prefix) {
  const Options options = options_of(kernel, prefix);
  std::vector<std::string> words;
  for (const std::string& definition : options.definitions) words.push_back("-D" + definition);
  words.insert(words.end(), options.others.begin(), options.others.end());
  words.push_back("-arch=" + kernel.row.architecture);
  for (const std::string& word : words)
    if (shell_quoted(word) != word)
      throw UserError(fmt::format("'{}' must be quoted in a shell", word),
                      Where{kernel.row.template_name, ""}, "Use --format cmake, or --best.");
  return join(words, " ") + "\n";
}

std::string cmake_text(const RecordedKernel& kernel, const std::string& prefix) {
  const TemplateSpec& spec = *kernel.spec;
  const Options options = options_of(kernel, prefix);
  std::string text = comment_text(fmt::format("# {} for {} on {}, written by tiletune {}", kernel.name(),
                                              kernel.row.problem, kernel.row.gpu, kVersion)) +
                     "\n";
  const auto set = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) check_printable(value, kernel);
    text += fmt::format("set({}_{}{})\n", prefix, name, quoted_for_cmake(values));
  };
  constexpr std::string_view kArchitecture = "sm_";
  set("SOURCE", {spec.source.string()});
  set("INCLUDE_FOLDERS", include_folders_of(spec, template_source(spec)));
  set("KERNEL", {kernel.row.kernel_expression});
  set("DEFINITIONS", options.definitions);
  set("OPTIONS", options.others);
  set("ARCHITECTURES", {kernel.row.architecture.starts_with(kArchitecture)
                            ? kernel.row.architecture.substr(kArchitecture.size())
                            : kernel.row.architecture});
  const Json launch = object_of(kernel.row.launch);
  if (launch.contains("launches"))
    throw UserError("it has several launches, which these variables cannot describe",
                    Where{kernel.row.template_name, ""}, "Use --best, or --format cuda.");
  for (const auto& [name, member] : {std::pair("GRID", "grid"), std::pair("BLOCK", "block")}) {
    std::vector<std::string> extents;
    for (const Json& extent : launch.value(member, Json::array())) extents.push_back(extent.dump());
    set(name, extents);
  }
  set("SHARED_BYTES", {launch.value("dynamic_shared_bytes", Json(0)).dump()});
  return text;
}

}  // namespace tiletune
