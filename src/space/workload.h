#pragma once

#include <optional>

#include "space/instance.h"
#include "space/scope.h"

namespace tiletune::space {

/// Evaluates what all configurations share; only dimensions and scalars may be used for it. Throws UserError.
Workload make_workload(const TemplateSpec& spec, const Scope& scope);
std::optional<ReferenceInstance> make_reference(const TemplateSpec& spec, const Scope& scope);

}  // namespace tiletune::space
