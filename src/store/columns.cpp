#include "store/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "store/samples.h"

namespace tiletune {

namespace {

std::string text_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? std::string() : *text;
}

std::optional<std::int64_t> integer_of(const Cell& cell) {
  const auto* integer = std::get_if<std::int64_t>(&cell);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

std::optional<double> real_of(const Cell& cell) {
  if (const auto integer = integer_of(cell)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&cell);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

Column text(const char* name, std::string Trial::*member, const char* meaning) {
  return {name, CellType::text, meaning, [member](const Trial& trial) -> Cell { return trial.*member; },
          [member](Trial& trial, const Cell& cell) { trial.*member = text_of(cell); }};
}

/// Empty text is null, so that SQLite's JSON functions can be used on every row.
Column json(const char* name, std::string Trial::*member, const char* meaning) {
  return {
      name, CellType::json, meaning,
      [member](const Trial& trial) -> Cell { return (trial.*member).empty() ? Cell() : Cell(trial.*member); },
      [member](Trial& trial, const Cell& cell) { trial.*member = text_of(cell); }};
}

Column integer(const char* name, std::optional<std::int64_t> Trial::*member, const char* meaning) {
  return {name, CellType::integer, meaning,
          [member](const Trial& trial) -> Cell {
            return (trial.*member).has_value() ? Cell(*(trial.*member)) : Cell();
          },
          [member](Trial& trial, const Cell& cell) { trial.*member = integer_of(cell); }};
}

/// Infinities and NaN are null: they are no times, and neither JSON nor SQL can compare them.
Column real(const char* name, std::optional<double> Trial::*member, const char* meaning) {
  return {name, CellType::real, meaning,
          [member](const Trial& trial) -> Cell {
            const std::optional<double>& value = trial.*member;
            return value.has_value() && std::isfinite(*value) ? Cell(*value) : Cell();
          },
          [member](Trial& trial, const Cell& cell) { trial.*member = real_of(cell); }};
}

template <typename Enum>
Column enumeration(const char* name_of_column, Enum Trial::*member, const char* meaning) {
  return {name_of_column, CellType::text, meaning,
          [member](const Trial& trial) -> Cell { return std::string(name(trial.*member)); },
          [=](Trial& trial, const Cell& cell) {
            const std::optional<Enum> value = from_name<Enum>(text_of(cell));
            if (!value) {
              throw UserError(fmt::format("this tiletune knows no {} '{}'", name_of_column, text_of(cell)),
                              "Read it with the tiletune that wrote it, or a newer one.");
            }
            trial.*member = *value;
          }};
}

Column samples(const char* name, std::vector<double> Trial::*member, const char* meaning) {
  return {name, CellType::blob, meaning,
          [member](const Trial& trial) -> Cell {
            return (trial.*member).empty() ? Cell() : Cell(pack_samples(trial.*member));
          },
          [member](Trial& trial, const Cell& cell) {
            const auto* blob = std::get_if<Blob>(&cell);
            trial.*member = blob == nullptr ? std::vector<double>() : unpack_samples(*blob);
          }};
}

/// 0 means that the row belongs to no recorded sweep.
Column sweep(const char* name, std::int64_t Trial::*member, const char* meaning) {
  return {name, CellType::integer, meaning,
          [member](const Trial& trial) -> Cell { return trial.*member == 0 ? Cell() : Cell(trial.*member); },
          [member](Trial& trial, const Cell& cell) { trial.*member = integer_of(cell).value_or(0); }};
}

std::vector<Column> make_columns() {
  using T = Trial;
  return {
      text("key", &T::key, "hash over everything that determines the result; unique"),
      text("kind", &T::kind, "kernel, baseline, or twin: a second copy of a finals' leader"),
      text("template", &T::template_name, "kernel template, or the baseline's name"),
      text("operation", &T::operation, "what is computed, such as gemm: an operation's name"),
      text("problem", &T::problem, "sizes, MxNxK for gemm, and leading dimensions that are not the defaults"),
      json("dimensions", &T::dimensions, "the same sizes by name; empty for recordings of other tools"),
      text("options", &T::options, "what the template chose of the operation's options: layout=nt"),
      text("scalars", &T::scalars, "values of the operation's scalars: alpha and beta for gemm"),
      json("parameters", &T::parameters, "tuning parameters, in the template's order"),
      json("derived", &T::derived, "values that follow from parameters and problem"),
      text("kernel_expression", &T::kernel_expression,
           "instantiated kernel, as C++ names it; several are joined by +"),
      json("compile_options", &T::compile_options, "complete NVRTC options"),
      json("launch", &T::launch,
           "grid (thread blocks), block (threads), dynamic_shared_bytes; or a list of launches"),
      json("launch_shares", &T::launch_shares,
           "each one's part of the time, 0 to 1, of a configuration with several launches"),
      json("size_conditions", &T::size_conditions,
           "what must hold of other sizes to launch this kernel for them; empty: not recorded"),
      json("waves", &T::waves,
           "how often each launch fills the GPU with thread blocks, or with tiles that blocks share: "
           "expressions over the sizes; empty: not recorded"),
      text("element_types", &T::element_types, "types of the buffers; then of the accumulator"),
      text("source_key", &T::source_key,
           "hash of what is compiled: source text, options, expression, compiler; empty up to version 0.1"),
      text("source_hash", &T::source_hash,
           "hash of the text of the template's source file; empty up to version 0.2 and for imported rows"),
      json("included_files", &T::included_files, "own files that the source includes, with their hashes"),
      text("kernel_hash", &T::kernel_hash,
           "hash of the compiled kernel: code, constants and resources, without names"),
      text("measurement", &T::measurement,
           "hash of kernel, launch, workload, GPU, driver and policy: equal where one measurement serves"),
      text("shares", &T::shares, "key of the row that was measured for this one, too"),
      text("cache", &T::cache,
           "L2 before a sample: cold (flushed, or other buffers), dirty (flushed by writes), rotate (other "
           "buffers) "
           "or warm"),

      enumeration("outcome", &T::outcome, "what became of the configuration"),
      text("reason", &T::reason, "why the outcome is not ok"),
      text("warnings", &T::warnings, "what is noteworthy about a configuration that ran"),
      text("printed", &T::printed, "what the kernel printed, and the driver about it; 4 KiB at most"),
      enumeration("source", &T::source, "measured, predicted, replayed or imported"),
      real("median_us", &T::median_us, "median time of one launch, us"),
      real("ci_low_us", &T::ci_low_us, "lower end of the median's 95% interval, us"),
      real("ci_high_us", &T::ci_high_us, "upper end of the median's 95% interval, us"),
      real("min_us", &T::min_us, "fastest sample, us"),
      real("mean_us", &T::mean_us, "mean of the samples, us"),
      real("stddev_us", &T::stddev_us, "standard deviation of the samples, us"),
      integer("sample_count", &T::sample_count, "samples that count"),
      samples("samples_us", &T::samples_us, "all samples that count, us (packed, see store/samples.h)"),
      samples("clocks_mhz", &T::clocks_mhz, "SM clock during each sample, MHz (packed)"),
      text("timed_in", &T::timed_in, "how far the measurement went: screening, sampling or final"),
      integer("launches_per_sample", &T::launches_per_sample, "more than 1: a batch, timed as one"),
      integer("discarded_samples", &T::discarded_samples, "samples discarded because the GPU was throttled"),
      real("isolated_us", &T::isolated_us, "median of single launches of a kernel timed in batches, us"),
      json("gpu_times_us", &T::gpu_times_us,
           "of an operation over several GPUs: the median time of each GPU, us; median_us ends with the "
           "slowest"),
      real("first_median_us", &T::first_median_us, "median before the finals, us"),
      real("median_cycles", &T::median_cycles, "SM cycles of one launch, median"),
      real("noise_floor_percent", &T::noise_floor_percent,
           "how far two copies of one kernel may differ in the row's finals, %"),
      real("probability_near_best", &T::probability_near_best,
           "probability that the row is within 1% of the true best of its finals"),
      real("tflops", &T::tflops, "10^12 floating-point operations per second at the median"),
      real("gbs", &T::gbs,
           "compulsory traffic of device memory (the operation's bytes) at the median, 10^9 bytes/s"),
      text("baseline", &T::baseline, "fastest baseline of the same run, such as cublas"),
      real("baseline_us", &T::baseline_us, "the baseline's median in the same run, us"),
      real("percent_of_baseline", &T::percent_of_baseline,
           "100 * baseline_us / median_us; above 100 is faster"),
      real("percent_of_peak", &T::percent_of_peak, "share of the GPU model's FP32 peak, %"),
      real("arithmetic_intensity", &T::arithmetic_intensity,
           "operations per byte of compulsory DRAM traffic"),
      text(
          "pipe", &T::pipe,
          "the units that do its arithmetic: tensor_ and the inputs' type where the machine code uses tensor "
          "cores, else fp32 for sums in that"),
      text("bound", &T::bound, "the ceiling that bounds it: compute or memory"),
      real("percent_of_ceiling", &T::percent_of_ceiling, "share of that ceiling, as measured on the GPU, %"),
      real("percent_of_copy", &T::percent_of_copy,
           "gbs as a share of what a copy in device memory reached on the GPU (copy_gbs), %"),
      real("relative_error", &T::relative_error, "norm-wise error against the FP64 reference"),
      real("error_bound", &T::error_bound, "largest relative_error that passes"),
      real("baseline_error", &T::baseline_error, "the baseline's relative_error on the same data"),
      real("largest_error", &T::largest_error, "largest error of one element, absolute"),
      text("largest_error_at", &T::largest_error_at, "index of that element"),
      real("sm_clock_mhz", &T::sm_clock_mhz, "SM clock during the samples, median, MHz"),
      real("power_w", &T::power_w, "power right after the samples, W"),
      real("energy_mj", &T::energy_mj, "energy of one launch, mJ: power_w * median_us"),
      text("throttle_reasons", &T::throttle_reasons,
           "why the clock was reduced, read right after the samples"),
      real("sustained_us", &T::sustained_us, "time of one launch, back to back for seconds, us"),
      real("sustained_clock_mhz", &T::sustained_clock_mhz, "SM clock meanwhile, MHz"),
      real("sustained_power_w", &T::sustained_power_w, "mean power meanwhile, W"),
      real("sustained_energy_mj", &T::sustained_energy_mj,
           "energy of one launch back to back, mJ: sustained_power_w * sustained_us"),
      real("sustained_tflops_per_w", &T::sustained_tflops_per_w, "10^12 operations per second and watt"),
      real("with_copies_us", &T::with_copies_us,
           "median time of one launch with the copies of all inputs from pinned host memory before it and of "
           "all outputs to it after it, us"),
      real("predicted_us", &T::predicted_us, "time by the static model, us; nothing was timed for it"),

      integer("registers", &T::registers, "registers per thread"),
      integer("spill_bytes", &T::spill_bytes, "register spill stores and loads per thread, bytes"),
      integer("stack_bytes", &T::stack_bytes, "local memory frame per thread, bytes"),
      integer("static_shared_bytes", &T::static_shared_bytes, "static shared memory per thread block, bytes"),
      integer("dynamic_shared_bytes", &T::dynamic_shared_bytes,
              "dynamic shared memory per thread block, bytes"),
      real("occupancy", &T::occupancy, "resident warps / most the multiprocessor holds, 0 to 1"),
      text("occupancy_limiter", &T::occupancy_limiter, "resource that limits the number of resident blocks"),
      integer("blocks_per_multiprocessor", &T::blocks_per_multiprocessor, "resident thread blocks"),
      integer("driver_blocks_per_multiprocessor", &T::driver_blocks_per_multiprocessor,
              "the same by the driver's cuOccupancyMaxActiveBlocksPerMultiprocessor"),
      real("compile_ms", &T::compile_ms, "CPU time of compiling, ms"),
      real("measure_ms", &T::measure_ms, "wall time on the GPU worker, ms"),

      text("gpu", &T::gpu, "GPU model by its driver's name, or the predicted model's name"),
      text("gpu_uuid", &T::gpu_uuid, "UUID of the GPU"),
      text("architecture", &T::architecture, "compilation target, e.g. sm_90a"),
      text("driver_version", &T::driver_version, "version of the NVIDIA driver"),
      text("cuda_version", &T::cuda_version, "CUDA version of the driver"),
      text("nvrtc_version", &T::nvrtc_version, "version of the compiler, NVRTC"),
      json("measure_policy", &T::measure_policy, "warm-up, samples, cache, seed, verification"),
      text("host", &T::host, "machine that wrote the row"),
      text("recorded_at", &T::recorded_at, "when the row was written, UTC"),
      sweep("sweep_id", &T::sweep_id, "the run of the sweep command that made the row (sweep.id)"),
      sweep("seen_in_sweep", &T::seen_in_sweep, "the latest run that made or reused the row (sweep.id)"),
  };
}

}  // namespace

std::span<const Column> trial_columns() {
  static const std::vector<Column> columns = make_columns();
  return columns;
}

std::span<const char* const> comparable_columns() {
  static constexpr std::array kNames{"gpu",     "problem",       "source",  "operation",
                                     "options", "element_types", "scalars", "cache"};
  return kNames;
}

const Column* find_column(std::string_view name) {
  const auto columns = trial_columns();
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

const Column& column_by_name(const std::string& name) {
  if (const Column* column = find_column(name)) return *column;
  std::vector<std::string> known;
  for (const Column& column : trial_columns()) known.push_back(column.name);
  throw UserError(fmt::format("there is no column '{}'.{}", name, suggestion(name, known)),
                  "Columns are listed in the table `trial` of the database.");
}

}  // namespace tiletune
