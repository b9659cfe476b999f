#pragma once

#include <vector>

#include "space/instance.h"
#include "space/program.h"

namespace tiletune::space {

/// The sizes of a configuration's workspace.
class WorkspacePrograms {
 public:
  WorkspacePrograms(const std::vector<WorkspaceArray>& arrays, const SymbolTable& symbols);
  /// Throws UserError for what is not a number of elements.
  std::vector<SizedWorkspace> evaluate(const Bindings& bindings) const;

 private:
  std::vector<SizedWorkspace> arrays_;  ///< with the elements still open
  std::vector<Program> elements_;
};

}  // namespace tiletune::space
