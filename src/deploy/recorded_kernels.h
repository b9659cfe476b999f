#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inspect/gpu_model.h"
#include "rank/portfolio.h"
#include "space/instance.h"
#include "spec/tune_spec.h"
#include "store/database.h"

namespace tiletune {

/// A configuration of a row, with the template that it is of as that is now.
struct RecordedKernel {
  Trial row;
  std::shared_ptr<const TemplateSpec> spec;
  Problem problem;  ///< of the row
  Configuration configuration;

  std::string name() const;  ///< "sgemm_warptile BM=128 BN=64"
};

/// Finds the kernels of rows, and evaluates their templates at other sizes.
class RecordedKernels {
 public:
  /// Templates are looked for in `template_folders`, then beside the recorded configs and among the shipped
  /// ones. Refers to the database.
  RecordedKernels(const Database& database, std::vector<std::filesystem::path> template_folders);

  /// Throws UserError where the template is missing or does not have what was measured.
  RecordedKernel of_row(std::int64_t row);

  /// The problem and the configuration of a row as its template has them now. Throw UserError.
  static Problem problem_of(const Trial& row, const TemplateSpec& spec);
  static Configuration configuration_of(const Trial& row, const TemplateSpec& spec);

  /// Null where the template's expressions have no value for the problem.
  const Instantiator* instantiator(const RecordedKernel& kernel, const Problem& problem);

  /// The kernel at its recorded problem and scalars, on its GPU, or one of 132 multiprocessors where no model
  /// describes that; none where the template has no value for it.
  std::optional<Instance> instance_of(const RecordedKernel& kernel) const;
  /// Throws UserError where the template launches otherwise than the row has recorded.
  void check_launches(const RecordedKernel& kernel);

  /// For each problem whether a kernel can be launched there as it is compiled for its own: the template's
  /// constraints, the limits of CUDA's grids, and whatever is compiled into it.
  std::vector<bool> can_run(const RecordedKernel& kernel, std::span<const Problem> problems);
  bool can_run(const RecordedKernel& kernel, const Problem& problem) {
    return can_run(kernel, std::span(&problem, 1)).front();
  }

  /// By launch, how many thread blocks the GPU of the row holds at once, as recorded of the launch with the
  /// lowest occupancy; where the GPU limits a grid, at most as many as the grid ever has. Empty for GPUs that
  /// no model describes, and where the occupancy is not recorded.
  std::vector<std::int64_t> blocks_at_once(const RecordedKernel& kernel);

  /// By launch, how often a kernel fills the GPU with thread blocks, or with the tiles that blocks share, of
  /// which so many run at once; empty where that is not known.
  Waves waves(const RecordedKernel& kernel, const Problem& problem,
              const std::vector<std::int64_t>& blocks_at_once);

  /// A kernel whose template is missing or has other sizes, which `note` hears of, may run everywhere, and
  /// its waves are not known. Refers to the table.
  KernelFacts facts_of(const PortfolioTable& table, const std::function<void(const std::string&)>& note);

 private:
  std::shared_ptr<const TemplateSpec> load(const Trial& row) const;
  /// None where the configuration's expressions have no value for the problem.
  std::optional<Instance> instance(const RecordedKernel& kernel, const Problem& problem, int multiprocessors);
  int multiprocessors_of(const Trial& row) const;  ///< 0: not known

  const Database& database_;
  std::vector<std::filesystem::path> folders_;
  std::vector<SweepRecord> sweeps_;
  std::vector<GpuModel> models_;
  std::map<std::array<std::string, 3>, std::shared_ptr<const TemplateSpec>> templates_;
  std::map<std::pair<const TemplateSpec*, std::string>, std::shared_ptr<const Instantiator>> instantiators_;
};

/// The value of a parameter as its template writes it, which may have 1 where another tool's recording has
/// true; what `known` does not have stays as it is. None for what is no plain value.
std::optional<Value> recorded_value(const std::vector<Value>& known, const nlohmann::ordered_json& json);

/// Stands for any GPU: no constraint depends on the number of multiprocessors.
inline constexpr int kAnyMultiprocessors = 132;
/// More multiprocessors than any GPU has: a grid that they limit then has a thread block for each tile.
inline constexpr int kUnlimitedMultiprocessors = 1'000'000'000;

}  // namespace tiletune
