#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Where a manifest lies, and where it finds operations.
struct OperationPlace {
  std::string template_name;     ///< also of an operation of its own that has no other name
  std::filesystem::path folder;  ///< of the manifest, canonical
  std::vector<std::filesystem::path>
      folders;  ///< with operations/<name>/operation.json; the first one counts
  bool allow_outside_paths = false;
  /// Takes each baseline that is a kernel, of an operation that lies in `operation_folder` and is read, with
  /// the names that its expressions may use.
  std::function<void(const JsonNode& baseline, const Operation& operation, const DeclaredNames& scope,
                     const std::filesystem::path& operation_folder)>
      take_baseline;
  /// The same of an operation's reference that is a template.
  std::function<void(const JsonNode& node, const Operation& operation)> take_reference;
};

/// Reads a manifest's "operation": the name of one, an object, or "custom" as in version 0.1, with the
/// members of the object beside it. Reads "types" and "options", what the template offers, takes the
/// first of each, and declares what expressions may name in `scope`. Throws UserError.
Operation read_operation(ObjectReader& manifest, const OperationPlace& place, DeclaredNames& scope);

/// Adds what an operation demands of configurations beyond the manifest: a kernel that does not learn of all
/// leading dimensions is for dense matrices. Needs the arguments.
void add_implied_constraints(TemplateSpec& spec);

/// What to do about a key of an operation's object that stands in the manifest itself.
std::string operation_remedy(const Operation& operation);

/// The types and options that an operation is read with.
Variant variant_of(const Operation& operation);

/// Replaces the value of a scalar of the operation, also for its baselines and its reference. False when it
/// has no such scalar.
bool set_scalar(TemplateSpec& spec, const std::string& name, double value);

}  // namespace tiletune
