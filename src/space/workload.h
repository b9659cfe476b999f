#pragma once

#include <optional>

#include "space/instance.h"
#include "space/program.h"
#include "space/scope.h"

namespace tiletune::space {

/// From 0 to 2^56, so that they can be counted in bytes. Throws UserError.
std::int64_t evaluate_elements(const Program& program, const Bindings& bindings);

/// Evaluates what all configurations share; only dimensions and scalars may be used for it. Throws UserError.
/// Opens the files of inputs and of expected outputs, and checks that they hold what is needed.
Workload make_workload(const TemplateSpec& spec, const Problem& problem, const Scope& scope);
/// Of the operation's kernels that compute inputs.
std::vector<KernelLaunch> make_input_launches(const TemplateSpec& spec, const Scope& scope);
/// Its arguments are the template's without those for workspaces, and buffers instead of tensor maps.
std::optional<KernelLaunch> make_reference(const TemplateSpec& spec, const Scope& scope);

}  // namespace tiletune::space
