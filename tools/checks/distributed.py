"""Operations over several GPUs: the templates and faults of tests/distributed, then what configs/ has for as many GPUs as are
there, beside NCCL and cuBLAS."""

import json
import pathlib
import re
import subprocess

from checks.common import HOME, all_ran, expect_all_ok, outcomes, query, verdict

TESTS = "tests/distributed"
NUMBERS = (2, 4)  # of GPUs
ROW_SPLIT = "row_split_sgemm"
ROW_SPLIT_SIZES = (4096, 8192, 16384)
FAULTS = {"hangs_on_one": "timeout", "traps_on_one": "crashed", "wrong_on_one": "wrong_result", "writes_past_peer": "out_of_bounds"}


def read(path):
    """A config or manifest, without the comments that stand in lines of their own."""
    return json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))


def operation_of(template):
    manifest = HOME / "kernel_templates" / template / "template.json"
    operation = read(manifest)["operation"] if manifest.exists() else {}
    if isinstance(operation, dict):
        return operation
    file = HOME / "kernel_templates" / "operations" / operation / "operation.json"
    return read(file) if file.exists() else {}


def templates_of(config):
    return [entry if isinstance(entry, str) else entry["template"] for entry in config["templates"]]


def problems_by_gpus(config):
    """Labels of the config's problems by the number of GPUs that compute them; none of other configs."""
    operation = operation_of(templates_of(config)[0])
    found = {}
    if "gpus" not in operation:
        return found
    for problem in config["problems"]:
        sizes = problem if isinstance(problem, dict) else dict(zip(operation["dimensions"], str(problem).split(",")[0].split("x")))
        gpus = int(sizes.get(operation["gpus"], operation["gpus"]))
        label = problem if isinstance(problem, str) else "x".join(str(problem[name]) for name in operation["dimensions"])
        found.setdefault(gpus, []).append(label)
    return found


def problems_to_check(path, numbers):
    """The config's problems by the number of GPUs, for those numbers; row-split products of all sizes for each of them."""
    if path.stem == ROW_SPLIT:
        return {gpus: [f"{gpus}x{size}x{size}x{size}" for size in ROW_SPLIT_SIZES] for gpus in numbers}
    return {gpus: problems for gpus, problems in sorted(problems_by_gpus(read(path)).items()) if gpus in numbers}


def chosen(problems):
    return [word for problem in problems for word in ("--problem", problem)]


def check_steps(bench, numbers):
    for name in ("exchange", "row_sums"):
        problems = read(HOME / TESTS / f"{name}.json")["problems"]
        for gpus in numbers:
            mine = [problem for problem in problems if problem.startswith(f"{gpus}x")]
            _, _, database = expect_all_ok(bench, f"{name}_{gpus}", f"{TESTS}/{name}.json", *chosen(mine), "--quiet")
            times = query(database, "SELECT gpu_times_us, median_us FROM trial WHERE kind = 'kernel' AND median_us IS NOT NULL")
            listed = [(json.loads(each or "[]"), median) for each, median in times]
            verdict(listed and all(len(each) == gpus and max(each) <= 1.05 * median for each, median in listed),
                    f"{name} on {gpus} GPUs: each row has the time of each GPU, and none is longer than the row's: {listed[:1]}")


def check_faults(bench):
    code, wall, text, database = bench.sweep("distributed_faults", f"{TESTS}/faults.json", "--quiet")
    rows = query(database, "SELECT template, outcome, ifnull(reason, '') FROM trial WHERE kind = 'kernel' ORDER BY id")
    for template, outcome, reason in rows:
        print(f"     {template:18} {outcome:14} {reason.splitlines()[0][:100] if reason else ''}")
    wrong = [row[:2] for row in rows if row[1] != FAULTS.get(row[0], "ok")]
    unseen = set(FAULTS) - {row[0] for row in rows}
    verdict(code == 0 and rows and not wrong and not unseen,
            f"faults on one of 2 GPUs: {len(rows) - len(wrong)} of {len(rows)} rows have the expected outcome, {wall:.1f} s")
    if code != 0:
        print(text[-2000:])


def best_rows(database):
    """The fastest of each problem, of the finals where there were any."""
    columns = "operation, problem, element_types, template, gpu_times_us, median_us, baseline, baseline_us, tflops"
    best = {}
    for row in query(database, f"SELECT {columns}, timed_in = 'final' FROM trial WHERE kind = 'kernel' AND outcome = 'ok'"):
        key = row[:3]
        if key not in best or (-row[9], row[5]) < (-best[key][9], best[key][5]):
            best[key] = row
    return list(best.values())


def one_gpu_times(database):
    """What cuBLAS takes for the whole on one GPU, by problem."""
    return dict(query(database, "SELECT problem, median_us FROM trial WHERE kind = 'baseline' AND template = 'cublas_one_gpu'"))


def print_row_split_table(database):
    """The fastest of each problem and the baselines: the time of each GPU, the slowest, and all with the copies of the data from
    and to the host. Ratios are those of one GPU's cuBLAS / the row, of the times without and with copies."""
    columns = "problem, template, gpu_times_us, median_us, figures ->> 'with_copies_us', tflops, kind"
    timed = query(database, f"SELECT {columns} FROM trial WHERE timed_in = 'final' AND outcome = 'ok' AND kind != 'twin' ORDER BY median_us")
    print(f"     {'problem':22} {'kernel':26} {'us on each GPU':28} {'slowest, us':>12} {'with copies':>12} {'TFLOP/s':>8} {'of one GPU':>10} "
          f"{'with copies':>12}")
    problems = sorted({row[0] for row in timed}, key=lambda problem: [int(size) for size in problem.split("x")])
    for problem in problems:
        mine = [row for row in timed if row[0] == problem]
        kernels = [row for row in mine if row[6] == "kernel"]
        baselines = [row for row in mine if row[6] == "baseline"]
        one_gpu = next((row for row in baselines if row[1] == "cublas_one_gpu"), None)
        for _, kernel, times, median, overall, tflops, _ in kernels[:1] + baselines:
            each = " ".join(f"{time:.1f}" for time in json.loads(times or "[]")) or f"{median:.1f}"
            gain = f"{one_gpu[3] / median:.2f}" if one_gpu else ""
            overall_gain = f"{one_gpu[4] / overall:.2f}" if one_gpu and one_gpu[4] and overall else ""
            print(f"     {problem:22} {kernel:26} {each:28} {median:12.1f} {overall or 0:12.1f} {tflops or 0:8.1f} {gain:>10} {overall_gain:>12}")


def check_row_split(name, database, problems):
    rows = query(database, "SELECT problem, kind, figures ->> 'with_copies_us', median_us, ifnull(warnings, '') FROM trial "
                           "WHERE timed_in = 'final' AND outcome = 'ok' AND kind != 'twin'")
    timed = {(problem, kind) for problem, kind, overall, median, _ in rows if overall and overall > median}
    impossible = [row for row in rows if row[2] and row[2] <= row[3]]
    warned = sorted({row[4] for row in rows if "with copies" in row[4]})
    verdict(timed == {(problem, kind) for problem in problems for kind in ("kernel", "baseline")} and not impossible,
            f"{name}: kernels and baselines have a time with copies from and to the host, above that without; {warned} {impossible[:2]}")
    print_row_split_table(database)


def print_table(rows, one_gpu):
    print(f"     {'operation':24} {'problem':22} {'types':8} {'template':26} {'us on each GPU':32} {'slowest':>9} {'TFLOP/s':>8} "
          f"{'baseline':>12} {'us':>9} {'ratio':>6} {'of one GPU':>10}")
    for operation, problem, types, template, times, median, baseline, baseline_us, tflops, _ in rows:
        each = " ".join(f"{time:.1f}" for time in json.loads(times or "[]"))
        ratio = f"{baseline_us / median:.2f}" if baseline_us else ""
        gain = f"{one_gpu[problem] / median:.2f}" if problem in one_gpu else ""
        print(f"     {operation:24} {problem:22} {types.split()[0][-8:]:8} {template:26} {each:32} {median:9.1f} {tflops or 0:8.1f} "
              f"{baseline or '-':>12} {baseline_us or 0:9.1f} {ratio:>6} {gain:>10}")


def check_configs(bench, numbers):
    """What the shipped kernels reach, beside NCCL and cuBLAS in the same finals."""
    for path in sorted((HOME / "configs").glob("*.json")):
        for gpus, problems in problems_to_check(path, numbers).items():
            name = f"{path.stem}_{gpus}"
            is_row_split = path.stem == ROW_SPLIT
            more = ("--host-copies", "on") if is_row_split else ()
            code, wall, text, database = bench.sweep(name, f"configs/{path.name}", *chosen(problems), *more, "--quiet")
            found = outcomes(database)
            rows = best_rows(database)
            compared = [row for row in rows if row[7]]
            verdict(code == 0 and all_ran(found) and {row[1] for row in compared} >= set(problems),
                    f"{name}: {found} of {len(problems)} problems, each with a baseline, {wall:.1f} s")
            if not all_ran(found):
                for row in query(database, "SELECT outcome, template, problem, parameters, substr(reason, 1, 200) FROM trial "
                                           "WHERE kind = 'kernel' AND outcome NOT IN ('ok', 'screened_out') LIMIT 5"):
                    print("    ", *row)
            if is_row_split:
                check_row_split(name, database, problems)
            if rows:
                print_table(rows, one_gpu_times(database))
                check_program(bench, name, database, rows)
            else:
                print(text[-2000:])


def check_program(bench, name, database, rows):
    """The example program runs what `export --best` wrote, with one process per GPU, and finds it right."""
    program = pathlib.Path(bench.executable).parent / "use_best_on_gpus"
    best = bench.out / f"{name}.best.json"
    bench.run(f"{name}_export", "export", "--best", "--db", database, "-o", best)
    failed = []
    for row in rows:
        run = subprocess.run([program, best, row[1], row[3]], env=bench.environment, capture_output=True, text=True)
        print("     " + (run.stdout.splitlines() or run.stderr.splitlines() or [""])[-1])
        if run.returncode != 0:
            failed.append(f"{row[3]} {row[1]}: exit status {run.returncode}: {run.stderr.strip()[-300:]}")
    verdict(not failed, f"{name}: {len(rows) - len(failed)} of {len(rows)} are right with one process per GPU" + "".join(f"; {one}" for one in failed))


def check(bench, gpus):
    numbers = [number for number in NUMBERS if number <= gpus]
    if not numbers:
        print(f"SKIP distributed: this machine has {gpus} GPU")
        return
    check_steps(bench, numbers)
    check_faults(bench)
    check_configs(bench, numbers)
