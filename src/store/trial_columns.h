// The columns of a row, in the order of all outputs. TILETUNE_COLUMN(type, member, meaning) gives each its
// type (store/columns.cpp), the member of Trial with the same name, and one line of meaning, with the unit. A
// file that includes this one must define the macro.
//
// A `figure` is a number that few rows have, or that does not affect ranks. The table trial stores all
// figures of a row in one column, so that a new figure does not change the schema. All other code reads a
// figure like any other column. The row gets each member of a worker's Measured::figures whose name is in
// this list.

TILETUNE_COLUMN(text, key, "hash over everything that determines the result; unique")

// what
TILETUNE_COLUMN(text, kind, "kernel, baseline, or twin: a second copy of a finals' leader")
TILETUNE_COLUMN(label, template_name, "kernel template, or the baseline's name")
TILETUNE_COLUMN(text, operation, "what is computed, such as gemm: an operation's name")
TILETUNE_COLUMN(
    text, operation_hash,
    "hash of the operation's definition (buffers, inputs, reference, tolerance), then the template's "
    "tolerance_factor unless it is 1; empty for imported rows, and for rows up to version 0.2 until a "
    "sweep of the operation fills it in")
TILETUNE_COLUMN(label, problem, "sizes, MxNxK for gemm, and leading dimensions that are not the defaults")
TILETUNE_COLUMN(json, dimensions, "the same sizes by name; empty for recordings of other tools")
TILETUNE_COLUMN(text, options, "what the template chose of the operation's options: layout=nt")
TILETUNE_COLUMN(text, scalars, "values of the operation's scalars: alpha and beta for gemm")
TILETUNE_COLUMN(json, parameters, "tuning parameters, in the template's order")
TILETUNE_COLUMN(json, derived, "values that follow from parameters and problem")
TILETUNE_COLUMN(text, kernel_expression, "instantiated kernel, as C++ names it; several are joined by +")
TILETUNE_COLUMN(json, compile_options, "complete NVRTC options")
TILETUNE_COLUMN(json, launch,
                "grid (thread blocks), block (threads), dynamic_shared_bytes; or a list of launches")
TILETUNE_COLUMN(json, launch_shares,
                "each one's part of the time, 0 to 1, of a configuration with several launches")
TILETUNE_COLUMN(text, element_types, "types of the buffers; then of the accumulator")
TILETUNE_COLUMN(
    text, source_key,
    "hash of what is compiled: source text, options, expression, compiler; empty up to version 0.1")
TILETUNE_COLUMN(
    text, source_hash,
    "hash of the text of the template's source file; empty up to version 0.2 and for imported rows")
TILETUNE_COLUMN(json, included_files, "own files that the source includes, with their hashes")
TILETUNE_COLUMN(text, kernel_hash,
                "hash of the compiled kernel: code, constants and resources, without names")
TILETUNE_COLUMN(
    text, measurement,
    "hash of kernel, launch, workload, GPU, driver and policy: equal where one measurement serves")
TILETUNE_COLUMN(text, shares, "key of the row that was measured for this one, too")
TILETUNE_COLUMN(text, cache,
                "L2 before a sample: cold (flushed, or other buffers), dirty (flushed by writes), rotate "
                "(other buffers) or warm")

// result
TILETUNE_COLUMN(outcome, outcome, "what became of the configuration")
TILETUNE_COLUMN(text, reason, "why the outcome is not ok")
TILETUNE_COLUMN(text, warnings, "what is noteworthy about a configuration that ran")
TILETUNE_COLUMN(text, printed, "what the kernel printed, and the driver about it; 4 KiB at most")
TILETUNE_COLUMN(source, source, "measured, predicted, replayed or imported")
TILETUNE_COLUMN(real, median_us, "median time of one launch, us")
TILETUNE_COLUMN(real, ci_low_us, "lower end of the median's 95% interval, us")
TILETUNE_COLUMN(real, ci_high_us, "upper end of the median's 95% interval, us")
TILETUNE_COLUMN(real, min_us, "fastest sample, us")
TILETUNE_COLUMN(real, mean_us, "mean of the samples, us")
TILETUNE_COLUMN(real, stddev_us, "standard deviation of the samples, us")
TILETUNE_COLUMN(integer, sample_count, "samples that count")
TILETUNE_COLUMN(samples, samples_us, "all samples that count, us (packed, see store/samples.h)")
TILETUNE_COLUMN(samples, clocks_mhz, "SM clock during each sample, MHz (packed)")
TILETUNE_COLUMN(text, timed_in, "how far the measurement went: screening, sampling or final")
TILETUNE_COLUMN(integer, launches_per_sample, "more than 1: a batch, timed as one")
TILETUNE_COLUMN(integer, discarded_samples, "samples discarded because the GPU was throttled")
TILETUNE_COLUMN(figure, isolated_us, "median of single launches of a kernel timed in batches, us")
TILETUNE_COLUMN(
    json, gpu_times_us,
    "of an operation over several GPUs: the median time of each GPU, us; median_us ends with the slowest")
TILETUNE_COLUMN(real, first_median_us, "median before the finals, us")
TILETUNE_COLUMN(real, median_cycles, "SM cycles of one launch, median")
TILETUNE_COLUMN(real, noise_floor_percent,
                "how far two copies of one kernel may differ in the row's finals, %")
TILETUNE_COLUMN(figure, probability_near_best,
                "probability that the row is within 1% of the true best of its finals")
TILETUNE_COLUMN(real, tflops, "10^12 floating-point operations per second at the median")
TILETUNE_COLUMN(real, gbs,
                "compulsory traffic of device memory (the operation's bytes) at the median, 10^9 bytes/s")
TILETUNE_COLUMN(text, baseline, "fastest baseline of the same run, such as cublas")
TILETUNE_COLUMN(real, baseline_us, "the baseline's median in the same run, us")
TILETUNE_COLUMN(real, percent_of_baseline, "100 * baseline_us / median_us; above 100 is faster")
TILETUNE_COLUMN(real, percent_of_peak, "share of the GPU model's FP32 peak, %")
TILETUNE_COLUMN(real, arithmetic_intensity, "operations per byte of compulsory DRAM traffic")
TILETUNE_COLUMN(text, pipe,
                "the units that do its arithmetic: tensor_ and the inputs' type where the machine code uses "
                "tensor cores, else fp32 for sums in that")
TILETUNE_COLUMN(text, bound, "the ceiling that bounds it: compute or memory")
TILETUNE_COLUMN(real, percent_of_ceiling, "share of that ceiling, as measured on the GPU, %")
TILETUNE_COLUMN(real, percent_of_copy,
                "gbs as a share of what a copy in device memory reached on the GPU (copy_gbs), %")
TILETUNE_COLUMN(real, relative_error, "norm-wise error against the FP64 reference")
TILETUNE_COLUMN(real, error_bound, "largest relative_error that passes")
TILETUNE_COLUMN(real, baseline_error, "the baseline's relative_error on the same data")
TILETUNE_COLUMN(real, largest_error, "largest error of one element, absolute")
TILETUNE_COLUMN(text, largest_error_at, "index of that element")
TILETUNE_COLUMN(real, sm_clock_mhz, "SM clock during the samples, median, MHz")
TILETUNE_COLUMN(figure, power_w, "power right after the samples, W")
TILETUNE_COLUMN(figure, energy_mj, "energy of one launch, mJ: power_w * median_us")
TILETUNE_COLUMN(text, throttle_reasons, "why the clock was reduced, read right after the samples")
TILETUNE_COLUMN(figure, cold_us, "time of one launch that finds none of its buffers in the L2 cache, us")
TILETUNE_COLUMN(figure, warm_us,
                "time of one launch that finds in the L2 cache what an identical launch left there, us")
TILETUNE_COLUMN(figure, graph_us,
                "time per launch in a CUDA graph of launches, each on another copy of the buffers, us")
TILETUNE_COLUMN(
    figure, eager_us,
    "time per launch when the host queues launches one by one, each on another copy of the buffers, us")
TILETUNE_COLUMN(figure, sustained_us, "time of one launch when launches follow back to back for seconds, us")
TILETUNE_COLUMN(figure, sustained_clock_mhz, "SM clock during the back-to-back launches, MHz")
TILETUNE_COLUMN(figure, sustained_power_w, "mean power during the back-to-back launches, W")
TILETUNE_COLUMN(figure, sustained_energy_mj,
                "energy of one launch back to back, mJ: sustained_power_w * sustained_us")
TILETUNE_COLUMN(figure, sustained_tflops_per_w, "10^12 operations per second and watt")
TILETUNE_COLUMN(figure, with_copies_us,
                "median time of one launch with the copies of all inputs from pinned host memory before it "
                "and of all outputs to it after it, us")
TILETUNE_COLUMN(figure, checks,
                "number of the operation's checks passed (other sizes and inputs, which are not timed)")
TILETUNE_COLUMN(figure, check_error, "largest relative error in these checks")
TILETUNE_COLUMN(figure, library_check_error, "a library's own largest relative error in these checks")
TILETUNE_COLUMN(figure, input_sets,
                "number of sets of random inputs for its launches; below 3 if memory does not suffice, or if "
                "files hold inputs or outputs")
TILETUNE_COLUMN(figure, input_seed, "seed of the random inputs; --seed-inputs repeats them")
TILETUNE_COLUMN(real, predicted_us, "time by the static model, us; nothing was timed for it")

// binary
TILETUNE_COLUMN(integer, registers, "registers per thread")
TILETUNE_COLUMN(integer, spill_bytes, "register spill stores and loads per thread, bytes")
TILETUNE_COLUMN(integer, stack_bytes, "local memory frame per thread, bytes")
TILETUNE_COLUMN(integer, static_shared_bytes, "static shared memory per thread block, bytes")
TILETUNE_COLUMN(integer, dynamic_shared_bytes, "dynamic shared memory per thread block, bytes")
TILETUNE_COLUMN(real, occupancy, "resident warps / most the multiprocessor holds, 0 to 1")
TILETUNE_COLUMN(text, occupancy_limiter, "resource that limits the number of resident blocks")
TILETUNE_COLUMN(integer, blocks_per_multiprocessor, "resident thread blocks")
TILETUNE_COLUMN(integer, driver_blocks_per_multiprocessor,
                "the same by the driver's cuOccupancyMaxActiveBlocksPerMultiprocessor")
TILETUNE_COLUMN(real, compile_ms, "CPU time of compiling, ms")
TILETUNE_COLUMN(real, measure_ms, "wall time on the GPU worker, ms")

// where and when
TILETUNE_COLUMN(label, gpu, "GPU model by its driver's name, or the predicted model's name")
TILETUNE_COLUMN(text, gpu_uuid, "UUID of the GPU")
TILETUNE_COLUMN(text, architecture, "compilation target, e.g. sm_90a")
TILETUNE_COLUMN(text, driver_version, "version of the NVIDIA driver")
TILETUNE_COLUMN(text, cuda_version, "CUDA version of the driver")
TILETUNE_COLUMN(text, nvrtc_version, "version of the compiler, NVRTC")
TILETUNE_COLUMN(json, measure_policy, "warm-up, samples, cache, seed, verification")
TILETUNE_COLUMN(text, host, "machine that wrote the row")
TILETUNE_COLUMN(text, recorded_at, "when the row was written, UTC")
TILETUNE_COLUMN(sweep, sweep_id, "the run of the sweep command that made the row (sweep.id)")
TILETUNE_COLUMN(text, chosen_at,
                "when a sweep last had this row as its best choice, UTC; of rows that tie, the latest one is "
                "the best choice")
TILETUNE_COLUMN(sweep, seen_in_sweep, "the latest run that made or reused the row (sweep.id)")

#undef TILETUNE_COLUMN
