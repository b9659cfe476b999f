#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/source.h"
#include "deploy/plan_code.h"
#include "deploy/recorded_kernels.h"
#include "output/portfolio.h"
#include "store/trial.h"

namespace tiletune {

/// What a program is to have of a database.
struct DeploymentRequest {
  TrialFilter filter;
  PortfolioOptions portfolio;
  bool library = false;  ///< cuBLAS is a candidate, too, where its times were recorded
  std::function<void(const std::string&)> note;  ///< is called with a line for all that is left out
};

/// A kernel's source, and where it lies in the folder that a deployment is written to.
struct DeployedSource {
  KernelSource text;
  std::filesystem::path home;  ///< "kernels/sgemm_warptile"

  /// Where a file lies, from its name for the source: "kernels/common/quads.cuh" of "../common/quads.cuh".
  /// Throws UserError where that is outside.
  std::string path(const std::string& name) const;
  /// Where the compiler looks for #include.
  std::vector<std::string> include_folders() const;
};

struct DeployedKernel : RecordedKernel {
  const DeployedSource* source = nullptr;  ///< null: cuBLAS computes the product
  std::vector<std::string> options;        ///< of NVRTC, but for the architecture
  PlanCode code;
};

/// A kernel of a section.
struct DeployedCandidate {
  std::size_t kernel = 0;
  TimeModel model;                           ///< without terms: nothing predicts it
  std::vector<std::int64_t> blocks_at_once;  ///< by launch, on this GPU; empty: not known
};

/// Measured on one GPU, with one set of scalars.
struct DeployedSection {
  Comparable what;
  std::string architecture;  ///< of its rows: "sm_90a"
  std::string scalars;       ///< of its rows: "alpha=1 beta=0"
  std::vector<std::string> dimensions;
  std::vector<DeployedCandidate> candidates;
  std::vector<FastestKernelOn> fastest;  ///< kernels are places among the candidates
};

/// An operation with its types and options: a function of the program.
struct DeployedOperation {
  std::string name;  ///< "gemm_f32"; no two operations have one
  std::shared_ptr<const TemplateSpec> spec;
  Problem problem;  ///< one that it was measured on
  std::vector<DeployedSection> sections;
};

struct Deployment {
  std::deque<DeployedSource> sources;
  std::vector<DeployedKernel> kernels;
  std::vector<DeployedOperation> operations;
};

/// Chooses kernels by the filter's rows as `portfolio` does, and to each section adds kernels that can run
/// where those cannot but others that were measured can. Throws NothingToDo where no row ran, and UserError
/// where a template is missing or is not what was measured.
Deployment make_deployment(const Database& database, RecordedKernels& recorded,
                           const DeploymentRequest& request);

/// The tables and functions that choose a kernel and plan its launches, for programs that launch it
/// themselves and for the other files of a folder.
std::string kernels_header(const Deployment& deployment, const std::string& name_space);

/// One of the kernels that an operation brings.
DeployedSource source_of(const OperationKernel& kernel, const TemplateSpec& spec);

/// test/operations.h of a folder: what the operations take and compute.
std::string tested_operations(const Deployment& deployment);

/// "90a": a compute capability, with the letter of what only runs there.
bool is_architecture(const std::string& text);
/// That of a section's rows; empty where they have none.
std::string architecture_of(const DeployedSection& section);

/// What else a folder has, by path: the files that kernels are compiled from, and the program around them.
struct FolderOptions {
  std::string name_space = "tuned";
  std::vector<std::string> architectures;  ///< "90a", "80"
  bool jit = false;                        ///< kernels are compiled where they are launched
};
std::map<std::string, std::string> folder_files(const Deployment& deployment, const FolderOptions& options);

/// The name as C++ takes it: keywords get an underscore behind them, and other characters become one.
std::string identifier_of(const std::string& name);

/// "TUNED_L40" of "tuned::l40".
std::string macro_of(const std::string& name_space);

/// The plan of a product (PlanCode::statements) as one launch: what cuBLAS, and the test's reference, are
/// passed. Sizes, alpha, A, B, beta, C, bias, leading dimensions, whether A and B are transposed, and the
/// activation.
std::string product_plan(const Operation& operation);

/// Throws UserError unless the text names a namespace, such as "sizes" or "tuned::sizes".
void check_header_namespace(const std::string& text);

}  // namespace tiletune
