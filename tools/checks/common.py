"""What the checks on a GPU share: running tiletune, reading its databases, and the verdicts."""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
VERDICTS = []
FINAL_ROUNDS = 50


def verdict(passed, text):
    VERDICTS.append(bool(passed))
    print(("PASS " if passed else "FAIL ") + text, flush=True)


def miss(text):
    """What is known to be out of reach: shown, and not counted."""
    print("MISS " + text, flush=True)


def interrupted(process):
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Bench:
    """Runs tiletune with a cold cache and databases of its own."""

    def __init__(self, executable, out, tensor_s, swept=None):
        self.executable = executable
        self.out = out
        self.tensor_s = tensor_s
        self.swept = swept  # a database of earlier sweeps on this GPU
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(out / "cache"), TILETUNE_HOME=str(HOME))

    def run(self, name, *arguments, prefix=(), limit_s=None, executable=True):
        """Exit status, seconds, and output. After `limit_s` it is interrupted, and soon after killed. Without the executable it is the
        prefix alone that runs."""
        started = time.monotonic()
        log = self.out / f"{name}.log"
        with open(log, "w") as file:
            process = subprocess.Popen([*map(str, prefix), *([str(self.executable)] if executable else []), *map(str, arguments)], stdout=file,
                                       stderr=subprocess.STDOUT, env=self.environment, cwd=HOME)
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = interrupted(process)
        return code, time.monotonic() - started, log.read_text()

    def sweep(self, name, config, *arguments):
        database = self.out / f"{name}.db"
        code, wall, text = self.run(name, "sweep", config, "--db", database, *arguments)
        if not database.exists():
            print(text)
            raise SystemExit(f"gpu_check: no database from {config}")
        return code, wall, text, database

    def cold(self):
        shutil.rmtree(self.out / "cache", ignore_errors=True)


def query(database, sql):
    connection = sqlite3.connect(database)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def ncu():
    return shutil.which("ncu") or "/usr/local/cuda/bin/ncu"


def profiled_launches(bench, name, arguments, metrics, *chosen):
    """ncu's rows on the launches that its options choose, by demangled names; caches flushed, clocks left alone."""
    _, _, text = bench.run(name, *arguments, prefix=(
        ncu(), "--target-processes", "all", "--clock-control", "none", "--cache-control", "all", "--metrics", ",".join(metrics),
        "--kernel-name-base", "demangled", *chosen, "--csv"))
    return list(csv.DictReader([line for line in text.splitlines() if line.startswith('"')]))


def profiled(bench, name, arguments, kernel, metrics, skip, count, *chosen):
    """The same on so many launches of one kernel, found by its name."""
    return profiled_launches(bench, name, arguments, metrics, "--kernel-name", f"regex:{kernel}", "--launch-skip", skip,
                             "--launch-count", count, *chosen)


def texts(values):
    """Values of parameters by name, as lists of configurations have them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}


def write_configurations(path, rows):
    """A list of configurations for a config: of (template, values by parameter) each once, in their order."""
    names = list(dict.fromkeys(name for _, values in rows for name in values))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["template", *names])
        writer.writerows(dict.fromkeys((template, *(values.get(name, "") for name in names)) for template, values in rows))


def condition_of(name, value):
    if value in ("true", "false"):
        return name if value == "true" else f"not {name}"
    return f"{name} == {value}" if value.isdigit() else f"{name} == '{value}'"


def requirement_of(problem, rows):
    """A constraint of a template: on this problem, MxNxK, its configurations are those of the rows."""
    others = [f"{name} != {size}" for name, size in zip("MNK", problem.split("x"))]
    own = ["(" + " and ".join(condition_of(*one) for one in row["values"].items()) + ")" for row in rows]
    return {"require": " or ".join(others + own), "why": "each problem has its own configurations"}


def write_finals(folder, name, rows, options, problems, finalists, types=None):
    """A config that holds finals among the rows, each {problem: MxNxK, template, values}, beside the libraries. `problems`: as a config names them."""
    listed = folder / f"{name}.csv"
    write_configurations(listed, [(row["template"], row["values"]) for row in rows])
    templates = []
    for template in dict.fromkeys(row["template"] for row in rows):
        own = {problem.split(",")[0]: [] for problem in problems}
        for row in rows:
            if row["template"] == template:
                own[row["problem"]].append(row)
        templates.append({"template": template, **({"types": types} if types else {}), **({"options": options} if options else {}),
                          "constraints": [requirement_of(problem, some) for problem, some in own.items()]})
    config = folder / f"{name}.json"
    config.write_text(json.dumps({"templates": templates, "configurations": listed.name, "problems": problems,
                                  "measure": {"screening": 0, "finals": {"configurations": finalists, "within_percent": 0, "rounds": FINAL_ROUNDS}},
                                  "baseline": "lt", "strategy": {"name": "exhaustive", "seed": 1}}))
    return config


def outcomes(database):
    return dict(query(database, "SELECT outcome, count(*) FROM trial WHERE kind = 'kernel' GROUP BY outcome"))


def ran(found):
    """How many configurations ran; those dropped as clearly slower than the leader did."""
    return found.get("ok", 0) + found.get("screened_out", 0)


def all_ran(found):
    return ran(found) == sum(found.values()) > 0


def expect_all_ok(bench, name, config, *arguments):
    code, wall, text, database = bench.sweep(name, config, *arguments)
    found = outcomes(database)
    total = sum(found.values())
    verdict(code == 0 and all_ran(found),
            f"{name}: {ran(found)} of {total} configurations verified ({found.get('screened_out', 0)} then dropped as slow), "
            f"{wall:.1f} s")
    if not all_ran(found):
        for row in query(database, "SELECT outcome, template, problem, parameters, substr(reason, 1, 300) FROM trial "
                                   "WHERE kind = 'kernel' AND outcome NOT IN ('ok', 'screened_out') LIMIT 5"):
            print("    ", *row)
    return wall, text, database


UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}


def seconds_after(text, word):
    """The time behind a word in a sweep's summary: 'compiling 7 min 56 s of CPU time' is 476."""
    found = re.search(rf"{word} ((?:[0-9.]+ (?:ms|s|min|h) ?)+)", text)
    parts = re.findall(r"([0-9.]+) (ms|s|min|h)", found.group(1)) if found else []
    return sum(float(number) * UNITS[unit] for number, unit in parts)
