-- A database of schema 13, of version 0.2: rows of configs/quick.json on an H200, which version 0.1 had begun.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  started_at TEXT NOT NULL,
  finished_at TEXT NOT NULL,
  command TEXT NOT NULL,
  config_file TEXT NOT NULL,
  config TEXT NOT NULL,
  tiletune_version TEXT NOT NULL,
  git_commit TEXT NOT NULL,
  host TEXT NOT NULL,
  gpu TEXT NOT NULL
, shard TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO sweep VALUES(1,'2026-11-21T12:26:28Z','2026-11-21T12:26:29Z','tiletune sweep configs/quick.json --limit 5','configs/quick.json',replace('{\n  "$schema": "../schemas/config.schema.json",\n  "name": "quick",\n  "templates": [\n    {"template": "sgemm_coalesced", "parameters": {"BM": [4, 8], "BN": [32, 64]}},\n    {"template": "sgemm_blocktile_2d", "parameters": {"BK": [8], "TM": [4, 8], "TN": [4, 8]},\n     "constraints": [{"require": "BM == BN and TM * TN >= 32", "why": "a glimpse: square block tiles, larger thread tiles"}]},\n    {"template": "sgemm_vectorized", "parameters": {"BK": [8], "TM": [8], "TN": [4, 8], "PAD": [4], "SPREAD": [true]}},\n    {"template": "sgemm_warptile",\n     "parameters": {"BM": [64, 128], "BN": [64, 128], "BK": [8], "TM": [8], "TN": [8], "PREFETCH": [true], "MIN_BLOCKS": [1]},\n     "constraints": [{"require": "DEPARTURES == 0 and BM == BN", "why": "a glimpse: square block tiles, best habits"}]}\n  ],\n  "problems": ["1024x1024x1024"],\n  "measure": {"samples": 5},\n  "view": "ranking"\n}\n','\n',char(10)),'','','vm','NVIDIA H200','');
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  -- hash over everything that determines the result; unique
  "key" TEXT NOT NULL UNIQUE CHECK (key <> ''),
  -- kernel, or baseline
  "kind" TEXT NOT NULL,
  -- kernel template, or the baseline's library
  "template" TEXT NOT NULL,
  -- what is computed: gemm, custom
  "operation" TEXT NOT NULL,
  -- sizes, MxNxK for gemm
  "problem" TEXT NOT NULL,
  -- values of the operation's scalars: alpha and beta for gemm
  "scalars" TEXT NOT NULL,
  -- tuning parameters, in the template's order
  "parameters" TEXT,
  -- values that follow from parameters and problem
  "derived" TEXT,
  -- instantiated kernel, as C++ names it
  "kernel_expression" TEXT NOT NULL,
  -- complete NVRTC options
  "compile_options" TEXT,
  -- grid (thread blocks), block (threads), dynamic_shared_bytes
  "launch" TEXT,
  -- types of the buffers; then of the accumulator
  "element_types" TEXT NOT NULL,
  -- L2 before a sample: cold (flushed) or warm
  "cache" TEXT NOT NULL,
  -- what became of the configuration
  "outcome" TEXT NOT NULL,
  -- why the outcome is not ok
  "reason" TEXT NOT NULL,
  -- what is noteworthy about a configuration that ran
  "warnings" TEXT NOT NULL,
  -- measured, predicted, replayed or imported
  "source" TEXT NOT NULL,
  -- median time of one launch, us
  "median_us" REAL,
  -- lower end of the median's 95% interval, us
  "ci_low_us" REAL,
  -- upper end of the median's 95% interval, us
  "ci_high_us" REAL,
  -- fastest sample, us
  "min_us" REAL,
  -- mean of the samples, us
  "mean_us" REAL,
  -- standard deviation of the samples, us
  "stddev_us" REAL,
  -- samples that count
  "sample_count" INTEGER,
  -- all timed samples, us (array of little-endian doubles)
  "samples_us" BLOB,
  -- 10^12 floating-point operations per second at the median
  "tflops" REAL,
  -- the baseline's median in the same run, us
  "baseline_us" REAL,
  -- 100 * baseline_us / median_us; above 100 is faster
  "percent_of_baseline" REAL,
  -- share of the GPU model's FP32 peak, %
  "percent_of_peak" REAL,
  -- norm-wise error against the FP64 reference
  "relative_error" REAL,
  -- largest relative_error that passes
  "error_bound" REAL,
  -- SM clock right after the samples, MHz
  "sm_clock_mhz" REAL,
  -- time by the static model, us; nothing was timed for it
  "predicted_us" REAL,
  -- registers per thread
  "registers" INTEGER,
  -- register spill stores and loads per thread, bytes
  "spill_bytes" INTEGER,
  -- local memory frame per thread, bytes
  "stack_bytes" INTEGER,
  -- static shared memory per thread block, bytes
  "static_shared_bytes" INTEGER,
  -- dynamic shared memory per thread block, bytes
  "dynamic_shared_bytes" INTEGER,
  -- resident warps / most the multiprocessor holds, 0 to 1
  "occupancy" REAL,
  -- resource that allows no more resident blocks
  "occupancy_limiter" TEXT NOT NULL,
  -- resident thread blocks
  "blocks_per_multiprocessor" INTEGER,
  -- the same by the driver's cuOccupancyMaxActiveBlocksPerMultiprocessor
  "driver_blocks_per_multiprocessor" INTEGER,
  -- CPU time of compiling, ms
  "compile_ms" REAL,
  -- wall time on the GPU worker, ms
  "measure_ms" REAL,
  -- GPU model by its driver's name, or the predicted model's name
  "gpu" TEXT NOT NULL,
  -- the very GPU
  "gpu_uuid" TEXT NOT NULL,
  -- compiled for, e.g. sm_90a
  "architecture" TEXT NOT NULL,
  -- NVIDIA driver
  "driver_version" TEXT NOT NULL,
  -- CUDA of the driver
  "cuda_version" TEXT NOT NULL,
  -- compiler
  "nvrtc_version" TEXT NOT NULL,
  -- warm-up, samples, cache, seed, verification
  "measure_policy" TEXT,
  -- machine that wrote the row
  "host" TEXT NOT NULL,
  -- time of writing, UTC
  "recorded_at" TEXT NOT NULL,
  -- the run of the sweep command that made the row (sweep.id)
  "sweep_id" INTEGER REFERENCES sweep(id),
  -- the latest run that made or reused the row (sweep.id)
  "seen_in_sweep" INTEGER REFERENCES sweep(id)
, "dimensions" TEXT, "options" TEXT NOT NULL DEFAULT '', "launch_shares" TEXT, "size_conditions" TEXT, "waves" TEXT, "source_key" TEXT NOT NULL DEFAULT '', "included_files" TEXT, "kernel_hash" TEXT NOT NULL DEFAULT '', "measurement" TEXT NOT NULL DEFAULT '', "shares" TEXT NOT NULL DEFAULT '', "printed" TEXT NOT NULL DEFAULT '', "clocks_mhz" BLOB, "timed_in" TEXT NOT NULL DEFAULT '', "launches_per_sample" INTEGER, "discarded_samples" INTEGER, "isolated_us" REAL, "gpu_times_us" TEXT, "first_median_us" REAL, "median_cycles" REAL, "noise_floor_percent" REAL, "probability_near_best" REAL, "gbs" REAL, "baseline" TEXT NOT NULL DEFAULT '', "arithmetic_intensity" REAL, "pipe" TEXT NOT NULL DEFAULT '', "bound" TEXT NOT NULL DEFAULT '', "percent_of_ceiling" REAL, "percent_of_copy" REAL, "baseline_error" REAL, "largest_error" REAL, "largest_error_at" TEXT NOT NULL DEFAULT '', "power_w" REAL, "energy_mj" REAL, "throttle_reasons" TEXT NOT NULL DEFAULT '', "sustained_us" REAL, "sustained_clock_mhz" REAL, "sustained_power_w" REAL, "sustained_energy_mj" REAL, "sustained_tflops_per_w" REAL, "with_copies_us" REAL) STRICT;
INSERT INTO trial VALUES(1,'a163446c2df31a0b5b73ca6738c3cb62','baseline','cublas','gemm','1024x1024x1024','alpha=1 beta=0',NULL,'{"library":"cuBLAS 13.1.0","algorithm":""}','',NULL,NULL,'f32','dirty','ok','','','measured',64.255997538566589355,63.904002308845520019,64.447999000549316406,63.104003667831420898,64.162133634090423583,0.41254997763219836137,15,X'030f00636070e8cb130a7060606088e2d305d3eb3c7940b4033f933698dff2fcb73f903ea0dc2e06e6476efb0ce23b3cb9a004e237ccc8790ee23738270920ab6760592303e6ebb5be06cbe74d9600f3fff9f7fa3b0000',33.420750284221725223,64.255997538566589355,100.0,49.950185873026143211,5.7308729439245284678e-07,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,NULL,NULL,'NVIDIA H200','GPU-66d0f734-0632-4f77-ba28-2ab8c22dcebf','sm_90a','580.159.04','13.0','13.0','{"warmup":1,"samples":5,"cache":"cold","seed":1,"verify":true,"launch_timeout_s":10.0}','vm','2026-11-21T12:26:29Z',1,1,'{"M":1024,"N":1024,"K":1024}','',NULL,NULL,NULL,'',NULL,'','','','',NULL,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cublas',NULL,'','',NULL,NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO trial VALUES(2,'54d03f98e8f7ad9c94074e58e5c33e32','kernel','sgemm_coalesced','gemm','1024x1024x1024','alpha=1 beta=0','{"BM":4,"BN":64}','{"THREADS":256}','sgemm_coalesced<4, 64>','["--gpu-architecture=sm_90a","--std=c++17","--device-as-default-execution-space","--modify-stack-limit=false","--ptxas-options=-v"]','{"grid":[4096,1,1],"block":[64,4,1],"dynamic_shared_bytes":0}','f32','dirty','ok','','','measured',331.55199885368347167,330.52799105644226074,333.02399516105651855,330.52799105644226074,331.8975985050201416,1.0631049504639606961,5,X'00000080cc4bb774400000c0fcd4b874400000c0a672a874400000c04862d0744000008018d9ce7440',6.4770643984194515851,64.255997538566589355,19.380368014889654659,9.6805298463138917952,5.7308729439245464669e-07,3.93390655517578125e-06,1980.0,NULL,32,0,0,0,0,1.0,'warps+registers',8,8,62.350821000000003378,11.699151000000000521,'NVIDIA H200','GPU-66d0f734-0632-4f77-ba28-2ab8c22dcebf','sm_90a','580.159.04','13.0','13.0','{"warmup":1,"samples":5,"cache":"cold","seed":1,"verify":true,"launch_timeout_s":10.0}','vm','2026-11-21T12:26:29Z',1,1,'{"M":1024,"N":1024,"K":1024}','',NULL,NULL,NULL,'',NULL,'','','','',NULL,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cublas',NULL,'','',NULL,NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO trial VALUES(3,'fa55b7a196828429b58b87ebd488e43a','kernel','sgemm_coalesced','gemm','1024x1024x1024','alpha=1 beta=0','{"BM":8,"BN":64}','{"THREADS":512}','sgemm_coalesced<8, 64>','["--gpu-architecture=sm_90a","--std=c++17","--device-as-default-execution-space","--modify-stack-limit=false","--ptxas-options=-v"]','{"grid":[2048,1,1],"block":[64,8,1],"dynamic_shared_bytes":0}','f32','dirty','ok','','','measured',341.21599793434143066,340.25600552558898925,345.18399834632873535,340.25600552558898925,341.92000031471252441,1.922263161294871292,5,X'00000040ba7453754000004099184475400000403fdf4f7540000040a8f1927540000040603b5f7540',6.29361946978004827,64.255997538566589355,18.831472711584602564,9.4063556220647068784,5.7308729439245528198e-07,3.93390655517578125e-06,1980.0,NULL,32,0,0,0,0,1.0,'warps+registers',4,4,64.036895000000001233,9.6265529999999994714,'NVIDIA H200','GPU-66d0f734-0632-4f77-ba28-2ab8c22dcebf','sm_90a','580.159.04','13.0','13.0','{"warmup":1,"samples":5,"cache":"cold","seed":1,"verify":true,"launch_timeout_s":10.0}','vm','2026-11-21T12:26:29Z',1,1,'{"M":1024,"N":1024,"K":1024}','',NULL,NULL,NULL,'',NULL,'','','','',NULL,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cublas',NULL,'','',NULL,NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO trial VALUES(4,'a3d5129dbdfd0e0240bed0fa5379e0de','kernel','sgemm_coalesced','gemm','1024x1024x1024','alpha=1 beta=0','{"BM":4,"BN":32}','{"THREADS":128}','sgemm_coalesced<4, 32>','["--gpu-architecture=sm_90a","--std=c++17","--device-as-default-execution-space","--modify-stack-limit=false","--ptxas-options=-v"]','{"grid":[8192,1,1],"block":[32,4,1],"dynamic_shared_bytes":0}','f32','dirty','ok','','','measured',326.68799161911010742,325.43998956680297851,327.96800136566162109,325.43998956680297851,326.64960026741027832,1.019845184029665619,5,X'0000008003026b7440000000ef7c7f74400000c047355e7440000080320a5774400000806339747440',6.5735004135192696139,64.255997538566589355,19.668919331899875402,9.8246617654995596069,5.7308729439245401147e-07,3.93390655517578125e-06,1980.0,NULL,32,0,0,0,0,1.0,'warps+registers',16,16,63.22169599999999434,9.4687239999999999184,'NVIDIA H200','GPU-66d0f734-0632-4f77-ba28-2ab8c22dcebf','sm_90a','580.159.04','13.0','13.0','{"warmup":1,"samples":5,"cache":"cold","seed":1,"verify":true,"launch_timeout_s":10.0}','vm','2026-11-21T12:26:29Z',1,1,'{"M":1024,"N":1024,"K":1024}','',NULL,NULL,NULL,'',NULL,'','','','',NULL,'',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cublas',NULL,'','',NULL,NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sweep_trial (
  -- which runs of the sweep command made or reused which rows
  sweep_id INTEGER NOT NULL REFERENCES sweep(id),
  trial_id INTEGER NOT NULL REFERENCES trial(id),
  PRIMARY KEY (sweep_id, trial_id)
) STRICT, WITHOUT ROWID;
INSERT INTO sweep_trial VALUES(1,1);
INSERT INTO sweep_trial VALUES(1,2);
INSERT INTO sweep_trial VALUES(1,3);
INSERT INTO sweep_trial VALUES(1,4);
CREATE TABLE calibration (
  -- what was measured of a GPU itself, once per driver
  -- GPU model by its driver's name
  "gpu" TEXT NOT NULL,
  -- UUID of the GPU
  "gpu_uuid" TEXT NOT NULL,
  -- NVIDIA driver
  "driver_version" TEXT NOT NULL,
  -- when the row was written, UTC
  "recorded_at" TEXT NOT NULL,
  -- FP32 multiply-adds from registers, 10^12 operations/s
  "ffma_tflops" REAL NOT NULL,
  -- tensor cores from random f16, sums in FP32, 10^12 operations/s; 0: not measured
  "tensor_f16_tflops" REAL NOT NULL,
  -- the same from bf16
  "tensor_bf16_tflops" REAL NOT NULL,
  -- the same from tf32
  "tensor_tf32_tflops" REAL NOT NULL,
  -- the same from e4m3
  "tensor_fp8_tflops" REAL NOT NULL,
  -- from i8, sums in 32-bit integers
  "tensor_i8_tflops" REAL NOT NULL,
  -- copy in device memory, bytes read and written, 10^9/s
  "copy_gbs" REAL NOT NULL,
  -- reads of device memory, 10^9 bytes/s; 0 in a calibration of before schema 5, which is not used
  "read_gbs" REAL NOT NULL,
  -- reads of shared memory, all multiprocessors, 10^9 bytes/s
  "shared_gbs" REAL NOT NULL,
  -- two events with nothing between them; subtracted from every sample, us
  "event_floor_us" REAL NOT NULL,
  -- what a kernel that does nothing then takes, us
  "empty_kernel_us" REAL NOT NULL,
  -- the same in a batch, us
  "empty_kernel_batch_us" REAL NOT NULL,
  PRIMARY KEY (gpu_uuid, driver_version)
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('sweep',3);
CREATE INDEX trial_baseline ON trial(gpu, problem) WHERE kind = 'baseline';
CREATE INDEX trial_source ON trial(source_key) WHERE source_key <> '';
CREATE INDEX trial_measurement ON trial(measurement) WHERE measurement <> '';
CREATE VIEW ranking AS
WITH kernel AS (
  SELECT id, "key", outcome, first_median_us,
    dense_rank() OVER (ORDER BY gpu, problem, source, operation, options, element_types, scalars, cache) AS comparable,
    row_number() OVER (PARTITION BY gpu, problem, source, operation, options, element_types, scalars, cache, "template", coalesce((
      SELECT group_concat(member) FROM (
        SELECT json_quote("key") || CASE
            WHEN type = 'true' THEN 1
            WHEN type = 'false' THEN 0
            WHEN type <> 'real' THEN json_quote(value)
            WHEN value = CAST(value AS INTEGER) AND abs(value) < 1e16 THEN CAST(value AS INTEGER)
            ELSE printf('%!.17g', value) END AS member
        FROM json_each(iif(json_valid(parameters), parameters, 'null'))
        WHERE typeof("key") = 'text' ORDER BY "key")), parameters, '')
                       ORDER BY (SELECT started_at FROM sweep WHERE id = seen_in_sweep) DESC,
                         seen_in_sweep DESC, substr(recorded_at, 1, 20) DESC, id DESC) = 1 AS is_latest,
    iif(source = 'predicted', coalesce(predicted_us, median_us), median_us) AS time_us,
    iif(source <> 'predicted', ci_low_us, NULL) AS ci_low_us,
    iif(source <> 'predicted', ci_high_us, NULL) AS ci_high_us,
    iif(source <> 'predicted' AND noise_floor_percent > 0 AND noise_floor_percent < 9e999,
        noise_floor_percent / 200, 0) AS half_noise,
    iif(source <> 'predicted' AND timed_in = 'final', coalesce(sweep_id, -1), NULL) AS finals
  FROM trial WHERE kind = 'kernel' AND outcome NOT IN ('dispatched', 'not_recorded')
), timed AS (
  SELECT *, count(finals) OVER (PARTITION BY comparable, finals) AS kernels,
    iif(finals IS NOT NULL AND first_median_us > 0 AND first_median_us < 9e999, first_median_us, time_us)
      AS first_us
  FROM kernel WHERE is_latest AND outcome = 'ok' AND time_us > 0 AND time_us < 9e999
), decided AS (
  SELECT *, first_value(finals) OVER (PARTITION BY comparable
                                    ORDER BY min(kernels, 2) DESC, first_us, "key") AS deciding
  FROM timed
), paced AS (
  SELECT *, coalesce(finals = deciding, 0) AS in_finals,
    CASE WHEN deciding IS NULL OR finals = deciding THEN 1
      ELSE avg(CASE WHEN finals = deciding THEN time_us / first_us END) OVER (PARTITION BY comparable)
        * first_us / time_us END AS pace
  FROM decided
), bounded AS (
  SELECT *, time_us * pace AS compared_us,
    min(time_us, coalesce(ci_low_us, time_us) * (1 - half_noise)) * pace AS low_us,
    max(time_us, coalesce(ci_high_us, time_us) * (1 + half_noise)) * pace AS high_us
  FROM paced
), led AS (
  SELECT *, first_value(high_us) OVER fastest_first AS leader_high_us,
    first_value(in_finals) OVER fastest_first AS leader_in_finals
  FROM bounded WINDOW fastest_first AS (PARTITION BY comparable ORDER BY compared_us, "key")
), placed AS (
  SELECT id, time_us, rank() OVER (PARTITION BY comparable ORDER BY compared_us) AS order_by_time,
    in_finals = leader_in_finals AND
      sum(low_us > leader_high_us) OVER (PARTITION BY comparable, in_finals ORDER BY compared_us, "key"
                                         ROWS UNBOUNDED PRECEDING) = 0 AS tied_with_best
  FROM led
)
SELECT order_by_time, tied_with_best, time_us, "key", "kind", "template", "operation", "problem", "dimensions", "options", "scalars", "parameters", "derived", "kernel_expression", "compile_options", "launch", "launch_shares", "size_conditions", "waves", "element_types", "source_key", "included_files", "kernel_hash", "measurement", "shares", "cache", "outcome", "reason", "warnings", "printed", "source", "median_us", "ci_low_us", "ci_high_us", "min_us", "mean_us", "stddev_us", "sample_count", "samples_us", "clocks_mhz", "timed_in", "launches_per_sample", "discarded_samples", "isolated_us", "gpu_times_us", "first_median_us", "median_cycles", "noise_floor_percent", "probability_near_best", "tflops", "gbs", "baseline", "baseline_us", "percent_of_baseline", "percent_of_peak", "arithmetic_intensity", "pipe", "bound", "percent_of_ceiling", "percent_of_copy", "relative_error", "error_bound", "baseline_error", "largest_error", "largest_error_at", "sm_clock_mhz", "power_w", "energy_mj", "throttle_reasons", "sustained_us", "sustained_clock_mhz", "sustained_power_w", "sustained_energy_mj", "sustained_tflops_per_w", "with_copies_us", "predicted_us", "registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes", "occupancy", "occupancy_limiter", "blocks_per_multiprocessor", "driver_blocks_per_multiprocessor", "compile_ms", "measure_ms", "gpu", "gpu_uuid", "architecture", "driver_version", "cuda_version", "nvrtc_version", "measure_policy", "host", "recorded_at", "sweep_id", "seen_in_sweep" FROM placed JOIN trial USING (id);
CREATE VIEW best AS
SELECT "key", "kind", "template", "operation", "problem", "dimensions", "options", "scalars", "parameters", "derived", "kernel_expression", "compile_options", "launch", "launch_shares", "size_conditions", "waves", "element_types", "source_key", "included_files", "kernel_hash", "measurement", "shares", "cache", "outcome", "reason", "warnings", "printed", "source", "median_us", "ci_low_us", "ci_high_us", "min_us", "mean_us", "stddev_us", "sample_count", "samples_us", "clocks_mhz", "timed_in", "launches_per_sample", "discarded_samples", "isolated_us", "gpu_times_us", "first_median_us", "median_cycles", "noise_floor_percent", "probability_near_best", "tflops", "gbs", "baseline", "baseline_us", "percent_of_baseline", "percent_of_peak", "arithmetic_intensity", "pipe", "bound", "percent_of_ceiling", "percent_of_copy", "relative_error", "error_bound", "baseline_error", "largest_error", "largest_error_at", "sm_clock_mhz", "power_w", "energy_mj", "throttle_reasons", "sustained_us", "sustained_clock_mhz", "sustained_power_w", "sustained_energy_mj", "sustained_tflops_per_w", "with_copies_us", "predicted_us", "registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes", "occupancy", "occupancy_limiter", "blocks_per_multiprocessor", "driver_blocks_per_multiprocessor", "compile_ms", "measure_ms", "gpu", "gpu_uuid", "architecture", "driver_version", "cuda_version", "nvrtc_version", "measure_policy", "host", "recorded_at", "sweep_id", "seen_in_sweep" FROM (
  SELECT *, row_number() OVER (PARTITION BY gpu, problem, source, operation, options, element_types, scalars, cache
                               ORDER BY coalesce(registers, 9223372036854775807),
                                 coalesce(occupancy, 0) DESC, order_by_time, "key") AS place
  FROM ranking WHERE tied_with_best
) WHERE place = 1;
PRAGMA application_id = 1414288462;
PRAGMA user_version = 13;
COMMIT;
