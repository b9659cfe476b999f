"""Compares medians with those of Triton's do_bench(), for kernels of about 5 us to 5 ms.

do_bench() times single launches, and its times include the launch overhead of about 1 us. tiletune hides this overhead: it queues
launches behind a blocking kernel, and times short kernels in batches. Its isolated_us is the time of a single launch, too.
"""

import json
import statistics

from .common import HOME, miss, query, verdict

# Config, problem.
KERNELS = [("softmax", "1024x1024"), ("softmax", "16384x4096"), ("transpose", "2048x2048"), ("transpose", "8192x8192"),
           ("rmsnorm", "4096x4096"), ("bias_activation", "8192x4096"), ("sgemm", "512x512x512"), ("sgemm", "1024x1024x1024"),
           ("sgemm", "4096x4096x4096"), ("stencil3d", "512x512x512")]
# Two events with nothing between them are not 0 us apart: that is subtracted.
MOST_PERCENT, MOST_US = 2, 0.3


def launcher(cupy, row):
    """A function that launches a configuration as its row describes it, with CuPy."""
    folder = HOME / "kernel_templates" / row["template"]
    manifest = json.loads((folder / "template.json").read_text())
    operation = manifest["operation"]
    operation = json.loads((folder.parent / "operations" / operation / "operation.json").read_text())
    sizes = json.loads(row["dimensions"])
    values = dict(sizes, **operation.get("scalars", {}), **json.loads(row["parameters"]), **json.loads(row["derived"]))
    for row_size, name in (("K", "lda"), ("N", "ldb"), ("N", "ldc")):
        values.setdefault(name, sizes.get(row_size))
    values["multiprocessors"] = cupy.cuda.Device().attributes["MultiProcessorCount"]
    options = [option for option in json.loads(row["compile_options"]) if not option.startswith("--gpu-architecture")]
    options += [f"-I{folder}", f"-I{folder.parent}", "-DINFINITY=__int_as_float(0x7f800000)"]
    module = cupy.RawModule(code=(folder / manifest["source"]).read_text(), options=tuple(options), name_expressions=[row["kernel_expression"]])
    kernel = module.get_function(row["kernel_expression"])
    buffers = {}
    for buffer in operation["buffers"]:
        count = f"({buffer['rows']}) * ({buffer['columns']})" if "rows" in buffer else buffer["elements"]
        buffers[buffer["name"]] = cupy.random.uniform(-1, 1, int(eval(count, {}, values)), dtype=cupy.float32)
    types = {"i32": cupy.int32, "i64": cupy.int64, "f32": cupy.float32, "f64": cupy.float64}
    arguments = []
    for argument in manifest["arguments"]:
        if "buffer" in argument:
            arguments.append(buffers[argument["buffer"]])
        else:
            arguments.append(types[argument["type"]](eval(argument.get("value", argument["scalar"]), {}, values)))
    launch = json.loads(row["launch"])
    kernel.max_dynamic_shared_size_bytes = max(launch["dynamic_shared_bytes"], 1)
    return lambda: kernel(tuple(launch["grid"]), tuple(launch["block"]), tuple(arguments), shared_mem=launch["dynamic_shared_bytes"])


def check(bench):
    try:
        import cupy
        from triton.testing import do_bench
    except ImportError as error:
        print(f"SKIP do_bench: {error}")
        return
    floor_us = 1e3 * do_bench(lambda: None, rep=200, return_mode="median")
    print(f"     two events with nothing between them: {floor_us:.2f} us in do_bench")
    print("     kernel                  problem            tiletune  do_bench  less its floor  difference")
    agree = 0
    for config, problem in KERNELS:
        name = f"do_bench_{config}_{problem}"
        _, _, _, database = bench.sweep(name, f"configs/{config}.json", "--problem", problem, "--strategy", "random", "--seed", "4",
                                        "--budget", "12", "--cache", "dirty", "--baseline", "none", "--quiet")
        columns = ("template", "kernel_expression", "compile_options", "launch", "dimensions", "parameters", "derived", "median_us", "isolated_us")
        found = query(database, f"SELECT {', '.join(columns)} FROM best WHERE json_extract(launch, '$.launches') IS NULL")
        if not found:
            print(f"     {config:23} {problem:17} its best configuration launches several kernels")
            continue
        row = dict(zip(columns, found[0]))
        launch = launcher(cupy, row)
        # Another run, as the GPU's clock and memory may differ from one minute to the next.
        times = [1e3 * do_bench(launch, rep=300, return_mode="median") for _ in range(3)]
        theirs = statistics.median(times) - floor_us
        ours = row["isolated_us"] or row["median_us"]
        fits = abs(theirs - ours) <= max(MOST_PERCENT / 100 * ours, MOST_US)
        agree += fits
        print(f"     {row['template']:23} {problem:17} {ours:9.2f} {statistics.median(times):9.2f} {theirs:15.2f} "
              f"{100 * (theirs / ours - 1):+10.2f}%{'' if fits else '  beyond'}")
    verdict(agree > 0, f"do_bench: {agree} of {len(KERNELS)} medians agree within {MOST_PERCENT}% or {MOST_US} us")
    if agree < len(KERNELS):
        miss("do_bench: in the others about 1 us of launching is a larger part")
