#pragma once

#include <vector>

#include "spec/declared_names.h"
#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What a kernel may be passed the address of, and the types that its scalars may have.
struct Memory {
  const Operation& operation;
  const std::vector<WorkspaceArray>& workspace;
};

/// A kernel's arguments. Throws UserError for a name that is in neither list of `memory`, and for a scalar
/// without "value" whose name is not in `scope`.
std::vector<Argument> read_arguments(const JsonNode& node, const Memory& memory, const DeclaredNames& scope);

/// An element type, or one of the operation's type variables.
ElementType read_element_type(const JsonNode& node, const Operation& operation);

/// The name of a buffer or workspace. Throws UserError for another.
std::string read_memory_name(const JsonNode& node, const Memory& memory);
/// Of an element of a buffer or workspace that is there.
ElementType type_of(const std::string& name, const Memory& memory);

/// The name of a buffer that is an input alone. Throws UserError for another.
std::string read_input_name(const JsonNode& node, const std::vector<Buffer>& buffers);

/// Whether a launch passes the address of a buffer or a workspace, or a tensor map of it, or a step uses it.
bool is_passed(const TemplateSpec& spec, const std::string& name);

/// Throws UserError when a buffer or workspace is neither passed to a kernel nor copied to constant memory.
void check_all_passed(const TemplateSpec& spec, const Where& where);

}  // namespace tiletune
