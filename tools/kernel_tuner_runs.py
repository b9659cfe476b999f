"""Runs strategies of Kernel Tuner 1.5 in simulation mode; started by tools/score_strategies in its own environment.

    kernel_tuner_runs.py TASKS.json

Prints a JSON line for each run. The caches hold what tiletune read from the recordings.
"""

import concurrent.futures
import contextlib
import io
import json
import os
import random
import signal
import sys
import warnings

# One process per job: threads of the linear algebra only get in each other's way.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy  # noqa: E402
from kernel_tuner import core, interface, util  # noqa: E402
from kernel_tuner.runners.simulation import SimulationRunner  # noqa: E402
from kernel_tuner.searchspace import Searchspace  # noqa: E402

MAX_THREADS = 1_000_000_000


class OutOfTime(BaseException):
    """A run took too long; not an Exception, which strategies may catch."""


class Space:
    """A cache file, read once for all runs."""

    def __init__(self, file, budget, cutoff_s, least):
        with open(file) as stream:
            self.cache = json.load(stream)
        self.budget, self.cutoff_s, self.least = budget, cutoff_s, least
        for row in self.cache["cache"].values():
            if "__error__" in row:
                row["__error__"] = row["time"] = ERRORS[row["__error__"]]()
        names = self.cache["tune_params_keys"]
        self.configurations = {tuple(row[name] for name in names) for row in self.cache["cache"].values()}
        self.best_us = min(row["time_us"] for row in self.cache["cache"].values() if "time_us" in row)
        self.space = Searchspace(None, None, None, from_cache=self.cache)
        self.space.max_threads = MAX_THREADS

    def is_recorded(self, parameters):
        return tuple(parameters.values()) in self.configurations


ERRORS = {"InvalidConfig": util.InvalidConfig, "CompilationFailedConfig": util.CompilationFailedConfig,
          "RuntimeFailedConfig": util.RuntimeFailedConfig}


class CountingRunner(SimulationRunner):
    """Counts configurations as they are evaluated for the first time, and ends a run whose score can no longer change.

    Strategies cannot see the end before it comes: the budget that they are told is `Space.budget`.
    """

    def __init__(self, space, *arguments):
        super().__init__(*arguments)
        self.of = space
        self.evaluations = 0
        self.seconds = 0.0
        self.steps = []

    def run(self, parameter_space, tuning_options):
        results = []
        for element in parameter_space:
            key = ",".join(str(value) for value in element)
            is_new = key not in self.visited_results
            results += super().run([element], tuning_options)
            if is_new and key in self.visited_results:
                self.count(self.of.cache["cache"][key], tuning_options.budget)
        return results

    def count(self, row, budget):
        self.evaluations += 1
        self.seconds += (row["compile_time"] + row["verification_time"] + row["benchmark_time"]) / 1e3
        if "__error__" not in row and (not self.steps or row["time_us"] < self.steps[-1][2]):
            self.steps.append((self.evaluations, self.seconds, row["time_us"]))
        found_best = self.steps and self.steps[-1][2] <= self.of.best_us
        if found_best or (self.seconds >= self.of.cutoff_s and self.evaluations >= self.of.least):
            budget.max_fevals = budget.num_fevals


def run_once(space, strategy, seed, limit_s):
    random.seed(seed)
    numpy.random.seed(seed)
    source = core.KernelSource("kernel", "", "CUDA")
    kernel_options = interface.Options(kernel_name="kernel")
    device_options = interface.Options(quiet=True)
    runner = CountingRunner(space, source, kernel_options, device_options, 1, None)
    # It refuses to be told a budget, which ends it all the same.
    told = {} if strategy == "brute_force" else {"max_fevals": space.budget}
    options = interface.Options(
        strategy=strategy, strategy_options=interface.Options(told), max_fevals=space.budget,
        tune_params=space.cache["tune_params"], restrictions=space.is_recorded, restrictions_unmodified=[], verbose=False,
        objective=["time"], objective_higher_is_better=[False], metrics=None, cache=space.cache["cache"], cachefile=None,
        simulated_time=0, seed=seed, budget=util.TuningBudget(None, space.budget))
    ended = "strategy"
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        interface.strategy_map[strategy].tune(space.space, runner, options)
    except util.StopCriterionReached:
        pass
    except OutOfTime:
        ended = "limit"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"steps": runner.steps, "evaluations": runner.evaluations, "seconds": runner.seconds, "ended": ended}


def out_of_time(_signal, _frame):
    raise OutOfTime


SPACES = {}


def run_task(task):
    """(space, strategy, seeds) of one process, with what became of each seed."""
    signal.signal(signal.SIGALRM, out_of_time)
    warnings.simplefilter("ignore")
    described = task["space"]
    if described["file"] not in SPACES:
        SPACES[described["file"]] = Space(described["file"], described["budget"], described["cutoff_s"], described["least"])
    lines = []
    for seed in task["seeds"]:
        line = {"space": described["name"], "strategy": task["strategy"], "seed": seed}
        if task["strategy"] == "pyatf_strategies":
            line["unavailable"] = "it needs the constraints as expressions, which a recording does not have"
            lines.append(line)
            break
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                line.update(run_once(SPACES[described["file"]], task["strategy"], seed, task["limit_s"]))
        except ImportError as error:
            line["unavailable"] = str(error).splitlines()[0]
        except Exception as error:  # pylint: disable=broad-except  # a strategy of others, on a space that it may not take
            line["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        lines.append(line)
        if "unavailable" in line or "failed" in line:
            break
    return lines


def main():
    with open(sys.argv[1]) as stream:
        request = json.load(stream)
    if request.get("list"):
        print(json.dumps(list(interface.strategy_map)))
        return 0
    with concurrent.futures.ProcessPoolExecutor(request["jobs"]) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_task, task) for task in request["tasks"]]):
            for line in done.result():
                print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
