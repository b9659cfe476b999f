#include "foreign/t1.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "foreign/python_list.h"
#include "spec/declared_names.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/reader.h"
#include "spec/values.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What T1's ProblemSize[0] and so on are called in expressions.
constexpr std::array kDimensions{"ProblemSize0", "ProblemSize1", "ProblemSize2"};
constexpr std::array kAxes{"X", "Y", "Z"};

std::optional<JsonNode> find_member(const JsonNode& node, const char* key) {
  const Json& json = node.json;
  if (!json.is_object() || !json.contains(key) || json.at(key).is_null()) return std::nullopt;
  return JsonNode{json.at(key), node.where.at(key)};
}

JsonNode need_member(const JsonNode& node, const char* key, const char* expected) {
  if (const auto member = find_member(node, key)) return *member;
  throw UserError(fmt::format("the key '{}' is missing", key), node.where,
                  fmt::format("Add it: {}.", expected));
}

/// T1 writes expressions in Python, with the problem's sizes as a list.
ExprText python_expression(const JsonNode& node) {
  ExprText text = read_expression(node);
  for (std::size_t i = 0; i < kDimensions.size(); ++i) {
    const std::string element = fmt::format("ProblemSize[{}]", i);
    for (std::size_t at = 0; (at = text.text.find(element, at)) != std::string::npos;)
      text.text.replace(at, element.size(), kDimensions[i]);
  }
  return text;
}

Parameter read_t1_parameter(const JsonNode& node) {
  Parameter parameter;
  parameter.name = read_identifier(need_member(node, "Name", "the parameter's name"));
  parameter.where = node.where;
  const JsonNode values = need_member(node, "Values", "a string that holds a Python list");
  if (values.json.get().is_array()) {
    parameter.values = read_values(values);
    return parameter;
  }
  Json list = Json::array();
  for (const Value& value : parse_python_list(read_string(values), values.where))
    list.push_back(to_json(value));
  parameter.values = read_values(JsonNode{list, values.where});
  return parameter;
}

void read_t1_space(const JsonNode& space, TemplateSpec& spec) {
  DeclaredNames names;
  for (const JsonNode& node : read_list(need_member(space, "TuningParameters", "a list of parameters"),
                                        "parameters", Empty::allowed)) {
    spec.parameters.push_back(read_t1_parameter(node));
    names.declare(spec.parameters.back().name, "a parameter", node.where.at("Name"));
    spec.macros.emplace_back(spec.parameters.back().name, ExprText{spec.parameters.back().name, node.where});
  }
  const auto conditions = find_member(space, "Conditions");
  if (!conditions) return;
  for (const JsonNode& node : read_list(*conditions, "conditions", Empty::allowed, kMostEntries)) {
    spec.constraints.push_back({python_expression(need_member(node, "Expression", "a Python expression")),
                                "a condition of the tuning problem"});
  }
}

/// The sizes in the file; without any, as many as the command line's problem has.
Problem read_problem_size(const JsonNode& kernel, const LoadOptions& options, TemplateSpec& spec) {
  Problem problem;
  std::vector<std::int64_t> sizes;
  if (const auto node = find_member(kernel, "ProblemSize")) {
    if (node->json.get().is_array()) {
      for (const JsonNode& size : read_list(*node, "sizes")) sizes.push_back(read_integer(size, 1));
    } else {
      sizes.push_back(read_integer(*node, 1));
    }
    if (sizes.size() > kDimensions.size())
      throw UserError("a problem has at most three sizes", node->where, "Remove the others.");
  } else if (!options.problems.empty()) {
    sizes.resize(
        std::min(split(problem_words(options.problems.front()).front(), 'x').size(), kDimensions.size()));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    spec.operation.dimensions.emplace_back(kDimensions[i]);
    problem.dimensions.emplace_back(kDimensions[i], sizes[i]);
  }
  return problem;
}

/// The product of the divisors of one axis; empty where the file gives none.
std::string grid_divisor(const JsonNode& kernel, const char* axis) {
  const auto node = find_member(kernel, (std::string("GridDiv") + axis).c_str());
  if (!node) return "";
  std::vector<std::string> factors;
  for (const JsonNode& factor : read_list(*node, "divisors", Empty::allowed))
    factors.push_back(fmt::format("({})", python_expression(factor).text));
  return factors.empty() ? "1" : join(factors, " * ");
}

/// Kernel Tuner divides the problem; others give the global size, in threads where OpenCL's words are used.
ExprText grid_extent(const JsonNode& kernel, std::size_t axis, const ExprText& local,
                     const TemplateSpec& spec) {
  const std::string divisor = grid_divisor(kernel, kAxes[axis]);
  if (!divisor.empty() && axis < spec.operation.dimensions.size())
    return {fmt::format("ceil_div({}, {})", spec.operation.dimensions[axis], divisor), kernel.where};
  const auto global = find_member(kernel, "GlobalSize");
  const auto size = global ? find_member(*global, kAxes[axis]) : std::nullopt;
  if (!size) return {"1", kernel.where};
  ExprText text = python_expression(*size);
  const auto type = find_member(kernel, "GlobalSizeType");
  if (type && read_string(*type) == "OpenCL")
    text.text = fmt::format("ceil_div({}, {})", text.text, local.text);
  return text;
}

void read_t1_launch(const JsonNode& kernel, TemplateSpec& spec) {
  const auto local = find_member(kernel, "LocalSize");
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    const auto size = local ? find_member(*local, kAxes[axis]) : std::nullopt;
    spec.launch.block[axis] = size ? python_expression(*size) : ExprText{"1", kernel.where};
    spec.launch.grid[axis] = grid_extent(kernel, axis, spec.launch.block[axis], spec);
  }
  const auto shared = find_member(kernel, "SharedMemory");
  spec.launch.dynamic_shared_bytes = shared ? python_expression(*shared) : ExprText{"0", kernel.where};
}

/// Addresses are passed as null: what a buffer holds, and how much, T1 leaves to the tool. Constant memory,
/// and shared memory as OpenCL passes it, are not arguments of a CUDA kernel.
std::optional<Argument> read_t1_argument(const JsonNode& node) {
  static constexpr std::array<std::pair<std::string_view, ScalarType>, 5> kScalars{
      {{"int32", ScalarType::i32},
       {"uint32", ScalarType::u32},
       {"int64", ScalarType::i64},
       {"float", ScalarType::f32},
       {"double", ScalarType::f64}}};
  const std::string memory = read_string(need_member(node, "MemoryType", R"("Vector" or "Scalar")"));
  const auto space = find_member(node, "MemType");
  if (memory == "Local" || memory == "Symbol" || (space && read_string(*space) == "Constant"))
    return std::nullopt;
  const auto name = find_member(node, "Name");
  Argument argument{
      Argument::Kind::scalar, name ? read_string(*name) : "", ScalarType::i64, {"0", node.where}};
  if (memory != "Scalar") return argument;
  const JsonNode type = need_member(node, "Type", "the scalar's type");
  for (const auto& [known, scalar] : kScalars) {
    if (read_string(type) != known) continue;
    argument.type = scalar;
    if (const auto value = find_member(node, "FillValue")) argument.value = read_expression(*value);
    return argument;
  }
  throw UserError(fmt::format("a scalar cannot be of the type '{}' here", read_string(type)), type.where,
                  "Use int32, uint32, int64, float or double.");
}

/// The kernel's file need not be there.
void read_t1_kernel(const JsonNode& kernel, const fs::path& folder, bool allow_outside_paths,
                    TemplateSpec& spec) {
  spec.kernel = spec.name = read_identifier(need_member(kernel, "KernelName", "the kernel's name"));
  spec.folder = folder;
  if (const auto node = find_member(kernel, "KernelFile")) {
    std::error_code ignored;
    spec.source = spec.folder / read_string(*node);
    if (fs::exists(spec.source, ignored)) spec.source = resolve_file(*node, spec.folder, allow_outside_paths);
  }
  if (const auto node = find_member(kernel, "CompilerOptions"))
    spec.compile_options = read_strings(*node, "compiler options");
  if (const auto list = find_member(kernel, "Arguments")) {
    for (const JsonNode& node : read_list(*list, "arguments", Empty::allowed)) {
      if (auto argument = read_t1_argument(node)) spec.arguments.push_back(std::move(*argument));
    }
  }
  // Every standard that NVRTC knows is later.
  std::erase_if(spec.compile_options,
                [](const std::string& option) { return option == "-std=c++11" || option == "--std=c++11"; });
}

void read_t1_limit(const JsonNode& node, Budget& budget) {
  const std::string type = read_string(need_member(node, "Type", "the kind of budget"));
  const JsonNode value = need_member(node, "BudgetValue", "a number");
  if (type == "TuningDuration") {
    budget.seconds = read_number(value, {.min = 0});
  } else if (type == "ConfigurationCount") {
    budget.evaluations = static_cast<std::uint64_t>(read_integer(value));
  } else {
    throw UserError(fmt::format("the budget '{}' is not known", type), node.where.at("Type"),
                    "Give a TuningDuration in seconds, or a ConfigurationCount.");
  }
}

/// One budget, or a list of them: both are in use.
void read_t1_budget(const JsonNode& root, Budget& budget) {
  const auto member = find_member(root, "Budget");
  if (!member) return;
  if (member->json.get().is_object()) return read_t1_limit(*member, budget);
  for (const JsonNode& node : read_list(*member, "budgets", Empty::allowed)) read_t1_limit(node, budget);
}

}  // namespace

std::optional<TuneSpec> read_t1(const Json& document, const fs::path& file, const fs::path& folder,
                                const LoadOptions& options) {
  if (!document.is_object() || !document.contains("ConfigurationSpace")) return std::nullopt;
  const JsonNode root{document, {file.string(), ""}};
  TemplateSpec kernel;
  kernel.where = root.where;
  const JsonNode section = need_member(root, "KernelSpecification", "an object with \"KernelName\"");
  read_t1_kernel(section, folder, options.allow_outside_paths, kernel);
  kernel.summary = "a T1 tuning problem";
  read_t1_space(need_member(root, "ConfigurationSpace", "an object with \"TuningParameters\""), kernel);
  const Problem problem = read_problem_size(section, options, kernel);
  read_t1_launch(section, kernel);
  kernel.operation.name = kernel.name;
  kernel.operation.flops = kernel.operation.bytes = {"0", root.where};
  TuneSpec spec;
  const auto general = find_member(root, "General");
  const auto name = general ? find_member(*general, "BenchmarkName") : std::nullopt;
  spec.name = name ? read_string(*name) : file.stem().string();
  spec.baseline = Baseline::none;
  spec.problems = {problem};
  if (!options.problems.empty())
    spec.problems = parse_problems(options.problems, kernel, Where{"--problem", ""});
  read_t1_budget(root, spec.budget);
  spec.templates.push_back(std::move(kernel));
  return spec;
}

}  // namespace tiletune
