"""Checks of what a measurement is worth: repeatability, screening, throttling, and agreement with a profiler."""

import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

from .common import all_ran, expect_all_ok, miss, outcomes, profiled, query, seconds_after, verdict

PEER = "configs/peer_sgemm.json"
SGEMM = ("configs/sgemm.json", "--problem", "4096x4096x4096")


def ranking(bench, database):
    """The kernels of a database's only group, as `rank` orders them."""
    output = bench.out / "ranking.json"
    bench.run("ranking", "rank", "--db", database, "--limit", "0", "--format", "json", "-o", output)
    group = json.loads(output.read_text())["groups"][0]
    return [row for row in group["rows"] if row["kind"] == "kernel"]


def identity(row):
    return row["template"] + json.dumps(row["parameters"])


def leaders(rows):
    return {identity(row) for row in rows if row["rank"] == 1}


def places(values):
    """Ranks from 1, ties sharing their mean."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in order[first:last + 1]:
            result[i] = (first + last) / 2 + 1
        first = last + 1
    return result


def spearman(a, b):
    return statistics.correlation(places(a), places(b))


def check_repeat(bench):
    runs = []
    for number in range(1, 6):
        _, _, _, database = bench.sweep(f"repeat_{number}", PEER, "--finals", "10", "--quiet")
        if not all_ran(outcomes(database)):
            return verdict(False, f"repeat: run {number}: {outcomes(database)}")
        runs.append(ranking(bench, database))
    winners = [identity(rows[0]) for rows in runs]
    tied = [leaders(rows) for rows in runs]
    print("     tied with the best:", [len(ties) for ties in tied], "noise floor %:",
          [rows[0]["noise_floor_percent"] for rows in runs])
    verdict(all(winner in ties for winner in winners for ties in tied),
            f"repeat: the winner of each of 5 runs is tied with the best of every other; {len(set(winners))} different winners")
    times = [{identity(row): row["median_us"] for row in rows} for rows in runs]
    common = sorted(set.intersection(*(set(of) for of in times)))
    least = min(spearman([a[key] for key in common], [b[key] for key in common])
                for i, a in enumerate(times) for b in times[:i])
    verdict(least >= 0.99, f"repeat: Spearman's rank correlation of {len(common)} configurations, least of 10 pairs: {least:.4f}")
    finals = [{identity(row) for row in rows if row["timed_in"] == "final"} for rows in runs]
    spread = {key: 100 * (max(of[key] for of in times) / min(of[key] for of in times) - 1) for key in set.intersection(*finals)}
    worst = max(spread.values())
    verdict(worst < 0.5, f"repeat: medians of the {len(spread)} configurations in all finals differ by at most {worst:.2f}%")


def gpu_seconds(database):
    return query(database, "SELECT sum(measure_ms) / 1e3 FROM trial WHERE kind = 'kernel'")[0][0]


def check_screening(bench):
    if not (bench.out / "sgemm.db").exists():
        expect_all_ok(bench, "sgemm", *SGEMM, "--quiet")  # the kernel cache is warm from here on
    _, text, screened = expect_all_ok(bench, "screening_on", *SGEMM, "--quiet")
    _, _, full = expect_all_ok(bench, "screening_off", *SGEMM, "--screening", "off", "--quiet")
    saved = 100 * (1 - gpu_seconds(screened) / gpu_seconds(full))
    verdict(saved >= 50, f"screening: {gpu_seconds(screened):.1f} s of the GPU worker instead of {gpu_seconds(full):.1f} s: {saved:.0f}% saved "
                         f"({outcomes(screened).get('screened_out', 0)} dropped)")
    first, second = ranking(bench, screened), ranking(bench, full)
    print("     tied with the best:", len(leaders(first)), "with screening,", len(leaders(second)), "without")
    verdict(identity(first[0]) in leaders(second) and identity(second[0]) in leaders(first),
            "screening: the winner with it is tied with the best without it, and the other way round")


def expect_overlap(name, wall, text):
    """Compiling and measuring overlap. Measuring is all that the GPU worker does: buffers, references and checks too."""
    compiling = seconds_after(text, "compiling") / (os.cpu_count() or 1)
    evaluating = seconds_after(text, "evaluating")
    bound = 1.2 * max(compiling, evaluating)
    verdict(wall <= bound, f"{name}: {wall:.1f} s, cold, at most {bound:.1f} s = 1.2 x the larger of {compiling:.1f} s compiling on "
                           f"all cores and {evaluating:.1f} s measuring")


def check_throttle(bench):
    neighbour = bench.executable.parent / "neighbour"
    bench.sweep("throttle_compile", "configs/quick.json", "--problem", "2048", "--quiet")
    database = bench.out / "throttle.db"
    arguments = ["sweep", "configs/quick.json", "--problem", "2048", "--db", database, "--screening", "off", "--precision", "0.01"]
    log = bench.out / "throttle.log"
    with open(log, "w") as file:
        sweep = subprocess.Popen([bench.executable, *map(str, arguments)], stdout=file, stderr=subprocess.STDOUT,
                                 env=bench.environment, cwd=bench.environment["TILETUNE_HOME"])
        while sweep.poll() is None and measured_rows(database) < 5:
            time.sleep(0.01)
        other = subprocess.Popen([neighbour, "0"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        sweep.wait()
        other.stdin.close()
        other.wait()
    discarded = query(database, "SELECT sum(discarded_samples) FROM trial")[0][0] or 0
    said = [line for line in log.read_text().splitlines() if "discarded" in line]
    slowest, fastest = query(database, "SELECT min(sm_clock_mhz), max(sm_clock_mhz) FROM trial")[0]
    if discarded == 0 and slowest >= 0.9 * fastest:
        print(f"SKIP throttle: the neighbour does not throttle this GPU: its clock stayed between {slowest:.0f} and {fastest:.0f} MHz")
    else:
        verdict(discarded > 0 and said, f"throttle: beside a neighbour that multiplies FP16 matrices {discarded} samples were discarded; "
                                        f"the report says: {said[:1]}")
    strangers = [line for line in log.read_text().splitlines() if "neighbour" in line]
    verdict(strangers, f"throttle: the report names the other process: {strangers[:1]}")


def measured_rows(database):
    try:
        return query(database, "SELECT count(*) FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")[0][0]
    except Exception:  # the tables are not there yet
        return 0


# Kernels from about 5 us to about 20 ms, then such that memory bounds: template, settings, problem.
PROFILED = [
    ("sgemm_shared", {"BM": 16, "BN": 16, "BK": 16}, "128x128x128"),
    ("sgemm_shared", {"BM": 16, "BN": 16, "BK": 16}, "256x256x256"),
    ("sgemm_shared", {"BM": 32, "BN": 32, "BK": 32}, "512x512x512"),
    ("sgemm_shared", {"BM": 32, "BN": 32, "BK": 32}, "1024x1024x1024"),
    ("sgemm_shared", {"BM": 32, "BN": 32, "BK": 32}, "2048x2048x2048"),
    ("sgemm_shared", {"BM": 32, "BN": 32, "BK": 32}, "4096x4096x4096"),
    ("tests/gpu/sum_floats", {"THREADS": 512}, str(1 << 24)),
    ("tests/gpu/sum_floats", {"THREADS": 512}, str(1 << 26)),
    ("tests/gpu/sum_floats", {"THREADS": 512}, str(1 << 28)),
    ("tests/gpu/softmax_rows", {"THREADS": 256}, "8192"),
]


def profiled_us(bench, name, arguments, kernel):
    """Median of ncu's gpu__time_duration over the launches of one kernel, caches flushed before each, clocks left alone."""
    rows = profiled(bench, name, arguments, f"^(void )?{kernel}", ["gpu__time_duration.sum"], skip=3, count=15)
    scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3}
    return statistics.median(float(row["Metric Value"].replace(",", "")) * scale[row["Metric Unit"]] for row in rows)


def check_profiler(bench):
    if not (shutil.which("ncu") or pathlib.Path("/usr/local/cuda/bin/ncu").exists()):
        print("SKIP profiler: ncu is not installed")
        return
    print(f"     {'kernel':28} {'problem':16} {'median_us':>10} {'launches':>8} {'single_us':>10} {'ncu_us':>10} {'single - ncu':>20}")
    agree = singles = bracketed = 0
    missed = []
    for number, (template, settings, problem) in enumerate(PROFILED):
        name = f"profiler_{number}"
        database = bench.out / f"{name}.db"
        chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        arguments = ["bench", template, *chosen, "--problem", problem, "--baseline", "none"]
        bench.run(name, *arguments, "--db", database)
        median, launches, isolated = query(
            database, "SELECT median_us, launches_per_sample, figures ->> 'isolated_us' FROM trial WHERE kind = 'kernel'")[0]
        single = isolated or median
        kernel = pathlib.Path(template).name
        ncu = profiled_us(bench, f"{name}_ncu", [*arguments, "--db", bench.out / f"{name}_ncu.db"], kernel)
        difference = single - ncu
        good = abs(difference) <= max(0.5, 0.02 * ncu)
        singles += launches == 1
        agree += launches == 1 and good
        bracketed += launches > 1 and median <= ncu <= single + 0.5
        if launches > 1 and (not good or abs(median - ncu) > 0.03 * ncu):
            missed.append(f"{problem}: {100 * (median / ncu - 1):+.0f}% in a batch, {difference:+.2f} us alone")
        kernel += f" {'x'.join(map(str, settings.values()))}"
        print(f"     {kernel:28} {problem:16} {median:10.2f} {launches:8} {single:10.2f} {ncu:10.2f} "
              f"{difference:+9.2f} us {100 * difference / ncu:+5.1f}%")
    verdict(agree == singles > 0, f"profiler: {agree} of {singles} medians of single launches agree with ncu within 2% or 0.5 us")
    verdict(bracketed == len(PROFILED) - singles,
            f"profiler: ncu lies between a launch in a batch and one alone for {bracketed} of {len(PROFILED) - singles} shorter kernels")
    if missed:
        miss(f"profiler: kernels under 20 us differ from ncu by more than 3% in a batch, or by 0.5 us alone: {missed}")


STABLE = ("configs/softmax.json", "--problem", "4096x1024", "--strategy", "random", "--seed", "1", "--budget", "120")


def fresh_sweeps(bench, gpu, count):
    """Sweeps `count` times, each time into a new database. Returns, by sweep, (best row, all rows of rank 1)."""
    found = []
    for number in range(count):
        name = f"stable_{gpu}_{number}"
        _, _, _, database = bench.sweep(name, *STABLE, "--gpus", gpu, "--quiet")
        output = bench.out / f"{name}.json"
        bench.run(f"{name}_ranking", "rank", "--db", database, "--limit", "0", "--format", "json", "-o", output)
        first = [row for row in json.loads(output.read_text())["groups"][0]["rows"] if row["rank"] == 1]
        found.append((first[0], first))
    return found


def oracle(bench, gpu, rows):
    """The time of each of these rows, interleaved in many rounds."""
    names = sorted({name for row in rows for name in row["parameters"]})
    lines = [",".join(["template", *names])]
    lines += [",".join([row["template"], *(json.dumps(row["parameters"].get(name, "")).strip('"') for name in names)]) for row in rows]
    (bench.out / "stable.csv").write_text("\n".join(lines) + "\n")
    config = bench.out / f"stable_oracle_{gpu}.json"
    config.write_text(json.dumps({
        "name": "stable_oracle", "templates": sorted({row["template"] for row in rows}), "configurations": "stable.csv",
        "problems": ["4096x1024"], "measure": {"screening": 0, "finals": {"configurations": 100, "rounds": 1000}}}))
    _, _, _, database = bench.sweep(f"stable_oracle_{gpu}", config, "--gpus", gpu, "--quiet")
    times = query(database, "SELECT template, parameters, median_us FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")
    return {template + json.dumps(json.loads(parameters)): time_us for template, parameters, time_us in times}


def check_stable(bench, gpus):
    """Fresh sweeps of one space choose the same, or something that ties with it and costs nothing."""
    bench.sweep("stable_compile", *STABLE, "--quiet")
    counts = dict(zip(range(gpus), (60, 20, 20)))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = dict(zip(counts, pool.map(lambda gpu: fresh_sweeps(bench, gpu, counts[gpu]), counts)))
    everywhere = [run for of_gpu in runs.values() for run in of_gpu]
    winners = collections.Counter(identity(best) for best, _ in everywhere)
    usual = winners.most_common(1)[0][0]
    print("     chosen:", dict(winners))
    for gpu, of_gpu in runs.items():
        holding = sum(usual in {identity(row) for row in ties} for _, ties in of_gpu)
        verdict(holding >= len(of_gpu) - 1, f"stable: GPU {gpu}: {holding} of {len(of_gpu)} fresh sweeps choose {usual}, or declare a tie with it")
    rows = list({identity(row): row for _, ties in everywhere for row in ties}.values())
    for gpu in runs:
        times = oracle(bench, gpu, rows)
        regrets = [100 * (times[identity(best)] / min(times.values()) - 1) for best, _ in runs[gpu]]
        verdict(max(regrets) <= 1, f"stable: GPU {gpu}: each choice against the best of {len(times)} that ever tied, in 1000 interleaved rounds: "
                                   f"regret {statistics.mean(regrets):.2f}% on average, {max(regrets):.2f}% at most")


CHECKS = {"screening": check_screening, "repeat": check_repeat, "throttle": check_throttle, "profiler": check_profiler}
