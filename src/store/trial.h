#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/calibration.h"
#include "base/outcome.h"

namespace tiletune {

/// One row of the database: one configuration (or baseline) of one problem on one GPU, and what became of it.
/// Names are the column names everywhere: SQL, JSON, CSV, --sort-by. Absent numbers are null.
struct Trial {
  std::string key;  ///< hash over all that determines the result; unique in a database

  // what
  std::string kind = "kernel";    ///< "kernel", "baseline", or "twin": a second copy of a finals' leader
  std::string template_name;      ///< column "template"; "cublas" or another name for a baseline
  std::string operation;          ///< "gemm"
  std::string dimensions;         ///< JSON object: {"M": 1000, "N": 77, "K": 513, "lda": 520}
  std::string options;            ///< "layout=nt"
  std::string problem;            ///< "4096x4096x4096"
  std::string scalars;            ///< "alpha=1 beta=0"
  std::string parameters;         ///< JSON object, in the template's order
  std::string derived;            ///< JSON object
  std::string kernel_expression;  ///< "sgemm_warptile<128, ...>"
  std::string compile_options;    ///< JSON array
  std::string launch;             ///< JSON {"grid":[x,y,z],"block":[x,y,z],"dynamic_shared_bytes":n}
  std::string launch_shares;      ///< JSON array: each one's part of the time; empty of one launch
  std::string size_conditions;    ///< JSON array of expressions, or of null for one that is not known
  std::string waves;              ///< the same, of each launch
  std::string element_types;      ///< "f32", or "A:f16 B:f16 C:f32 accumulator:f32"
  std::string source_key;         ///< hash of what is compiled: source text, options, expression, compiler
  std::string source_hash;        ///< of the template's source text; empty: not recorded
  std::string included_files;     ///< JSON object: own files that the source includes, with their hashes
  std::string kernel_hash;        ///< of the compiled kernel: code, constants and resources, no names
  std::string measurement;        ///< hash of kernel, launch, workload, GPU and policy
  std::string shares;             ///< key of the row that was measured for this one, too; else empty
  std::string cache;  ///< L2 before a sample: "cold", "dirty", "rotate" or "warm"; empty: not timed

  // result
  Outcome outcome = Outcome::dispatched;
  std::string reason;    ///< empty for ok
  std::string warnings;  ///< joined by "; "
  std::string printed;   ///< by the kernel, and by the driver about it; made printable
  Source source = Source::measured;
  std::optional<double> median_us;
  std::optional<double> ci_low_us;  ///< 95% interval of the median
  std::optional<double> ci_high_us;
  std::optional<double> min_us;
  std::optional<double> mean_us;
  std::optional<double> stddev_us;
  std::optional<std::int64_t> sample_count;
  std::vector<double> samples_us;  ///< raw; stored as a blob
  std::vector<double> clocks_mhz;  ///< SM clock during each sample; stored as a blob
  std::string timed_in;            ///< how far the measurement went: "screening", "sampling" or "final"
  std::optional<std::int64_t> launches_per_sample;
  std::optional<std::int64_t> discarded_samples;  ///< thrown away: the GPU was throttled meanwhile
  std::optional<double> isolated_us;              ///< of a batched kernel: median of single launches
  std::string gpu_times_us;                   ///< JSON array: each one's time, of several GPUs; else empty
  std::optional<double> first_median_us;      ///< before the finals
  std::optional<double> median_cycles;        ///< SM cycles of one launch
  std::optional<double> noise_floor_percent;  ///< how far two copies of one kernel may differ in these finals
  std::optional<double> probability_near_best;  ///< that it is within 1% of the finals' true best
  std::optional<double> tflops;
  std::optional<double> gbs;                   ///< compulsory DRAM traffic, 10^9 bytes per second
  std::string baseline;                        ///< the fastest baseline of the same run: "cublaslt"
  std::optional<double> baseline_us;           ///< its median
  std::optional<double> percent_of_baseline;   ///< 100 * baseline_us / median_us
  std::optional<double> percent_of_peak;       ///< of the GPU model's FP32 peak
  std::optional<double> arithmetic_intensity;  ///< operations per byte of compulsory DRAM traffic
  std::string pipe;                            ///< see pipe_of() in tune/ceilings.h; empty: not known
  std::string bound;                           ///< ceiling that bounds it: "compute" or "memory"
  std::optional<double> percent_of_ceiling;    ///< of that ceiling as measured on this GPU
  std::optional<double> percent_of_copy;       ///< gbs of what a copy in device memory reached
  std::optional<double> relative_error;        ///< norm-wise against FP64
  std::optional<double> error_bound;
  std::optional<double> baseline_error;  ///< the baseline's relative_error on the same data
  std::optional<double> largest_error;   ///< of one element, absolute
  std::string largest_error_at;          ///< "C[12,77]"
  std::optional<double> sm_clock_mhz;    ///< median over the samples
  std::optional<double> power_w;         ///< right after the samples
  std::optional<double> energy_mj;       ///< of one launch: power_w * median_us
  std::string throttle_reasons;          ///< right after the samples
  std::optional<double> sustained_us;    ///< wall time of one launch, back to back for seconds
  std::optional<double> sustained_clock_mhz;
  std::optional<double> sustained_power_w;
  std::optional<double> sustained_energy_mj;  ///< of one launch: sustained_power_w * sustained_us
  std::optional<double> sustained_tflops_per_w;
  std::optional<double> with_copies_us;  ///< copies from the host, one launch, copies to the host: median
  std::optional<double> predicted_us;    ///< by the static model

  // binary
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> spill_bytes;
  std::optional<std::int64_t> stack_bytes;
  std::optional<std::int64_t> static_shared_bytes;
  std::optional<std::int64_t> dynamic_shared_bytes;
  std::optional<double> occupancy;  ///< 0 to 1
  std::string occupancy_limiter;
  std::optional<std::int64_t> blocks_per_multiprocessor;
  std::optional<std::int64_t> driver_blocks_per_multiprocessor;  ///< as the driver computes it
  std::optional<double> compile_ms;
  std::optional<double> measure_ms;  ///< wall time on the GPU worker

  // where and when
  std::string gpu;  ///< "NVIDIA H200", or the model's name for predictions
  std::string gpu_uuid;
  std::string architecture;  ///< "sm_90a"
  std::string driver_version;
  std::string cuda_version;  ///< of the driver
  std::string nvrtc_version;
  std::string measure_policy;  ///< JSON
  std::string host;
  std::string recorded_at;         ///< UTC, "2026-11-21T10:00:00Z"
  std::int64_t sweep_id = 0;       ///< the sweep that made the row
  std::int64_t seen_in_sweep = 0;  ///< the latest sweep that made or reused it
  /// All that did, ascending. No column but the table sweep_trial: filled in where a reader says so.
  std::vector<std::int64_t> sweeps;
};

/// Whether it was timed and its results were compared with nothing.
inline bool is_unverified(const Trial& row) {
  return row.source == Source::measured && row.median_us && !row.relative_error;
}

/// What was measured of a GPU itself, once per GPU and driver.
struct CalibrationRecord : Calibration {
  std::string gpu;
  std::string gpu_uuid;
  std::string driver_version;
  std::string recorded_at;
};

/// One run of the sweep command.
struct SweepRecord {
  std::int64_t id = 0;
  std::string started_at;
  std::string finished_at;  ///< empty when it never ended
  std::string command;      ///< as typed
  std::string config_file;
  std::string config;  ///< its full text
  std::string tiletune_version;
  std::string git_commit;  ///< of the checkout around the config; empty outside one
  std::string host;
  std::string gpu;
  std::string shard;  ///< "3/16": the third of 16 parts of the space; empty: all of it
};

}  // namespace tiletune
