#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/values.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// Parameters and derived values share one scope with the operation's dimensions and scalars.
void read_names(ObjectReader& reader, TemplateSpec& spec, DeclaredNames& scope) {
  if (const auto parameters = reader.find("parameters")) {
    for (const JsonNode& node : read_list(*parameters, "parameters", Empty::allowed)) {
      spec.parameters.push_back(read_object<Parameter>(node, keys::kParameter));
      spec.parameters.back().where = node.where;
      scope.declare(spec.parameters.back().name, "a parameter", node.where.at("name"));
    }
  }
  if (const auto derived = reader.find("derived")) {
    for (const JsonNode& node : read_list(*derived, "derived values", Empty::allowed)) {
      spec.derived.push_back(read_object<Derived>(node, keys::kDerived));
      scope.declare(spec.derived.back().name, "a derived value", node.where.at("name"));
    }
  }
}

void read_macros(ObjectReader& reader, TemplateSpec& spec) {
  const auto macros = reader.find("macros");
  if (!macros) return;
  const auto is_instantiated = [](const Launch& launch) { return !launch.template_arguments.empty(); };
  if (std::ranges::any_of(spec.launches, is_instantiated)) {
    throw UserError("found both 'template_arguments' and 'macros'", macros->where,
                    "Keep one: a C++ template takes arguments, an extern \"C\" kernel takes macros.");
  }
  for (const auto& [name, node] : read_members(*macros, "an object of expressions")) {
    check_identifier(name, node.where);
    spec.macros.emplace_back(name, read_expression(node));
  }
}

bool mentions(const ExprText& expression, const std::string& name) {
  const std::string& text = expression.text;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts_word = at == 0 || !is_identifier_part(text[at - 1]);
    if (starts_word && (end == text.size() || !is_identifier_part(text[end]))) return true;
  }
  return false;
}

/// Whether the kernel learns the value of a name, at run time or when it is compiled. A derived value is
/// taken for one that it learns.
bool passes(const TemplateSpec& spec, const std::string& name) {
  const auto mentioned = [&](const ExprText& text) { return mentions(text, name); };
  const auto passed = [&](const Argument& argument) {
    return mentioned(argument.value) ||
           (argument.tensor_map && std::ranges::any_of(argument.tensor_map->pitches, mentioned));
  };
  const auto learns = [&](const Launch& launch) {
    return std::ranges::any_of(launch.arguments, passed) ||
           std::ranges::any_of(launch.template_arguments, mentioned);
  };
  return std::ranges::any_of(spec.launches, learns) ||
         std::ranges::any_of(spec.derived, mentioned, &Derived::value) ||
         std::ranges::any_of(spec.macros, mentioned, &std::pair<std::string, ExprText>::second);
}

/// Adds what an operation demands of configurations beyond the manifest: a kernel that does not learn of all
/// leading dimensions is for dense matrices. Needs the arguments.
void add_implied_constraints(TemplateSpec& spec) {
  const auto& leading = spec.operation.leading_dimensions;
  const auto is_passed = [&](const LeadingDimension& each) { return passes(spec, each.name); };
  if (std::ranges::all_of(leading, is_passed)) return;
  std::vector<std::string> dense;
  for (const auto& [name, matrix, columns] : leading) dense.push_back(fmt::format("{} == {}", name, columns));
  spec.constraints.push_back(
      {{join(dense, " and "), spec.where.at("arguments")}, "the kernel takes dense matrices only"});
}

/// The arguments of one kernel serve for the reference kernel, too; those of several do not.
void check_reference_arguments(const TemplateSpec& spec) {
  const auto& reference = spec.operation.reference;
  const bool is_plain = spec.launches.size() == 1 && spec.constants.empty() && spec.steps.empty();
  if (!reference || is_plain || !reference->launch.arguments.empty()) return;
  throw UserError(
      "the reference kernel's arguments are missing", spec.where.at("operation").at("reference"),
      "With several launches or GPUs, or with constant memory, give the reference its own \"arguments\".");
}

/// What is compiled already takes no arguments of a compiler.
void check_compiled(ObjectReader& reader, const TemplateSpec& spec) {
  if (!is_compiled(spec.source)) return;
  const auto refuse = [&](const char* key, const Where& where) {
    throw UserError(fmt::format("found '{}', but {} is compiled already", key, spec.source.string()), where,
                    "Remove it, and name parameters in braces in 'source': one file for each configuration.");
  };
  if (const auto node = reader.find("macros")) refuse("macros", node->where);
  const auto options = reader.find("compile_options");
  if (options && is_cubin(spec.source)) refuse("compile_options", options->where);
  for (const Launch& launch : spec.launches) {
    if (!launch.template_arguments.empty())
      refuse("template_arguments", launch.template_arguments.front().where);
  }
}

void check_tolerance(const TemplateSpec& spec) {
  const std::string remedy =
      "Lower it, or pass --allow-loose. Rows with such a tolerance are ranked separately.";
  if (spec.tolerance_factor > kMostToleranceFactor)
    throw UserError(fmt::format("found a tolerance_factor of {}; at most {} is accepted",
                                spec.tolerance_factor, kMostToleranceFactor),
                    spec.where.at("tolerance_factor"), remedy);
  const auto& tolerance = spec.operation.tolerance;
  if (tolerance && tolerance->relative > kMostRelativeTolerance)
    throw UserError(fmt::format("the operation {} allows relative errors of {:g}; at most {:g} is accepted",
                                spec.operation.name, tolerance->relative, kMostRelativeTolerance),
                    spec.where.at("operation"), remedy);
}

void read_compilation(ObjectReader& reader, TemplateSpec& spec, const DeclaredNames& scope,
                      bool allow_outside_paths) {
  const JsonNode source = reader.need("source", "the kernel's file");
  // Files of compiled kernels may be missing.
  const bool is_text = source.json.get().is_string();
  spec.source = is_text && is_compiled(read_string(source))
                    ? fs::path(read_string(source))
                    : resolve_file(source, spec.folder, allow_outside_paths);
  check_compiled(reader, spec);
  if (const auto folders = reader.find("include_folders"))
    for (const JsonNode& node : read_list(*folders, "folders", Empty::allowed))
      spec.include_folders.push_back(resolve_folder(node, spec.folder, allow_outside_paths));
  read_macros(reader, spec);
  reader.read(keys::kCompilation, spec, scope);
  spec.nvcc_options = take_nvcc_options(spec.compile_options);
}

/// Leaves each parameter the value that `values` names, or else its first.
void choose_values(const std::optional<JsonNode>& values, TemplateSpec& spec) {
  for (Parameter& parameter : spec.parameters) parameter.values.resize(1);
  if (!values) return;
  for (const auto& [name, value] : read_members(*values, "an object of values")) {
    const auto parameter = std::ranges::find(spec.parameters, name, &Parameter::name);
    if (parameter == spec.parameters.end())
      throw UserError(fmt::format("the template {} has no parameter '{}'", spec.name, name), value.where,
                      "Rename or remove it.");
    const auto list = nlohmann::ordered_json::array({value.json.get()});
    parameter->values = read_narrowed_values({list, value.where}, *parameter, true);
  }
}

/// The manifest with one variant in the place of all that it offers.
void choose(const Variant& variant, nlohmann::ordered_json& manifest) {
  const auto put = [&](const char* key, const Choices& choices) {
    if (choices.empty()) return;
    manifest[key] = nlohmann::ordered_json::object();
    for (const auto& [name, text] : choices) manifest[key][name] = text;
  };
  put("types", variant.types);
  put("options", variant.options);
}

}  // namespace

TemplateSpec load_template(const Folder& folder, const fs::path& manifest_name, const LoadOptions& options,
                           const Variant* variant, Compared compared) {
  const fs::path manifest = folder.path() / manifest_name;
  const std::string text = options.allow_outside_paths ? read_file(manifest, kLargestJson)
                                                       : folder.read(manifest_name, kLargestJson);
  auto json = parse_json(text, manifest.string());
  if (variant != nullptr && json.is_object()) choose(*variant, json);
  TemplateSpec spec;
  spec.where = {manifest.string(), ""};
  spec.folder = folder.real_path();
  if (json.is_object() && json.contains("templates") && !json.contains("source")) {
    throw UserError("this is a config, not a template's manifest", spec.where,
                    "Name a template's folder, or its template.json.");
  }
  if (json.is_object() && json.contains("operation") && json["operation"] == "custom")
    throw UserError(
        R"(the operation is "custom", which only version 0.1 accepted)", spec.where.at("operation"),
        "Write the operation as an object with the keys dimensions, buffers, scalars, flops, bytes and "
        "reference, and with accumulation and bound: docs/template.md.");
  ObjectReader reader({json, spec.where}, key_names(keys::kTemplate));
  DeclaredNames scope;
  scope.declare("multiprocessors", "the GPU's number of multiprocessors", spec.where);
  if (const auto node = reader.find("$schema")) read_string(*node);
  const JsonNode name = reader.need("name", "the name of the template's folder");
  spec.name = read_identifier(name);
  // A name of another folder's template is a copy that was not renamed.
  const std::string own = fs::absolute(manifest).lexically_normal().parent_path().filename().string();
  if (spec.name != own)
    throw UserError(fmt::format("the template is named '{}', but its folder is named '{}'", spec.name, own),
                    name.where, "Give both the same name.");
  reader.read(keys::kTexts, spec);
  std::vector<fs::path> folders{spec.folder.parent_path()};
  folders.insert(folders.end(), options.template_folders.begin(), options.template_folders.end());
  read_operation(reader, folders, options, compared, spec, scope);
  read_names(reader, spec, scope);
  if (const auto node = reader.find("constraints")) spec.constraints = read_constraints(*node);
  if (const auto node = reader.find("workspace")) spec.workspace = read_workspace(*node, spec.operation);
  // A kernel that takes a buffer which only other options have gets a null address for it.
  const auto& absent = spec.operation.absent;
  for (const Buffer& buffer : absent)
    spec.workspace.push_back({buffer.name, buffer.type, {"0", buffer.elements.where}, false, ""});
  read_launches(reader, false, spec, scope);
  std::erase_if(spec.workspace, [&](const WorkspaceArray& array) {
    return is_among(array.name, names_of(absent, &Buffer::name)) && !is_passed(spec, array.name);
  });
  read_constants(reader, spec);
  check_reference_arguments(spec);
  read_compilation(reader, spec, scope, options.allow_outside_paths);
  if (!options.allow_loose) check_tolerance(spec);
  check_all_passed(spec, spec.launches.size() > 1 ? spec.where : spec.where.at("arguments"));
  add_implied_constraints(spec);
  reader.finish();
  return spec;
}

std::vector<Constraint> read_constraints(const JsonNode& node) {
  std::vector<Constraint> constraints;
  for (const JsonNode& element : read_list(node, "constraints", Empty::allowed, kMostEntries))
    constraints.push_back(read_object<Constraint>(element, keys::kConstraint));
  return constraints;
}

TemplateSpec read_kernel_baseline(const JsonNode& node, const Operation& operation,
                                  const DeclaredNames& scope, const fs::path& folder, bool allow_outside) {
  ObjectReader reader(node, key_names(keys::kKernelBaseline));
  TemplateSpec baseline;
  baseline.where = node.where;
  baseline.folder = folder;
  baseline.operation = operation;
  baseline.name = read_identifier(reader.need("name", "the baseline's name"));
  baseline.source = resolve_file(reader.need("source", "the kernel's file"), folder, allow_outside);
  read_launches(reader, true, baseline, scope);
  read_constants(reader, baseline);
  read_macros(reader, baseline);
  check_all_passed(baseline, node.where);
  baseline.operation.baseline_library.reset();
  baseline.operation.reference.reset();
  reader.finish();
  return baseline;
}

TemplateSpec read_template_baseline(const JsonNode& node, const Operation& operation,
                                    const std::vector<fs::path>& folders, const LoadOptions& options) {
  ObjectReader reader(node, key_names(keys::kTemplateBaseline));
  const JsonNode template_name = reader.need("template", "a template's name");
  const Variant variant = variant_of(operation);
  TemplateSpec baseline = load_template(find_template(read_identifier(template_name), folders,
                                                      options.allow_outside_paths, template_name.where),
                                        kManifestName, options, &variant, Compared::no);
  if (baseline.operation.name != operation.name)
    throw UserError(fmt::format("the template {} computes {}, not {}", baseline.name, baseline.operation.name,
                                operation.name),
                    template_name.where, "Name a template of the same operation.");
  choose_values(reader.find("parameters"), baseline);
  if (const auto name = reader.find("name")) baseline.name = read_identifier(*name);
  baseline.operation.baseline_library.reset();
  baseline.operation.reference.reset();
  reader.finish();
  return baseline;
}

TemplateSpec load_template(const fs::path& manifest, const LoadOptions& options, const Variant* variant) {
  return load_template(Folder(manifest.parent_path()), manifest.filename(), options, variant);
}

}  // namespace tiletune
