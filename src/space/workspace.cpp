#include "space/workspace.h"

#include "space/workload.h"

namespace tiletune::space {

WorkspacePrograms::WorkspacePrograms(const std::vector<WorkspaceArray>& arrays, const SymbolTable& symbols) {
  for (const WorkspaceArray& array : arrays) {
    arrays_.push_back({array.name, array.type, 0, array.zeroed});
    elements_.emplace_back(array.elements, symbols);
  }
}

std::vector<SizedWorkspace> WorkspacePrograms::evaluate(const Bindings& bindings) const {
  std::vector<SizedWorkspace> sized = arrays_;
  for (std::size_t i = 0; i < sized.size(); ++i)
    sized[i].elements = evaluate_elements(elements_[i], bindings);
  return sized;
}

}  // namespace tiletune::space
