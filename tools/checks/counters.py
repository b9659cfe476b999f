"""The ladder of templates with what a profiler counts on each step, and its last step beyond the edges of tiles."""

import math

from .common import profiled, query, verdict

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


def counters(bench, name, arguments, kernel):
    """One launch's metrics by their short names."""
    rows = profiled(bench, name, arguments, kernel, METRICS.values(), skip=1, count=1)
    scale = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "KB": 1e3, "MB": 1e6, "GB": 1e9}
    values = {row["Metric Name"]: float(row["Metric Value"].replace(",", "")) * scale.get(row["Metric Unit"], 1) for row in rows}
    return {short: values.get(metric) for short, metric in METRICS.items()}


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
        found = counters(bench, f"counters_{problem}_{template}", ("bench", template, *measured, "none"), f"^(void )?{template}")
        complete = complete and None not in found.values()
        print(line(problem, template, us, before, found), flush=True)
        before = us
    found = counters(bench, f"counters_{problem}_cublas", ("bench", best[-1][0], *measured, "cublas"), CUBLAS_SGEMM)
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


CHECKS = {"lanes": check_lanes, "counters": check_counters}
