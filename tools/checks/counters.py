"""The ladders of templates with what a profiler counts on each step, and the last one of SGEMM beyond the edges of tiles."""

import json
import math
import re

from .common import HOME, ncu, profiled, profiled_launches, query, texts, verdict, write_configurations

PROBLEM = "4096x4096x4096"
BEYOND = "4097x4095x4093"  # one row of C in a last row of tiles, and rows that start on no 16-byte boundary
CUBLAS_SGEMM = "ffma|simt_sgemm|_sgemm_[0-9]"  # its kernels' names; a template's starts with its name
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = {
    "inst": "smsp__inst_executed.sum",
    "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "fma": "smsp__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l2": "lts__t_sectors_srcunit_tex.sum",
    "dram": "dram__bytes.sum",
    "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    **{name: STALL.format(stall) for name, stall in (
        ("long_scoreboard", "long_scoreboard"), ("lg_throttle", "lg_throttle"), ("short_scoreboard", "short_scoreboard"),
        ("mio_throttle", "mio_throttle"), ("barrier", "barrier"), ("dispatch", "dispatch_stall"))},
}


SCALES = {"GB": 1e-9, "10^6": 1e-6, "us": 1e-3}  # by the end of a metric's short name, for what ncu prints in base units


def scaled(name, text):
    return float(text.replace(",", "")) * SCALES.get(name.split()[-1], 1)


def counters(bench, name, arguments, kernel, metrics):
    """The metrics of a kernel's second launch by their short names; None where ncu gave none."""
    rows = profiled(bench, name, arguments, kernel, metrics.values(), 1, 1, "--print-units", "base")
    texts_of = {row["Metric Name"]: row["Metric Value"] for row in rows}
    return {short: scaled(short, texts_of[metric]) if metric in texts_of else None for short, metric in metrics.items()}


def line(problem, name, us, before, found):
    ffma = math.prod(int(size) for size in problem.split("x")) / 32
    if None in found.values():
        return f"| {name} | {us:.0f} | ncu gave no {', '.join(short for short, value in found.items() if value is None)} |"
    cells = [name, f"{us:.0f}", f"{before / us:.2f}" if before else "", f"{found['inst'] / ffma:.2f}", f"{found['fma']:.1f}",
             f"{found['issue']:.1f}", f"{found['warps']:.0f}", f"{found['l2'] * 32 / 1e9:.2f}", f"{found['dram'] / 1e9:.2f}",
             f"{found['shared'] / ffma:.3f}", f"{100 * found['conflicts'] / max(found['shared'], 1):.0f}"]
    stalls = [f"{found[name]:.2f}" for name in ("long_scoreboard", "lg_throttle", "short_scoreboard", "mio_throttle", "barrier", "dispatch")]
    return "| " + " | ".join(cells + stalls) + " |"


HEADER = ("| template | us | gain | inst / FFMA | FMA pipe % | issue % | warps % | L2 GB | DRAM GB | shared wavefronts / FFMA | of them conflicts % "
          "| long sb | lg | short sb | mio | barrier | dispatch |")


def table_of(bench, problem, *only):
    """Prints a line per template, slowest first, and one of cuBLAS; says of how many, and whether nothing is missing."""
    _, _, _, database = bench.sweep(f"counters_{problem}", "configs/sgemm_ladder.json", "--problem", problem, "--quiet", *only)
    best = query(
        database, "SELECT template, min(median_us) FROM trial WHERE kind = 'kernel' AND outcome = 'ok' GROUP BY template ORDER BY 2 DESC")
    library = query(database, "SELECT median_us FROM trial WHERE kind = 'baseline' AND template = 'cublas'")
    measured = ("--best", "--db", database, "--problem", problem, "--rounds", "6", "--baseline")
    print(problem)
    print(HEADER)
    print("|---" + "|---:" * (HEADER.count("|") - 2) + "|")
    before, complete = None, True
    for template, us in best:
        found = counters(bench, f"counters_{problem}_{template}", ("bench", template, *measured, "none"), f"^(void )?{template}", METRICS)
        complete = complete and None not in found.values()
        print(line(problem, template, us, before, found), flush=True)
        before = us
    found = counters(bench, f"counters_{problem}_cublas", ("bench", best[-1][0], *measured, "cublas"), CUBLAS_SGEMM, METRICS)
    print(line(problem, "cublas", library[0][0], None, found))
    return len(best), complete and None not in found.values()


def check_lanes(bench):
    """What reads of shared memory cost multiply-adds, by which lanes read the same place."""
    _, _, _, database = bench.sweep("lanes", "tests/gpu/shared_loads.json", "--finals", "off", "--quiet")
    rows = query(database, "SELECT json_extract(parameters, '$.LOADS'), json_extract(parameters, '$.WIDTH'), json_extract(parameters, '$.LANES'), "
                           "median_us FROM trial WHERE kind = 'kernel' AND outcome = 'ok' ORDER BY 1, 3")
    alone = next(us for loads, _, _, us in rows if loads == 0)
    for loads, width, lanes, us in rows:
        print(f"{loads:3} reads of {4 * width:2} bytes among 128 multiply-adds, {lanes:10} {us / alone:.3f} times as long")
    verdict(len(rows) == 13, "lanes: reads of shared memory among multiply-adds")


def check_counters(bench):
    count, complete = table_of(bench, PROBLEM)
    verdict(complete, f"counters: of {count} templates and cuBLAS at {PROBLEM}")
    _, complete = table_of(bench, BEYOND, "--template", "sgemm_split_k")
    verdict(complete, f"counters: of sgemm_split_k and cuBLAS at {BEYOND}")


TENSOR_LADDER = "configs/hgemm_ladder.json"
# The first that this GPU's counters have, of each group.
TENSOR_METRICS = {
    "tensor %": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                 "sm__pipe_tensor_op_gmma_cycles_active.avg.pct_of_peak_sustained_active",
                 "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active"),
    "issue %": (METRICS["issue"],),
    "warps %": (METRICS["warps"],),
    "instructions, 10^6": (METRICS["inst"],),
    "L2 GB": ("lts__t_bytes.sum",),
    "DRAM GB": (METRICS["dram"],),
    "bank conflicts, 10^6": (METRICS["conflicts"],),
    "long sb": (METRICS["long_scoreboard"],), "short sb": (METRICS["short_scoreboard"],), "mio": (METRICS["mio_throttle"],),
    "barrier": (METRICS["barrier"],), "math pipe": (STALL.format("math_pipe_throttle"),), "gmma": (STALL.format("gmma"),),
}


def tensor_metrics(bench):
    """Of each group the first metric that there is, by the group's name."""
    _, _, text = bench.run("counters_known", prefix=(ncu(), "--query-metrics"), executable=False)
    known = {line.split()[0] for line in text.splitlines() if line.strip()}
    chosen = {}
    for name, group in TENSOR_METRICS.items():
        found = next((metric for metric in group if metric.split(".")[0] in known), None)
        if found or "stalled" in group[0]:
            chosen[name] = found or group[0]
    return chosen


def write_winners(bench, steps):
    """A config of the best configuration of each step alone."""
    listed = bench.out / "tensor_steps.csv"
    write_configurations(listed, [(step["template"], texts(step["parameters"])) for step in steps])
    templates = [{"template": template, "options": {"layout": "nn"}} for template in dict.fromkeys(step["template"] for step in steps)]
    config = bench.out / "tensor_steps.json"
    config.write_text(json.dumps({"templates": templates, "configurations": listed.name, "problems": [PROBLEM], "baseline": "none",
                                  "measure": {"screening": 0, "samples": 1, "verify": False}}))
    return config


def tensor_counters(bench, steps, metrics):
    """By kernel expression: the metrics of its second launch."""
    sweep = ("sweep", write_winners(bench, steps), "--db", bench.out / "tensor_steps.db", "--finals", "off", "--quiet")
    rows = profiled_launches(bench, "counters_tensor", sweep, metrics.values(), "--kernel-id", "::regex:hgemm_:2", "--print-units", "base")
    by_name = {metric: name for name, metric in metrics.items()}
    found = {}
    for row in rows:
        name = by_name[row["Metric Name"]]
        found.setdefault(row["Kernel Name"], {})[name] = scaled(name, row["Metric Value"])
    return found


def check_tensor_counters(bench):
    """The ladder of half precision, with ncu's counters of each step's best."""
    _, _, _, database = bench.sweep("tensor_ladder", TENSOR_LADDER, "--quiet")
    _, _, text = bench.run("tensor_ladder_rank", "rank", "--ladder", "--format", "json", "--db", database)
    steps = [row for row in json.loads(text)["ladders"][0]["rungs"] if row["kind"] == "kernel"]
    metrics = tensor_metrics(bench)
    found = tensor_counters(bench, steps, metrics)
    print("| step | template | us | TFLOP/s | of the library % | " + " | ".join(metrics) + " |")
    print("|---|---" + "|---:" * (3 + len(metrics)) + "|")
    complete, enumerated = 0, enumerators()
    for step in steps:
        values = next((values for name, values in found.items() if is_same_kernel(name, step["kernel_expression"], enumerated)), {})
        complete += len(values) > 0
        cells = [f"{values[name]:.2f}" if name in values else "" for name in metrics]
        percent = step["percent_of_baseline"]
        print("| " + " | ".join([step["step"], step["template"], f"{step['median_us']:.1f}", f"{step['tflops']:.1f}",
                                 f"{percent:.1f}" if percent else "", *cells]) + " |", flush=True)
    verdict(complete == len(steps) > 0, f"tensor_counters: of {complete} of {len(steps)} steps at {PROBLEM}")
    if complete < len(steps):
        print(*list(found)[:30], sep="\n")


def enumerators():
    """What ncu prints for the enumerators of the templates' sources that have no value of their own, by their names."""
    values = {"true": {"1"}, "false": {"0"}}
    for source in sorted((HOME / "kernel_templates").glob("*/*.cuh")):
        for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", source.read_text()):
            for position, one in enumerate(re.sub(r"//.*", "", body).split(",")):
                if "=" not in one:
                    values.setdefault(one.strip(), set()).add(str(position))
    return values


def is_same_kernel(demangled, expression, values):
    """Whether a kernel's name, as ncu prints it with default arguments, is that of an instantiation: "hgemm_mma<f16, nn, 128, true>".
    Types have other names there."""
    name, _, wanted = expression.rstrip(">").partition("<")
    if f"{name}<" not in demangled:
        return False
    found = demangled.split(f"{name}<", 1)[1].split(">(")[0].split(", ")
    wanted = wanted.split(", ")
    return len(found) >= len(wanted) and all(
        one == other if other.isdigit() else one in values.get(other, {one}) for one, other in zip(found, wanted))


# Where a library is faster than all configurations: few tiles, or a long K.
FEW_TILES = ("512x512x512", "1024x1024x1024", "512x512x16384")
CUBLAS_HGEMM = "^nvjet"  # its kernels' names on Hopper


def check_few_tiles(bench):
    """Half precision where there are few tiles: what ncu counts on the best configuration, and on cuBLAS's kernel."""
    problems = [word for problem in FEW_TILES for word in ("--problem", problem)]
    _, _, _, database = bench.sweep("few_tiles", "configs/hgemm_dispatch.json", *problems, "--strategy", "exhaustive", "--quiet")
    metrics = {"ncu us": "gpu__time_duration.sum", **tensor_metrics(bench)}
    print("| problem | kernel | us | " + " | ".join(metrics) + " |")
    print("|---|---" + "|---:" * (1 + len(metrics)) + "|")
    complete = 0
    for problem in FEW_TILES:
        (best, us), = query(database, "SELECT template, median_us FROM trial WHERE kind = 'kernel' AND outcome = 'ok' AND timed_in = 'final' AND "
                                      f"problem = '{problem}' ORDER BY median_us LIMIT 1")
        (cublas_us,), = query(database, f"SELECT median_us FROM trial WHERE template = 'cublas' AND problem = '{problem}'")
        measured = ("bench", best, "--best", "--db", database, "--problem", problem, "--rounds", "6", "--baseline")
        for name, time_us, library, kernel in ((best, us, "none", f"^(void )?{best}"), ("cublas", cublas_us, "cublas", CUBLAS_HGEMM)):
            found = counters(bench, f"few_tiles_{problem}_{name}", (*measured, library), kernel, metrics)
            complete += None not in found.values()
            cells = ["" if value is None else f"{value:.2f}" for value in found.values()]
            print("| " + " | ".join([problem, name, f"{time_us:.2f}", *cells]) + " |", flush=True)
    verdict(complete == 2 * len(FEW_TILES), f"few_tiles: counters of {complete} of {2 * len(FEW_TILES)} kernels")


CHECKS = {"tensor_counters": check_tensor_counters, "few_tiles": check_few_tiles, "lanes": check_lanes, "counters": check_counters}
