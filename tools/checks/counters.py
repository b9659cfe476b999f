"""The ladder of templates with what a profiler counts on each step, at 4096x4096x4096."""

from .common import profiled, query, verdict

PROBLEM = "4096x4096x4096"
FLOPS = 2 * 4096**3
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


def line(name, us, before, found):
    ffma = FLOPS / 2 / 32
    if None in found.values():
        return f"| {name} | {us:.0f} | ncu gave no {', '.join(short for short, value in found.items() if value is None)} |"
    cells = [name, f"{us:.0f}", f"{before / us:.2f}" if before else "", f"{found['inst'] / ffma:.2f}", f"{found['fma']:.1f}",
             f"{found['issue']:.1f}", f"{found['warps']:.0f}", f"{found['l2'] * 32 / 1e9:.2f}", f"{found['dram'] / 1e9:.2f}",
             f"{found['shared'] / ffma:.3f}", f"{100 * found['conflicts'] / max(found['shared'], 1):.0f}"]
    stalls = [f"{found[name]:.2f}" for name in ("long_scoreboard", "lg_throttle", "short_scoreboard", "mio_throttle", "barrier", "dispatch")]
    return "| " + " | ".join(cells + stalls) + " |"


HEADER = ("| template | us | gain | inst / FFMA | FMA pipe % | issue % | warps % | L2 GB | DRAM GB | shared wavefronts / FFMA | of them conflicts % "
          "| long sb | lg | short sb | mio | barrier | dispatch |")


def check_counters(bench):
    _, _, _, database = bench.sweep("counters", "configs/sgemm_ladder.json", "--problem", PROBLEM, "--quiet")
    best = query(
        database, "SELECT template, min(median_us) FROM trial WHERE kind = 'kernel' AND outcome = 'ok' GROUP BY template ORDER BY 2 DESC")
    library = query(database, "SELECT median_us FROM trial WHERE kind = 'baseline' AND template = 'cublas'")
    print(HEADER)
    print("|---" + "|---:" * (HEADER.count("|") - 2) + "|")
    before, complete = None, True
    for template, us in best:
        found = counters(bench, f"counters_{template}", ("bench", template, "--best", "--db", database, "--problem", PROBLEM,
                                                         "--baseline", "none", "--rounds", "6"), f"^{template}")
        complete = complete and None not in found.values()
        print(line(template, us, before, found), flush=True)
        before = us
    template = best[-1][0]
    found = counters(bench, "counters_cublas", ("bench", template, "--best", "--db", database, "--problem", PROBLEM,
                                                "--baseline", "cublas", "--rounds", "6"), "ffma")
    print(line("cublas", library[0][0], None, found))
    complete = complete and None not in found.values()
    verdict(complete, f"counters: of {len(best)} templates and cuBLAS at {PROBLEM}")


CHECKS = {"counters": check_counters}
