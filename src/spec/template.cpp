#include "spec/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "spec/arguments.h"
#include "spec/declared_names.h"
#include "spec/keys.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/values.h"
#include "spec/workspace.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// A name of another folder's template is a copy that was not renamed.
std::string read_name(const JsonNode& node, const fs::path& manifest) {
  std::string name = read_identifier(node);
  const std::string folder = fs::absolute(manifest).lexically_normal().parent_path().filename().string();
  if (name == folder) return name;
  throw UserError(fmt::format("the template is named '{}', but its folder is named '{}'", name, folder),
                  node.where, "Give both the same name.");
}

Parameter read_parameter(const JsonNode& node) {
  ObjectReader reader(node, keys::kParameter);
  Parameter parameter;
  parameter.name = read_identifier(reader.need("name", "the parameter's name"));
  parameter.values = read_values(reader.need("values", "a list of values"));
  parameter.meaning = read_string(reader.need("meaning", "one line on what the parameter means"));
  parameter.where = node.where;
  reader.finish();
  return parameter;
}

Derived read_derived(const JsonNode& node) {
  ObjectReader reader(node, keys::kDerived);
  Derived derived;
  derived.name = read_identifier(reader.need("name", "the derived value's name"));
  derived.value = read_expression(reader.need("value", "an expression"));
  derived.meaning = read_string(reader.need("meaning", "one line on what the value means"));
  reader.finish();
  return derived;
}

/// Parameters and derived values share one scope with the operation's dimensions and scalars.
void read_names(ObjectReader& reader, TemplateSpec& spec, DeclaredNames& scope) {
  if (const auto parameters = reader.find("parameters")) {
    for (const JsonNode& node : read_list(*parameters, "parameters", Empty::allowed)) {
      spec.parameters.push_back(read_parameter(node));
      scope.declare(spec.parameters.back().name, "a parameter", node.where.at("name"));
    }
  }
  if (const auto derived = reader.find("derived")) {
    for (const JsonNode& node : read_list(*derived, "derived values", Empty::allowed)) {
      spec.derived.push_back(read_derived(node));
      scope.declare(spec.derived.back().name, "a derived value", node.where.at("name"));
    }
  }
}

Launch read_launch(const JsonNode& node) {
  ObjectReader reader(node, keys::kLaunch);
  Launch launch;
  launch.grid = read_extent(reader.need("grid", "a list of one to three expressions, in thread blocks"));
  launch.block = read_extent(reader.need("block", "a list of one to three expressions, in threads"));
  const auto shared = reader.find("dynamic_shared_bytes");
  launch.dynamic_shared_bytes = shared ? read_expression(*shared) : ExprText{"0", node.where};
  reader.finish();
  return launch;
}

void read_instantiation(ObjectReader& reader, TemplateSpec& spec) {
  const auto arguments = reader.find("template_arguments");
  const auto macros = reader.find("macros");
  if (arguments && macros) {
    throw UserError("found both 'template_arguments' and 'macros'", macros->where,
                    "Keep one: a C++ template takes arguments, an extern \"C\" kernel takes macros.");
  }
  if (arguments) {
    for (const JsonNode& node : read_list(*arguments, "expressions")) {
      spec.template_arguments.push_back(read_expression(node));
    }
  }
  if (!macros) return;
  for (const auto& [name, node] : read_members(*macros, "an object of expressions")) {
    check_identifier(name, node.where);
    spec.macros.emplace_back(name, read_expression(node));
  }
}

/// "7.0": one or two digits, a dot, a digit.
bool is_version(const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t dot = text.find('.');
  const bool has_form = (dot == 1 || dot == 2) && text.size() == dot + 2;
  return has_form && std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dot), is_digit) &&
         is_digit(text.back());
}

/// A version, or an expression for one: anything with an operator in it, or a name that is known.
ExprText read_compute_capability(const JsonNode& node, const DeclaredNames& scope) {
  const std::string expected = "a compute capability such as \"7.0\"";
  std::string text = read_string(node, expected);
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  const bool is_expression = !std::all_of(text.begin(), text.end(), is_plain) || scope.contains(text);
  if (is_expression || is_version(text)) return {std::move(text), node.where};
  throw UserError(fmt::format("found \"{}\", expected {}", text, expected), node.where,
                  "Write major and minor version with a dot between them.");
}

void read_kernel(ObjectReader& reader, TemplateSpec& spec, const DeclaredNames& scope,
                 bool allow_outside_paths) {
  spec.source = resolve_file(reader.need("source", "the kernel's file"), spec.folder, allow_outside_paths);
  spec.kernel = read_identifier(reader.need("kernel", "the kernel's function name"));
  read_instantiation(reader, spec);
  if (const auto node = reader.find("compile_options"))
    spec.compile_options = read_strings(*node, "NVRTC options");
  if (const auto node = reader.find("min_compute_capability")) {
    spec.min_compute_capability = read_compute_capability(*node, scope);
  }
  if (const auto node = reader.find("tolerance_factor")) {
    spec.tolerance_factor = read_number(*node, {.min = 0, .above = true});
  }
}

void read_texts(ObjectReader& reader, TemplateSpec& spec, const fs::path& manifest) {
  if (const auto node = reader.find("$schema")) read_string(*node);
  spec.name = read_name(reader.need("name", "the name of the template's folder"), manifest);
  spec.summary = read_string(reader.need("summary", "one line on what the kernel is"));
  if (const auto node = reader.find("teaches")) spec.teaches = read_string(*node);
}

}  // namespace

std::vector<Constraint> read_constraints(const JsonNode& node) {
  std::vector<Constraint> constraints;
  for (const JsonNode& element : read_list(node, "constraints", Empty::allowed, kMostEntries)) {
    ObjectReader reader(element, keys::kConstraint);
    Constraint constraint;
    constraint.require = read_expression(reader.need("require", "an expression that must be true"));
    constraint.why = read_string(reader.need("why", "the reason of the constraint"));
    reader.finish();
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

TemplateSpec load_template(const Folder& folder, const fs::path& manifest_name, const LoadOptions& options) {
  const fs::path manifest = folder.path() / manifest_name;
  const std::string text = options.allow_outside_paths ? read_file(manifest, kLargestJson)
                                                       : folder.read(manifest_name, kLargestJson);
  const auto json = parse_json(text, manifest.string());
  TemplateSpec spec;
  spec.where = {manifest.string(), ""};
  spec.folder = folder.real_path();
  ObjectReader reader({json, spec.where}, keys::kTemplate);
  DeclaredNames scope;
  scope.declare("multiprocessors", "the GPU's number of multiprocessors", spec.where);
  read_texts(reader, spec, manifest);
  OperationPlace place{spec.name, spec.folder, {spec.folder.parent_path()}, options.allow_outside_paths};
  place.folders.insert(place.folders.end(), options.template_folders.begin(), options.template_folders.end());
  spec.operation = read_operation(reader, place, scope);
  read_names(reader, spec, scope);
  if (const auto node = reader.find("constraints")) spec.constraints = read_constraints(*node);
  spec.launch = read_launch(reader.need("launch", R"(an object with "grid" and "block")"));
  read_kernel(reader, spec, scope, options.allow_outside_paths);
  if (const auto node = reader.find("workspace"))
    spec.workspace = read_workspace(*node, spec.operation.buffers);
  spec.arguments = read_arguments(reader.need("arguments", "a list of the kernel's arguments"),
                                  {spec.operation.buffers, spec.workspace}, scope);
  add_implied_constraints(spec);
  reader.finish(operation_remedy(spec.operation));
  return spec;
}

TemplateSpec load_template(const fs::path& manifest, const LoadOptions& options) {
  return load_template(Folder(manifest.parent_path()), manifest.filename(), options);
}

}  // namespace tiletune
