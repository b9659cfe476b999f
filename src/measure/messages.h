#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/device_properties.h"
#include "base/fields.h"
#include "base/outcome.h"
#include "base/statistics.h"
#include "compile/request.h"
#include "gpu/device.h"
#include "space/instance.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// What the parent and a GPU worker say to each other. Every struct goes through a frame as JSON, by its list
/// of fields (base/fields_json.h).

/// The worker's first message: which GPU it holds.
struct GpuOpened {
  DeviceFacts device;
  int devices = 1;             ///< GPUs that the driver shows; fewer than asked for: no other message follows
  std::string driver_version;  ///< NVML's, or empty

  static constexpr std::string_view kMessage = "opened";
  static constexpr auto fields() {
    return fields_of<&GpuOpened::device, &GpuOpened::devices, &GpuOpened::driver_version>();
  }
};

/// A long answer is under way.
struct Alive {
  /// The finalist whose turn it is (0: a baseline or the second copy), or the reference's candidate.
  std::optional<std::uint64_t> ticket;

  static constexpr std::string_view kMessage = "alive";
  static constexpr auto fields() { return fields_of<&Alive::ticket>(); }
};

/// Where the worker writes what an output holds in the end, without padding. The file is there.
struct OutputFile {
  std::string buffer;
  std::string path;
  std::uint64_t offset = 0;  ///< of the first element

  static constexpr auto fields() {
    using O = OutputFile;
    return fields_of<&O::buffer, &O::path, &O::offset>();
  }
};

/// What a configuration launches on the problem of a check.
struct CheckLaunches {
  std::size_t check = 0;               ///< its place in PrepareRequest::checks
  std::vector<KernelLaunch> launches;  ///< the rest is as in MeasureRequest
  std::vector<ConstantCopy> constants;
  std::vector<SizedWorkspace> workspace;

  static constexpr auto fields() {
    using C = CheckLaunches;
    return fields_of<&C::check, &C::launches, &C::constants, &C::workspace>();
  }
};

/// A configuration that is to be verified and timed.
struct MeasureRequest {
  std::uint64_t ticket = 0;
  std::string cubin;
  std::vector<KernelLaunch> launches;  ///< of the cubin's kernels, in this order; at least one
  std::vector<GpuStep> steps;          ///< on several GPUs: these and the launches, in this order
  std::vector<ConstantCopy> constants;
  std::vector<std::string> variables;  ///< of the cubin, in device memory
  std::vector<SizedWorkspace> workspace;
  double tolerance_factor = 1;
  std::optional<double> leader_us;  ///< upper bound of the leader's time; none: it is not screened
  std::vector<OutputFile> outputs;
  std::vector<CheckLaunches> checks;

  static constexpr std::string_view kMessage = "measure";
  static constexpr auto fields() {
    using R = MeasureRequest;
    return joined(list_of(field("ticket", &R::ticket), binary_field("cubin", &R::cubin)),
                  fields_of<&R::launches, &R::steps, &R::constants, &R::variables, &R::workspace,
                            &R::tolerance_factor, &R::leader_us, &R::outputs, &R::checks>());
  }
  std::string fault() const {
    if (launches.empty()) return "there is no kernel to launch";
    const bool are_there = std::all_of(steps.begin(), steps.end(), [&](const GpuStep& step) {
      return step.launch < static_cast<std::int64_t>(launches.size());
    });
    return are_there ? "" : "a step launches a kernel that is not there";
  }
};

/// Everything the configurations of one problem have in common.
struct PrepareRequest {
  Workload workload;
  std::optional<LibraryOperation> reference_library;  ///< computes the outputs in FP64; none: `reference`
                                                      ///< does, or nothing where the policy does not verify
  std::optional<LibraryOperation> baselines;          ///< whose kernels are the baselines
  // What libraries compute for all problems of the sweep: once confined, a worker cannot open a library.
  std::vector<LibraryOperation> sweep_references;
  std::vector<LibraryOperation> sweep_baselines;
  bool needs_nccl = false;  ///< whether a step of the sweep's configurations uses NCCL
  /// The problem's sizes, then those of its leading dimensions that are not the defaults.
  std::vector<std::pair<std::string, std::int64_t>> dimensions;
  std::vector<std::pair<std::string, double>> scalars;
  std::vector<std::pair<std::string, std::string>> options;  ///< of the operation, as the template chose them
  ElementType accumulator = ElementType::f32;
  std::optional<int> accumulation_bits;  ///< significant bits of the sums, where fewer than the accumulator's
  MeasurePolicy policy;
  Baseline baseline = Baseline::lt;
  bool calibrate = false;  ///< nothing is known yet of this GPU with this driver

  /// A kernel of the operation, compiled for this GPU by the parent's compile library.
  struct OperationLaunch {
    std::string input;  ///< whose values it computes; empty: it is the reference
    std::string cubin;
    KernelLaunch launch;

    static constexpr auto fields() {
      using L = OperationLaunch;
      return list_of(field("input", &L::input), binary_field("cubin", &L::cubin),
                     field("launch", &L::launch));
    }
  };
  std::vector<OperationLaunch> inputs;  ///< in this order, before the reference
  std::optional<OperationLaunch> reference;
  std::vector<MeasureRequest> candidates;  ///< configurations whose agreement is the reference
  int agreeing = 0;                        ///< how many of them must agree
  std::vector<PrepareRequest> checks;      ///< problems that configurations only compute
  std::string name;                        ///< of a check, with its problem
  double scale = 0;                        ///< errors of a check relate to no less than this

  static constexpr std::string_view kMessage = "prepare";
  static constexpr auto fields() {
    using R = PrepareRequest;
    return joined(fields_of<&R::workload, &R::reference_library, &R::baselines, &R::sweep_references,
                            &R::sweep_baselines, &R::needs_nccl, &R::dimensions, &R::scalars, &R::options,
                            &R::accumulator, &R::accumulation_bits, &R::policy, &R::baseline, &R::calibrate,
                            &R::inputs, &R::reference, &R::candidates, &R::checks, &R::name, &R::scale>(),
                  fields_from_zero<&R::agreeing>());
  }
};

/// How an output compared with the FP64 reference.
struct Accuracy {
  double relative_error = 0;          ///< the worst output's, norm-wise
  std::optional<double> error_bound;  ///< the largest that passes; none where each element has a tolerance
  double largest_error = 0;           ///< of a single element, absolute
  std::string largest_error_at;       ///< "C[12,77]"

  static constexpr auto fields() {
    using A = Accuracy;
    return fields_of<&A::relative_error, &A::error_bound, &A::largest_error, &A::largest_error_at>();
  }
};

/// What NVML said of the GPU right after the samples.
struct GpuCondition {
  std::optional<double> power_w;
  std::string throttle_reasons;  ///< "sw_power_cap, hw_slowdown"; empty: none
  std::string neighbours;        ///< other programs on the GPU: "python3 (pid 7)"; empty: none are seen
  bool waits_for_host = false;   ///< samples hold the host's launch latency

  static constexpr auto fields() {
    using C = GpuCondition;
    return fields_of<&C::power_w, &C::throttle_reasons, &C::neighbours, &C::waits_for_host>();
  }
};

/// Other measured figures of a launch, by their names in store/trial_columns.h; none: not available.
using Figures = std::map<std::string, std::optional<double>>;

/// How a library computes a baseline.
struct LibraryKernels {
  std::string library;  ///< "cuBLAS 13.0.2"
  std::string kernels;  ///< names of the kernels it launches, joined by " + "; empty where they are not known
  std::string algorithm;  ///< what tells it from the library's other ways: "heuristic 3 of 8"; or empty

  static constexpr auto fields() {
    using L = LibraryKernels;
    return fields_of<&L::library, &L::kernels, &L::algorithm>();
  }
};

/// The result of a configuration or a baseline; in finals, also that of the second copy.
struct Measured {
  std::uint64_t ticket = 0;  ///< of a configuration; 0 for a library's baseline, and in finals for all
                             ///< baselines and the second copy
  std::string name;          ///< of a baseline, or "twin" (the second copy); else empty
  Outcome outcome = Outcome::ok;
  std::string reason;
  std::string warning;           ///< for its row, or empty
  std::optional<Timing> timing;  ///< also if it was screened out; in finals, sample i is of round i, and
                                 ///< dropped finalists have fewer samples
  std::optional<Accuracy> accuracy;
  std::optional<LibraryKernels> library;       ///< of a library's baseline, before the finals
  GpuCondition condition;                      ///< not in finals
  std::vector<double> launch_shares;           ///< of several launches: each one's part of the time, 0 to 1
  std::optional<KernelAttributes> attributes;  ///< the driver's, of the launch with the lowest occupancy
  std::optional<int> driver_blocks_per_multiprocessor;
  double measure_ms = 0;  ///< wall time
  Figures figures;
  std::string
      printed;  ///< to standard output and error, as it is; the parent has taken it, it is in no message

  static constexpr std::string_view kMessage = "measured";
  static constexpr auto fields() {
    using M = Measured;
    return fields_of<&M::ticket, &M::name, &M::outcome, &M::reason, &M::warning, &M::timing, &M::accuracy,
                     &M::library, &M::condition, &M::launch_shares, &M::attributes,
                     &M::driver_blocks_per_multiprocessor, &M::measure_ms, &M::figures>();
  }
};

struct Prepared {
  std::vector<Measured>
      baselines;  ///< those of libraries, on the same data, with the same policy; all are timed
  std::optional<Calibration> calibration;  ///< when asked for
  std::string note;                        ///< why there is no baseline, or not all of them

  static constexpr std::string_view kMessage = "prepared";
  static constexpr auto fields() {
    return fields_of<&Prepared::baselines, &Prepared::calibration, &Prepared::note>();
  }
  std::string fault() const {
    const bool are_timed = std::all_of(baselines.begin(), baselines.end(),
                                       [](const Measured& one) { return one.timing && one.library; });
    return are_timed ? "" : "a baseline has no time";
  }
};

/// The leaders of a prepared problem, to be re-measured, interleaved. The worker adds the libraries'
/// baselines of the problem and a second copy of the first finalist: the same cubin, loaded a second time.
struct FinalsRequest {
  std::vector<MeasureRequest> finalists;  ///< the leader first; tickets tell them apart
  std::vector<std::pair<std::string, MeasureRequest>> baselines;  ///< kernels of the operation, by name
  double longest_us = 3e6;  ///< of all rounds, of which at least 12 are run

  static constexpr std::string_view kMessage = "finals";
  static constexpr auto fields() {
    return fields_of<&FinalsRequest::finalists, &FinalsRequest::baselines, &FinalsRequest::longest_us>();
  }
};

struct FinalsMeasured {
  std::vector<Measured> times;  ///< of finalists, the second copy and baselines
  GpuCondition condition;
  double wall_ms = 0;

  static constexpr std::string_view kMessage = "finals_measured";
  static constexpr auto fields() {
    using F = FinalsMeasured;
    return fields_of<&F::times, &F::condition, &F::wall_ms>();
  }
};

}  // namespace tiletune
