#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What a kernel may be passed the address of, and the types that its scalars may have.
struct Memory {
  const Operation& operation;
  const std::vector<WorkspaceArray>& workspace;
};

// What reads a value of the keys of spec/keys.h. All throw UserError.

/// A kernel's arguments. Refuses a name that is in neither list of `memory`, and a scalar without "value"
/// whose name is not in `scope`.
std::vector<Argument> read_arguments(const JsonNode& node, const Memory& memory, const DeclaredNames& scope);
/// An element type, or one of the operation's type variables.
ElementType read_element_type(const JsonNode& node, const Operation& operation);
/// The name of a buffer or workspace.
std::string read_memory_name(const JsonNode& node, const Memory& memory);
/// The name of one that is not an input.
std::string read_written_name(const JsonNode& node, const Memory& memory);
/// The name of a workspace of words, which are zero before the first launch, as the kernel leaves them.
std::string read_signal(const JsonNode& node, const Memory& memory);
/// Variables that count, with expressions for their ends.
std::vector<std::pair<std::string, ExprText>> read_repeat(const JsonNode& node);
/// A version, or an expression for one: anything with an operator in it, or a name that is known.
ExprText read_compute_capability(const JsonNode& node, const DeclaredNames& scope);
/// The name of a choice, or an expression for one.
template <typename Choice>
ExprText read_name_of(const JsonNode& node) {
  ExprText text = read_expression(node);
  if (from_name<Choice>(text.text)) text.text = "'" + text.text + "'";
  return text;
}

/// The arrays that a configuration has for itself. Throws UserError, also for names of the operation's
/// buffers.
std::vector<WorkspaceArray> read_workspace(const JsonNode& node, const Operation& operation);

/// A manifest's "launches", with the steps between them, or the one launch whose parts stand in the manifest
/// itself. Throws UserError.
void read_launches(ObjectReader& manifest, TemplateSpec& spec, const DeclaredNames& scope);
/// Reads the launches of a kernel that is a baseline, as read_launches() does.
void read_baseline_launches(ObjectReader& baseline, TemplateSpec& spec, const DeclaredNames& scope);

/// "constants": {"d_filter": "filter"}, of buffers that are inputs alone. Throws UserError.
void read_constants(ObjectReader& reader, TemplateSpec& spec);

/// Whether a launch passes the address of a buffer or a workspace, or a tensor map of it, or a step uses it.
bool is_passed(const TemplateSpec& spec, const std::string& name);

/// Throws UserError when a buffer or workspace is neither passed to a kernel nor copied to constant memory.
void check_all_passed(const TemplateSpec& spec, const Where& where);

}  // namespace tiletune
