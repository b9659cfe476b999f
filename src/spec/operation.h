#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/folder.h"
#include "spec/load.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// Whether what a template is compared with is read, too.
enum class Compared { yes, no };

/// Reads a manifest's "operation", a name or an object, into `spec`. If `compared` is yes, also reads its
/// baselines and reference that are kernel templates. `folders` are those with templates and with
/// operations/<name>/operation.json; the first that has the operation is used. Reads "types" and "options",
/// which the template offers, and takes the first of each. Declares in `scope` the names that expressions may
/// use. Throws UserError.
void read_operation(ObjectReader& manifest, const std::vector<std::filesystem::path>& folders,
                    const LoadOptions& options, Compared compared, TemplateSpec& spec, DeclaredNames& scope);

/// Read a baseline of an operation: a kernel in `folder`, whose expressions may use the names of `scope`, or
/// one configuration of a template in one of `folders`. The baseline has no reference and no library of its
/// own: it is verified like the template that is measured. Throw UserError.
TemplateSpec read_kernel_baseline(const JsonNode& node, const Operation& operation,
                                  const DeclaredNames& scope, const std::filesystem::path& folder,
                                  bool allow_outside);
TemplateSpec read_template_baseline(const JsonNode& node, const Operation& operation,
                                    const std::vector<std::filesystem::path>& folders,
                                    const LoadOptions& options);

/// "randint(0, columns)" or "permutation": a distribution with expressions for its arguments; or an object
/// that names an .npy file beneath `folder`. `type` is the buffer's. Throws UserError.
BufferValues read_buffer_values(const JsonNode& node, ElementType type, const std::filesystem::path& folder,
                                bool allow_outside);

/// Reads and validates the manifest of that name in a template's folder, like load_template() of spec/load.h.
TemplateSpec load_template(const Folder& folder, const std::filesystem::path& manifest_name,
                           const LoadOptions& options, const Variant* variant = nullptr,
                           Compared compared = Compared::yes);

/// A list of constraints, of a manifest or a config.
std::vector<Constraint> read_constraints(const JsonNode& node);

/// The types and options that an operation is read with.
Variant variant_of(const Operation& operation);

/// Replaces the value of a scalar, where the operation has it, also for its baselines and its reference.
void set_scalar(TemplateSpec& spec, const std::string& name, double value);

/// The arrays that a configuration has for itself. Throws UserError, also for names of the operation's
/// buffers.
std::vector<WorkspaceArray> read_workspace(const JsonNode& node, const Operation& operation);

/// Reads the "launches" of a manifest or of a baseline kernel, with the steps between them, or the single
/// launch whose keys are in the object itself. Throws UserError.
void read_launches(ObjectReader& object, bool is_baseline, TemplateSpec& spec, const DeclaredNames& scope);

/// "constants": {"d_filter": "filter"}, of buffers that are inputs alone. Throws UserError.
void read_constants(ObjectReader& reader, TemplateSpec& spec);

/// Whether a launch passes the address of a buffer or a workspace, or a tensor map of it, or a step uses it.
bool is_passed(const TemplateSpec& spec, const std::string& name);

/// Throws UserError when a buffer or workspace is neither passed to a kernel nor copied to constant memory.
void check_all_passed(const TemplateSpec& spec, const Where& where);

}  // namespace tiletune
