#include "foreign/t1.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "author/source_facts.h"
#include "base/file.h"
#include "base/text.h"
#include "space/scope.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/reader.h"
#include "spec/values.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What T1's ProblemSize[0] and so on are called in expressions.
constexpr std::size_t kMostSizes = 16;
std::string dimension_name(std::size_t size) { return fmt::format("ProblemSize{}", size); }
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

std::string string_or(const JsonNode& node, const char* key, const char* otherwise) {
  const auto member = find_member(node, key);
  return member ? read_string(*member) : otherwise;
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

/// T1 writes expressions in Python, with the problem's sizes as a list.
ExprText python_expression(const JsonNode& node) {
  ExprText text = read_expression(node);
  for (std::size_t i = 0; i < kMostSizes; ++i)
    replace_all(text.text, fmt::format("ProblemSize[{}]", i), dimension_name(i));
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

/// What has numbers of its own distinguishes problems of equal sizes.
void state(Operation& operation, const std::string& name, std::string text) {
  replace_all(text, " ", "");
  std::string rest = text;
  for (std::size_t i = kMostSizes; i-- > 0;) replace_all(rest, dimension_name(i), "");
  if (rest != "1" && rest.find_first_of("0123456789") != std::string::npos)
    operation.stated.emplace_back(name, std::move(text));
}

/// The sizes in the file; without any, as many as the command line's problem has, or else those of the
/// arrays: one where all are equal.
Problem read_problem_size(const JsonNode& kernel, const LoadOptions& options, TemplateSpec& spec) {
  Problem problem;
  std::vector<std::int64_t> sizes;
  if (const auto node = find_member(kernel, "ProblemSize")) {
    if (node->json.get().is_array()) {
      for (const JsonNode& size : read_list(*node, "sizes")) sizes.push_back(read_integer(size, 1));
    } else {
      sizes.push_back(read_integer(*node, 1));
    }
    if (sizes.size() > kMostSizes)
      throw UserError(fmt::format("found {} sizes, expected at most {}", sizes.size(), kMostSizes),
                      node->where, "Remove the others.");
  } else if (!options.problems.empty()) {
    sizes.resize(std::min(split(problem_words(options.problems.front()).front(), 'x').size(), kMostSizes));
  }
  const bool has_sizes = !sizes.empty();
  for (const Buffer& buffer : spec.operation.buffers) {
    if (has_sizes)
      state(spec.operation, buffer.name, buffer.elements.text);
    else
      sizes.push_back(space::evaluate_integer(space::Program(buffer.elements, {}), {}));
  }
  if (!has_sizes && std::ranges::adjacent_find(sizes, std::not_equal_to()) == sizes.end())
    sizes.resize(std::min<std::size_t>(sizes.size(), 1));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    spec.operation.dimensions.push_back(dimension_name(i));
    problem.dimensions.emplace_back(dimension_name(i), sizes[i]);
  }
  return problem;
}

/// The kernel's source; nothing where there is none.
std::string source_text(const TemplateSpec& spec) {
  std::error_code ignored;
  return fs::is_regular_file(spec.source, ignored) ? read_file(spec.source, kLargestJson) : "";
}

/// Kernel Tuner divides the problem's sizes, by a product; others give the global size, in threads where
/// OpenCL's words are used.
ExprText grid_extent(const JsonNode& kernel, std::size_t axis, const ExprText& local, std::size_t sizes) {
  const auto divisors = find_member(kernel, fmt::format("GridDiv{}", kAxes[axis]).c_str());
  std::vector<std::string> factors;
  if (divisors)
    for (const JsonNode& factor : read_list(*divisors, "divisors", Empty::allowed))
      factors.push_back(fmt::format("({})", python_expression(factor).text));
  if (divisors && axis < sizes)
    return {
        fmt::format("ceil_div({}, {})", dimension_name(axis), factors.empty() ? "1" : join(factors, " * ")),
        kernel.where};
  const auto global = find_member(kernel, "GlobalSize");
  const auto size = global ? find_member(*global, kAxes[axis]) : std::nullopt;
  if (!size) return {"1", kernel.where};
  ExprText text = python_expression(*size);
  const std::string words = string_or(kernel, "GlobalSizeType", "CUDA");
  if (words != "CUDA" && words != "OpenCL")
    throw UserError(fmt::format("the GlobalSizeType '{}' is not known", words),
                    kernel.where.at("GlobalSizeType"),
                    R"(Write "CUDA" for thread blocks, or "OpenCL" for threads.)");
  if (words == "OpenCL") text.text = fmt::format("ceil_div({}, {})", text.text, local.text);
  return text;
}

/// And the macros that Kernel Tuner defines beside the parameters. The grid differs from problem to problem,
/// so that only a source that names its macros gets them.
void read_t1_launch(const JsonNode& kernel, std::size_t sizes, TemplateSpec& spec) {
  Launch& launch = spec.launches.front();
  const std::string source = source_text(spec);
  const auto define = [&](const std::string& name, const std::string& value) {
    if (!is_among(name, names_of(spec.parameters, &Parameter::name)))
      spec.macros.emplace_back(name, ExprText{fmt::format("int({})", value), spec.where});
  };
  define("kernel_tuner", "1");
  const auto local = find_member(kernel, "LocalSize");
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    const auto size = local ? find_member(*local, kAxes[axis]) : std::nullopt;
    launch.block[axis] = size ? python_expression(*size) : ExprText{"1", kernel.where};
    launch.grid[axis] = grid_extent(kernel, axis, launch.block[axis], sizes);
    state(spec.operation, fmt::format("GlobalSize{}", kAxes[axis]), launch.grid[axis].text);
    define(fmt::format("block_size_{}", "xyz"[axis]), launch.block[axis].text);
    const std::string grid = fmt::format("grid_size_{}", "xyz"[axis]);
    if (source.find(grid) != std::string::npos) define(grid, launch.grid[axis].text);
  }
  const auto shared = find_member(kernel, "SharedMemory");
  launch.dynamic_shared_bytes = shared ? python_expression(*shared) : ExprText{"0", kernel.where};
}

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"bool", ElementType::boolean}, {"int8", ElementType::i8},    {"uint8", ElementType::u8},
    {"int16", ElementType::i16},    {"uint16", ElementType::u16}, {"int32", ElementType::i32},
    {"uint32", ElementType::u32},   {"int64", ElementType::i64},  {"uint64", ElementType::u64},
    {"half", ElementType::f16},     {"float", ElementType::f32},  {"double", ElementType::f64}};

std::optional<ElementType> type_named(const std::string& name) {
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  return std::nullopt;
}

Argument read_t1_scalar(const JsonNode& node, const std::string& name) {
  Argument argument{Argument::Kind::scalar, name, ElementType::i64, {"0", node.where}};
  const JsonNode type = need_member(node, "Type", "the scalar's type");
  const auto known = type_named(read_string(type));
  if (!known)
    throw UserError(fmt::format("a scalar cannot be of the type '{}' here", read_string(type)), type.where,
                    "Use bool, int8 to int64, uint8 to uint64, half, float or double.");
  argument.type = *known;
  if (const auto value = find_member(node, "FillValue")) argument.value = read_expression(*value);
  return argument;
}

/// With "max(NAME)" and "min(NAME)" of a parameter as numbers: sizes are the same for all configurations.
ExprText read_size(const JsonNode& node, const std::vector<Parameter>& parameters) {
  ExprText size = python_expression(node);
  const auto as_double = [](const Value& value) { return std::strtod(to_text(value).c_str(), nullptr); };
  for (const Parameter& parameter : parameters) {
    const auto [least, most] =
        std::minmax_element(parameter.values.begin(), parameter.values.end(),
                            [&](const Value& a, const Value& b) { return as_double(a) < as_double(b); });
    const auto is_text = [](const Value& value) { return std::holds_alternative<std::string>(value); };
    if (std::any_of(parameter.values.begin(), parameter.values.end(), is_text)) continue;
    for (const auto& [function, value] : {std::pair{"max", most}, std::pair{"min", least}})
      replace_all(size.text, fmt::format("{}({})", function, parameter.name), to_text(*value));
  }
  return size;
}

BufferValues read_fill(const JsonNode& node, ElementType type) {
  const auto value = find_member(node, "FillValue");
  const bool constant = read_string(need_member(node, "FillType", R"("Constant" or "Random")")) == "Constant";
  const ExprText fill = value ? read_expression(*value) : ExprText{constant ? "0" : "1", node.where};
  BufferValues values;
  values.where = node.where;
  if (constant || fill.text == "0") {
    values.distribution = Distribution::constant;
    values.arguments = {fill};
  } else if (is_floating(type)) {
    values.distribution = Distribution::uniform;
    values.arguments = {{"0", node.where}, fill};
  } else {
    values.distribution = Distribution::randint;
    values.arguments = {{"0", node.where}, {fill.text + " + 1", fill.where}};
  }
  return values;
}

/// An array whose type, size and contents the file states; none where it leaves them to the tool.
std::optional<Buffer> read_t1_buffer(const JsonNode& node, const std::string& name,
                                     const std::vector<Parameter>& parameters) {
  const auto type = type_named(string_or(node, "Type", ""));
  const auto size = find_member(node, "Size");
  const auto access = find_member(node, "AccessType");
  const std::string filled = string_or(node, "FillType", "");
  if (!type || !size || !access || (filled != "Constant" && filled != "Random")) return std::nullopt;
  Buffer buffer;
  buffer.name = name;
  buffer.type = *type;
  buffer.elements = read_size(*size, parameters);
  const std::string way = read_string(*access);
  buffer.role = way == "ReadOnly" ? BufferRole::in : way == "WriteOnly" ? BufferRole::out : BufferRole::inout;
  if (buffer.role != BufferRole::out) buffer.values = read_fill(node, *type);
  return buffer;
}

/// A T1 file brings no result to compare with, and does not say how many terms an output adds up: at most all
/// that is read.
void verify_by_consensus(Operation& operation) {
  constexpr int kAgreeing = 3;
  operation.consensus = kAgreeing;
  operation.bound = Ceiling::copy;
  std::vector<std::string> bytes;
  std::vector<std::string> read{"1"};
  for (const Buffer& buffer : operation.buffers) {
    const int times = buffer.role == BufferRole::inout ? 2 : 1;
    bytes.push_back(fmt::format("{} * ({})", times * size_bytes(buffer.type), buffer.elements.text));
    if (buffer.role != BufferRole::out) read.push_back(buffer.elements.text);
  }
  operation.bytes.text = "1.0 * " + join(bytes, " + 1.0 * ");
  operation.accumulation = {"1.0 * (" + join(read, " + ") + ")", operation.bytes.where};
}

/// How many arguments the kernel takes by its source; 0 where that is not known.
std::size_t arguments_in_source(const TemplateSpec& spec) {
  try {
    const SourceFacts facts = read_source_facts(source_text(spec), spec.source.string());
    for (const KernelText& kernel : facts.kernels)
      if (kernel.name == spec.launches.front().kernel) return kernel.parameter_names.size();
  } catch (const UserError&) {
    // The compiler will say what is wrong with it.
  }
  return 0;
}

/// The kernel's arguments, and what they point to. Shared memory as OpenCL passes it is no argument of a CUDA
/// kernel. Constant memory has a symbol's name; some kernels take its array as an argument, too.
void read_t1_arguments(const JsonNode& list, TemplateSpec& spec) {
  Operation& operation = spec.operation;
  bool is_whole = true;
  const bool takes_all = arguments_in_source(spec) == read_list(list, "arguments", Empty::allowed).size();
  for (const JsonNode& node : read_list(list, "arguments", Empty::allowed)) {
    const std::string memory = read_string(need_member(node, "MemoryType", R"("Vector" or "Scalar")"));
    if (memory == "Local") continue;
    const auto named = find_member(node, "Name");
    const std::string name =
        named ? read_identifier(*named) : fmt::format("argument{}", operation.buffers.size());
    std::vector<Argument>& arguments = spec.launches.front().arguments;
    if (memory == "Scalar") {
      arguments.push_back(read_t1_scalar(node, name));
      state(operation, name, arguments.back().value.text);
      continue;
    }
    const bool is_constant = memory == "Symbol" || string_or(node, "MemType", "") == "Constant";
    auto buffer = read_t1_buffer(node, name, spec.parameters);
    is_whole = is_whole && buffer;
    // Without its size it can be compiled for, but not launched: its address is null.
    if (is_constant && buffer) spec.constants.push_back({name, name, node.where});
    if (takes_all || !is_constant)
      arguments.push_back(buffer
                              ? Argument{Argument::Kind::buffer, name, buffer->type, {}}
                              : Argument{Argument::Kind::scalar, name, ElementType::i64, {"0", node.where}});
    if (buffer) operation.buffers.push_back(std::move(*buffer));
  }
  const bool has_output = std::any_of(operation.buffers.begin(), operation.buffers.end(),
                                      [](const Buffer& buffer) { return buffer.role != BufferRole::in; });
  if (is_whole && has_output) verify_by_consensus(operation);
}

/// The kernel's file need not be there.
void read_t1_kernel(const JsonNode& kernel, const fs::path& folder, bool allow_outside_paths,
                    TemplateSpec& spec) {
  Launch& launch = spec.launches.emplace_back();
  spec.language = string_or(kernel, "Language", "");
  launch.kernel = spec.name = read_identifier(need_member(kernel, "KernelName", "the kernel's name"));
  spec.folder = folder;
  if (const auto node = find_member(kernel, "KernelFile")) {
    std::error_code ignored;
    spec.source = spec.folder / read_string(*node);
    if (fs::exists(spec.source, ignored)) spec.source = resolve_file(*node, spec.folder, allow_outside_paths);
  }
  if (const auto node = find_member(kernel, "CompilerOptions"))
    spec.compile_options = read_strings(*node, "compiler options");
  spec.nvcc_options = take_nvcc_options(spec.compile_options);
}

/// Throws UserError for a condition that Python can evaluate, but an expression cannot hold.
void check_conditions(const TemplateSpec& spec, const Problem& problem) {
  const space::Scope scope(spec, problem);
  auto slots = scope.initial_slots();
  for (std::size_t i = 0; i < spec.parameters.size(); ++i)
    slots[scope.first_parameter() + i] = space::to_scalar(spec.parameters[i].values.front());
  for (const Constraint& condition : spec.constraints) {
    try {
      const space::Program program(condition.require, scope.symbols());
      space::Scalar result = space::unset_scalar();
      space::Fault fault;
      program.run({slots, {}}, result, fault);
      if (is_among(fault.kind, std::array{space::FaultKind::needs_number, space::FaultKind::not_comparable}))
        throw program.error(fault, {slots, {}});
    } catch (const UserError& error) {
      throw UserError(error.message(), error.where(),
                      error.remedy() + (error.remedy().empty() ? "Let" : "; or let") +
                          " Python evaluate it, as a restriction of tune_kernel() "
                          "(docs/from_kernel_tuner.md).");
    }
  }
}

/// One budget, or a list of them: both are in use.
void read_t1_budget(const JsonNode& root, Budget& budget) {
  const auto member = find_member(root, "Budget");
  if (!member) return;
  const bool is_one = member->json.get().is_object();
  for (const JsonNode& node : is_one ? std::vector{*member} : read_list(*member, "budgets", Empty::allowed)) {
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
  kernel.operation.name = kernel.name;
  kernel.operation.flops = kernel.operation.bytes = kernel.operation.accumulation = {"0", root.where};
  if (const auto list = find_member(section, "Arguments")) read_t1_arguments(*list, kernel);
  const Problem problem = read_problem_size(section, options, kernel);
  const bool has_sizes = find_member(section, "ProblemSize") || !options.problems.empty();
  read_t1_launch(section, has_sizes ? problem.dimensions.size() : 0, kernel);
  TuneSpec spec;
  const auto general = find_member(root, "General");
  const std::string stem = file.stem().string();
  spec.name = general ? string_or(*general, "BenchmarkName", stem.c_str()) : stem;
  spec.baseline = Baseline::none;
  spec.problems = {problem};
  if (!options.problems.empty())
    spec.problems = parse_problems(options.problems, kernel, Where{"--problem", ""});
  check_conditions(kernel, spec.problems.front());
  read_t1_budget(root, spec.budget);
  spec.templates.push_back(std::move(kernel));
  return spec;
}

}  // namespace tiletune
