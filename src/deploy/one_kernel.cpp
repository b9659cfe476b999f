#include "deploy/one_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "deploy/source_files.h"
#include "measure/argument_pack.h"
#include "output/cell_text.h"
#include "spec/load.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

KernelSource source_of(const TemplateSpec& spec) {
  return read_kernel_source(spec.source, spec.folder, spec.include_folders, spec.folder, false);
}

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

/// What NVRTC and nvcc call the same, in the form in which rows have it.
bool is_of_nvcc(const std::string& option) {
  static const std::regex is_shared(
      "--(std|maxrregcount|fmad|ftz|prec-div|prec-sqrt)=.*|--use_fast_math|--extra-device-vectorization");
  return std::regex_match(option, is_shared);
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
    if (!text.starts_with("-D")) continue;
    options.definitions.push_back(text.substr(2));
    macros.push_back(text.substr(2, text.find('=') - 2));
  }
  for (const auto& [name, value] : kernel.configuration.named(*kernel.spec))
    if (!is_among(name, macros))
      options.definitions.push_back(fmt::format("{}_{}={}", prefix, name, to_text(value)));
  return options;
}

std::string quoted_for_cmake(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text)
    quoted += (std::string_view("\\\"$;").find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
  return quoted + "\"";
}

std::string quoted_for_cmake(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += " " + quoted_for_cmake(text);
  return all;
}

/// The launches of a row, always as a list, with the bits of each scalar as the driver takes them.
Json launches_of(const Trial& row) {
  const Json whole = object_of(row.launch);
  Json launches = whole.value("launches", Json::array({whole}));
  for (Json& launch : launches) {
    if (!launch.is_object()) continue;
    launch.erase("workspace");
    launch.erase("constants");
    if (!launch.contains("kernel")) launch["kernel"] = row.kernel_expression;
    for (Json& argument : launch["arguments"]) {
      ArgumentValue value;
      const bool is_scalar =
          argument.is_object() && argument.contains("scalar") && argument.contains("value");
      const Json name = is_scalar ? argument["type"] : Json();
      const auto type = from_name<ElementType>(name.is_string() ? name.get<std::string>() : "");
      if (!type) continue;
      const Json& number = argument["value"];
      const bool is_plain =
          number.is_boolean() || number.is_number_integer() || (is_floating(*type) && number.is_number());
      value.type = *type;
      if (is_plain && from_json(number, value.value)) argument["bits"] = scalar_bits(value);
    }
  }
  return launches;
}

}  // namespace

void add_definition(RecordedKernels& recorded, std::int64_t row,
                    const std::function<void(const std::string&)>& note, Json& entry) {
  entry["definition"] = nullptr;
  try {
    const RecordedKernel kernel = recorded.of_row(row);
    const TemplateSpec& spec = *kernel.spec;
    Json definition{{"source", spec.source.string()}};
    if (!is_compiled(spec.source)) {
      const KernelSource source = source_of(spec);
      definition["include_folders"] = include_folders_of(spec, source);
      definition["supplied_headers"] = Json::array();
      const SourceFiles files = source_files(source);
      for (const NamedHeader& header : standard_headers())
        if (files.not_found.contains(header.name)) definition["supplied_headers"].push_back(header.name);
    }
    definition["launches"] = launches_of(kernel.row);
    definition["buffers"] = Json::array();
    if (const Instantiator* const there = recorded.instantiator(kernel, kernel.problem))
      for (const Workload::SizedBuffer& buffer : there->workload().buffers)
        definition["buffers"].push_back({{"name", buffer.name},
                                         {"type", name(buffer.type)},
                                         {"role", name(buffer.role)},
                                         {"elements", buffer.elements},
                                         {"bytes", buffer.bytes()}});
    for (Json array : object_of(kernel.row.launch).value("workspace", Json::array())) {
      if (!array.is_object()) continue;
      array["role"] = "workspace";
      definition["buffers"].push_back(std::move(array));
    }
    definition["template"] = read_json(spec.folder / kManifestName);
    entry["definition"] = std::move(definition);
  } catch (const UserError& error) {
    note(fmt::format("{} has no definition: {}", entry.value("template", ""), error.message()));
  }
}

RecordedKernel only_kernel(RecordedKernels& recorded, const std::vector<RankingGroup>& groups) {
  std::vector<std::string> sets;
  std::vector<std::int64_t> rows;
  for (const RankingGroup& group : groups) {
    const std::vector<RankedRow> leaders = leaders_of(group);
    if (leaders.empty()) continue;
    rows.push_back(leaders.front().id);
    sets.push_back(fmt::format("{} on {}", group.problem, group.gpu));
  }
  if (rows.size() != 1) {
    constexpr std::size_t kMostNamed = 3;
    const std::size_t count = sets.size();
    if (count > kMostNamed) sets.resize(kMostNamed);
    throw UserError(
        fmt::format("{} match, but one configuration is written: {}{}", counted(count, "comparable set"),
                    join(sets, ", "), count > kMostNamed ? ", ..." : ""),
        Where{"--format", ""}, "Choose one with --problem, --gpu, --template or --sweep.");
  }
  return recorded.of_row(rows.front());
}

std::string defines_text(const RecordedKernel& kernel, const std::string& prefix) {
  static const std::regex is_plain("[A-Za-z0-9_.,:+=/-]*");
  const Options options = options_of(kernel, prefix);
  std::vector<std::string> words;
  for (const std::string& definition : options.definitions) words.push_back("-D" + definition);
  words.insert(words.end(), options.others.begin(), options.others.end());
  words.push_back("-arch=" + kernel.row.architecture);
  for (const std::string& word : words)
    if (!std::regex_match(word, is_plain))
      throw UserError(fmt::format("'{}' is no word of a command line", word),
                      Where{kernel.row.template_name, ""}, "Use --format cmake, or --best.");
  return join(words, " ") + "\n";
}

std::string cmake_text(const RecordedKernel& kernel, const std::string& prefix) {
  const TemplateSpec& spec = *kernel.spec;
  const Options options = options_of(kernel, prefix);
  std::string text = fmt::format("# {} for {} on {}, written by tiletune {}\n", kernel.name(),
                                 kernel.row.problem, kernel.row.gpu, kVersion);
  std::ranges::replace_if(
      text, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }, '_');
  const auto set = [&](const char* name, const std::vector<std::string>& values) {
    text += fmt::format("set({}_{}{})\n", prefix, name, quoted_for_cmake(values));
  };
  constexpr std::string_view kArchitecture = "sm_";
  set("SOURCE", {spec.source.string()});
  set("INCLUDE_FOLDERS",
      is_compiled(spec.source) ? std::vector<std::string>() : include_folders_of(spec, source_of(spec)));
  set("KERNEL", {kernel.row.kernel_expression});
  set("DEFINITIONS", options.definitions);
  set("OPTIONS", options.others);
  set("ARCHITECTURES", {kernel.row.architecture.starts_with(kArchitecture)
                            ? kernel.row.architecture.substr(kArchitecture.size())
                            : kernel.row.architecture});
  const Json launch = parsed_cell(kernel.row.launch);
  if (!launch.is_object()) return text;
  for (const auto& [name, member] : {std::pair("GRID", "grid"), std::pair("BLOCK", "block")}) {
    std::vector<std::string> extents;
    for (const Json& extent : launch.value(member, Json::array())) extents.push_back(extent.dump());
    set(name, extents);
  }
  set("SHARED_BYTES", {launch.value("dynamic_shared_bytes", Json(0)).dump()});
  return text;
}

}  // namespace tiletune
