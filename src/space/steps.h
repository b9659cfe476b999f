#pragma once

#include <optional>
#include <vector>

#include "space/instance.h"
#include "space/program.h"

namespace tiletune::space {

/// The steps of a template on several GPUs.
class StepPrograms {
 public:
  /// `symbols` are those of launches. Throws UserError.
  StepPrograms(const std::vector<StepSpec>& steps, const SymbolTable& symbols);
  /// The steps of one configuration, of which `listed` are the positions of the launches that are not left
  /// out. Throws UserError for numbers that are not those of GPUs, and for elements beyond an array's end.
  std::vector<GpuStep> evaluate(const Bindings& bindings, const Workload& workload,
                                const std::vector<SizedWorkspace>& workspace,
                                const std::vector<std::size_t>& listed) const;

 private:
  /// What copies evaluate, once for every GPU and repetition. Their own names have slots behind those of
  /// launches.
  struct CopyPrograms {
    CopyPrograms(const StepSpec& step, SymbolTable symbols);

    std::size_t rank = 0;                                 ///< slot
    std::size_t peer = 0;                                 ///< slot
    std::vector<std::pair<std::size_t, Program>> repeat;  ///< slots of variables and their last values
    std::optional<Program> peer_number, from, to, elements, word;
  };
  struct Programs {
    StepSpec spec;
    std::optional<Program> when;
    std::optional<Program> elements;  ///< of a collective operation
    std::optional<CopyPrograms> copy;
  };

  static void add_copies(const CopyPrograms& programs, const Bindings& bindings, int gpus, GpuStep& step);

  std::vector<Programs> steps_;
};

}  // namespace tiletune::space
