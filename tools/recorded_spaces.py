"""Recorded search spaces, read by tiletune, for tools/score_strategies."""

import json
import math
import pathlib
import sqlite3
import subprocess

from strategy_scores import RecordedSpace, Run

HOME = pathlib.Path(__file__).resolve().parent.parent
ROLES = ("development", "held-out")
KEYS = {"name", "config", "recording", "role", "source", "licence", "values", "problem", "gpu", "arguments"}


class SpaceError(Exception):
    """Something that the user can correct."""


def listed_spaces(file):
    """The entries of a list of spaces; their paths are relative to the checkout."""
    try:
        entries = json.loads(pathlib.Path(file).read_text())["spaces"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpaceError(f"{file}: not a list of spaces: {error!r}") from None
    for number, entry in enumerate(entries):
        place = f"{file}: /spaces/{number}"
        missing = {"name", "config", "recording", "role"} - set(entry)
        if missing or set(entry) - KEYS:
            raise SpaceError(f"{place}: missing {sorted(missing)}, unknown {sorted(set(entry) - KEYS)}")
        if entry["role"] not in ROLES:
            raise SpaceError(f"{place}/role: found '{entry['role']}', expected one of {', '.join(ROLES)}")
    names = [entry["name"] for entry in entries]
    if len(set(names)) < len(names):
        raise SpaceError(f"{file}: two spaces have the same name")
    return entries


def chosen_spaces(entries, words):
    """Those that are named, or all; CONFIG,RECORDING is a space that no list holds."""
    if not words:
        return entries
    by_name = {entry["name"]: entry for entry in entries}
    chosen = []
    for word in words:
        if "," in word:
            config, recording = word.split(",", maxsplit=1)
            chosen.append({"name": pathlib.Path(recording).name.split(".")[0], "config": str(pathlib.Path(config).absolute()),
                           "recording": str(pathlib.Path(recording).absolute()), "role": "held-out"})
        elif word in by_name:
            chosen.append(by_name[word])
        else:
            raise SpaceError(f"no space '{word}'; expected CONFIG,RECORDING or one of {', '.join(by_name)}")
    names = [entry["name"] for entry in chosen]
    if len(set(names)) < len(names):
        raise SpaceError(f"two of the spaces {', '.join(names)} have the same name; list them in a file (--list)")
    return chosen


def restricted(config, values, folder):
    """A copy of a T1 tuning problem with fewer values of some parameters."""
    problem = json.loads(config.read_text())
    try:
        parameters = {one["Name"]: one for one in problem["ConfigurationSpace"]["TuningParameters"]}
        for name, kept in values.items():
            parameters[name]["Values"] = json.dumps(kept)
            parameters[name]["Default"] = kept[0]
    except (KeyError, TypeError):
        raise SpaceError(f"{config}: 'values' needs a T1 tuning problem that has the parameters {', '.join(values)}") from None
    file = folder / "config.json"
    file.write_text(json.dumps(problem, indent=1))
    return file


class Space:
    """A recording, as far as the config's space contains it. `folder` is for files of its own."""

    def __init__(self, entry, tiletune, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.role, self.folder, self.tiletune = entry["name"], entry["role"], folder, tiletune
        config = HOME / entry["config"]
        if "values" in entry:
            config = restricted(config, entry["values"], folder)
        self.command = [str(tiletune), "sweep", str(config), "--replay", str(HOME / entry["recording"]), "--quiet",
                        "--format", "json", *entry.get("arguments", [])]
        for option in ("problem", "gpu"):
            if option in entry:
                self.command += [f"--{option}", entry[option]]
        self._read()

    def _replay(self, *arguments):
        run = subprocess.run([*self.command, *arguments], cwd=HOME, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SpaceError(f"{self.name}: {' '.join([*self.command, *arguments])}\n{run.stderr.strip()}")
        problems = json.loads(run.stdout)["problems"]
        if len(problems) != 1:
            raise SpaceError(f"{self.name}: {len(problems)} problems; name one of them in 'problem': "
                             f"{', '.join(problem['problem'] for problem in problems)}")
        return problems[0]

    def _read(self):
        """The rows of an exhaustive replay: what tiletune itself counts of each configuration."""
        database = self.folder / "rows.db"
        database.unlink(missing_ok=True)
        replay = self._replay("--strategy", "exhaustive", "--db", str(database))
        connection = sqlite3.connect(database)
        rows = connection.execute("SELECT template, parameters, outcome, median_us, compile_ms, measure_ms FROM trial "
                                  "WHERE kind = 'kernel' ORDER BY id").fetchall()
        connection.close()
        if replay["not_recorded"] > 0:
            raise SpaceError(f"{self.name}: the recording lacks {replay['not_recorded']} of the {replay['evaluations']} "
                             "configurations of the config's space; record them, or restrict the config")
        self.templates = sorted({row[0] for row in rows})
        self.configurations = [(row[0], json.loads(row[1])) for row in rows]
        self.outcomes = [row[2] for row in rows]
        # What was screened out did run, and its few samples say how long it takes.
        times = [row[3] if row[2] in ("ok", "screened_out") and row[3] else math.nan for row in rows]
        costs = [((row[4] or 0) + (row[5] or 0)) / 1e3 for row in rows]
        self._add_deadlines(rows, costs, replay["simulated_s"])
        if len(rows) != replay["evaluations"] or not math.isclose(sum(costs), replay["simulated_s"], rel_tol=1e-6):
            raise SpaceError(f"{self.name}: read {len(rows)} configurations and {sum(costs)} s, but the replay counts "
                             f"{replay['evaluations']} and {replay['simulated_s']} s")
        try:
            self.recorded = RecordedSpace(times, costs)
        except ValueError as error:
            raise SpaceError(f"{self.name}: {error}") from None
        if not math.isclose(self.recorded.best_us, replay["best_found_us"], rel_tol=1e-9):
            raise SpaceError(f"{self.name}: the fastest takes {self.recorded.best_us} us, the replay's {replay['best_found_us']}")

    @staticmethod
    def _add_deadlines(rows, costs, simulated_s):
        """A compiler that was stopped at its deadline costs that long, which its row does not say."""
        stopped = [number for number, row in enumerate(rows) if row[2] == "compile_timeout" and row[4] is None]
        missing_s = simulated_s - sum(costs)
        for number in stopped:
            costs[number] += missing_s / len(stopped)

    def replays(self, strategy, seeds, budget):
        """Runs of one of tiletune's strategies, with the seeds 1, 2, ...; one of a strategy that has no seed."""
        common = ["--strategy", strategy, "--budget", str(budget)]
        if seeds > 1:
            try:
                return [_run(one) for one in self._replay(*common, "--seed", "1", "--repeat", str(seeds))["runs"]]
            except SpaceError as error:
                if "is the same every time" not in str(error):
                    raise
        return [_run(self._replay(*common))]

    def kernel_tuner_cache(self):
        """The space as Kernel Tuner's cache; several templates are one space with a parameter `template`.

        Values that are not numbers are replaced by their number in order, and parameters that a template lacks by -1:
        strategies of Kernel Tuner calculate with values.
        """
        names = []
        for _, parameters in self.configurations:
            names += [name for name in parameters if name not in names]
        rows = []
        for template, parameters in self.configurations:
            row = {name: parameters.get(name) for name in names}
            if len(self.templates) > 1:
                row = {"template": template, **row}
            rows.append(row)
        if rows and len(self.templates) > 1:
            names = ["template", *names]
        values = {name: _ordered({json.dumps(row[name]) for row in rows}) for name in names}
        codes = {name: _codes(written) for name, written in values.items()}
        cache = {}
        for number, row in enumerate(rows):
            coded = {name: codes[name][json.dumps(row[name])] for name in names}
            time_us, cost_s = self.recorded.times_us[number], self.recorded.costs_s[number]
            entry = {**coded, "compile_time": 1e3 * cost_s, "verification_time": 0, "benchmark_time": 0}
            if math.isnan(time_us):
                entry["__error__"] = "CompilationFailedConfig" if self.outcomes[number].startswith("compile") else "RuntimeFailedConfig"
            else:
                entry.update(time=time_us / 1e3, time_us=time_us)
            cache[",".join(str(value) for value in coded.values())] = entry
        if len(cache) != len(rows):
            raise SpaceError(f"{self.name}: {len(rows)} configurations give {len(cache)} keys of Kernel Tuner")
        return {"device_name": "recorded", "kernel_name": self.templates[0], "problem_size": [1], "tune_params_keys": names,
                "tune_params": {name: list(codes[name].values()) for name in names}, "objective": "time", "cache": cache}


def _run(document):
    steps = [(step["evaluation"], step["simulated_s"], step["best_us"]) for step in document["curve"]]
    return Run(steps, document["evaluations"], document["simulated_s"])


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(written):
    """Distinct JSON values: absent ones, truth values, numbers by size, then texts."""
    def place(text):
        value = json.loads(text)
        if value is None:
            return (0, 0, "")
        return (1, value, "") if isinstance(value, (bool, int, float)) else (2, 0, text)
    return sorted(written, key=place)


def _codes(written):
    values = [json.loads(text) for text in written]
    if all(_is_number(value) for value in values):
        return dict(zip(written, values))
    if values[0] is None and all(_is_number(value) and value > -1 for value in values[1:]):
        return dict(zip(written, [-1, *values[1:]]))
    return {text: number for number, text in enumerate(written)}
