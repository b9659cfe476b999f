"""The scores of tools/score_strategies: closed forms against simulations, and curves whose scores are known."""
import importlib.machinery
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

from fixture import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import recorded_spaces  # noqa: E402
import strategy_scores  # noqa: E402
from strategy_scores import RecordedSpace, Run  # noqa: E402

TOOL = ROOT / "tools/score_strategies"
HUB = "tests/data/benchmark_hub"


def loaded_tool():
    loader = importlib.machinery.SourceFileLoader("score_strategies", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("score_strategies", loader))
    loader.exec_module(module)
    return module


def space_of(valid, invalid=0, seed=1, costs=None):
    """Times as kernels have them: few fast ones, many slow ones."""
    generator = numpy.random.default_rng(seed)
    times = numpy.concatenate([100 * (1 + generator.weibull(2, valid)), numpy.full(invalid, math.nan)])
    generator.shuffle(times)
    return RecordedSpace(times, generator.gamma(3, 0.5, valid + invalid) if costs is None else costs)


def random_runs(space, count, seed):
    generator = numpy.random.default_rng(seed)
    return [strategy_scores.run_from_order(space, generator.permutation(space.size)) for _ in range(count)]


class BaselineTest(unittest.TestCase):
    def test_equals_all_orders_of_a_small_space(self):
        space = RecordedSpace([3, math.nan, 1, 2, math.nan], [1] * 5)
        orders = list(itertools.permutations(range(5)))
        for drawn in range(6):
            ranks = []
            for order in orders:
                found = [space.times_us[number] for number in order[:drawn] if not math.isnan(space.times_us[number])]
                ranks.append(min(found) - 1 if found else 2)
            self.assertAlmostEqual(space.random_rank[drawn], sum(ranks) / len(ranks), places=12, msg=f"{drawn} evaluations")

    def test_equals_simulated_search_where_half_fails(self):
        space = space_of(150, 150)
        axis = numpy.array([1, 2, 3, 5, 10, 50, 200])
        ranks = strategy_scores.ranks_at(space, random_runs(space, 4000, seed=2), axis, 0)
        error = ranks.std(axis=0) / math.sqrt(len(ranks))
        for mean, expected, bound in zip(ranks.mean(axis=0), space.random_rank[axis], 4 * error):
            self.assertLess(abs(mean - expected), bound + 1e-9)

    def test_over_time_counts_completed_evaluations(self):
        space = space_of(500, 100)
        axis = numpy.array([10, 30, 100]) * space.mean_cost_s
        ranks = strategy_scores.ranks_at(space, random_runs(space, 4000, seed=3), axis, 1)
        simulated = space.time_at(ranks.mean(axis=0))
        for found, expected in zip(simulated - space.best_us, space.baseline_over_time(axis) - space.best_us):
            self.assertAlmostEqual(found / expected, 1, delta=0.05)

    def test_cutoff_is_where_the_baseline_arrives(self):
        space = space_of(2000)
        for part in (0.5, 0.95):
            target = space.best_us + (numpy.median(space.sorted_us) - space.best_us) * (1 - part)
            evaluations = space.cutoff_evaluations(part)
            self.assertLess(space.baseline_over_evaluations(1.3 * evaluations + 1), target)
            self.assertGreater(space.baseline_over_evaluations(0.7 * evaluations - 1), target)


class ScoreTest(unittest.TestCase):
    def test_random_search_scores_zero_within_its_spread(self):
        for seed, invalid in ((1, 0), (2, 300)):
            space = space_of(1500, invalid, seed)
            runs = random_runs(space, 300, seed)
            for score in (strategy_scores.score_over_time(space, runs), strategy_scores.score_over_evaluations(space, runs)):
                low, high = score.interval()
                self.assertLess(low, 0.02)
                self.assertGreater(high, -0.02)
                self.assertLess(high - low, 0.15)

    def test_the_optimum_at_once_scores_one(self):
        space = space_of(1000)
        first = Run([(1, 1e-9, space.best_us)], 1, 1e-9)
        self.assertAlmostEqual(strategy_scores.score_over_time(space, [first]).value, 1)
        self.assertAlmostEqual(strategy_scores.score_over_evaluations(space, [first]).value, 1)

    def test_a_run_that_ended_keeps_what_it_found(self):
        space = space_of(1000)
        axis = space.evaluation_range()
        kept = float(space.sorted_us[3])
        score = strategy_scores.score_over_evaluations(space, [Run([(1, 0.1, kept)], 1, 0.1)])
        baseline = space.baseline_over_evaluations(axis)
        self.assertAlmostEqual(score.value, float(((baseline - kept) / (baseline - space.best_us)).mean()))

    def test_halfway_between_the_baseline_and_the_optimum_scores_half(self):
        space = space_of(1000)
        steps = [(int(evaluation), float(evaluation), float((space.baseline_over_evaluations(evaluation) + space.best_us) / 2))
                 for evaluation in space.evaluation_range()]
        ranks = numpy.interp([time_us for _, _, time_us in steps], space.sorted_us, numpy.arange(space.valid))[None, :]
        generator = numpy.random.default_rng(1)
        score = strategy_scores._score(space, ranks, space.baseline_over_evaluations(space.evaluation_range()), 10, generator)
        self.assertAlmostEqual(score.value, 0.5)

    def test_nothing_found_is_worse_than_random(self):
        space = space_of(1000, 100)
        nothing = Run([], 1000, 1e6)
        self.assertLess(strategy_scores.score_over_time(space, [nothing]).value, -1)
        self.assertEqual(strategy_scores.fractions_of_best(space, [nothing], (25, 400)), [0, 0])

    def test_slower_finds_score_less(self):
        space = space_of(1000)
        scores = [strategy_scores.score_over_time(space, [Run([(1, seconds, space.best_us)], 1, seconds)]).value
                  for seconds in space.time_range()[[0, 300, 600, 900]]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(len(set(scores)), 4)

    def test_fractions_are_means_over_seeds(self):
        space = RecordedSpace([100, 200, 400, 500], [1] * 4)
        runs = [Run([(1, 1, 400), (3, 3, 100)], 4, 4), Run([(2, 2, 200)], 4, 4)]
        self.assertEqual(strategy_scores.fractions_of_best(space, runs, (1, 2, 3)), [0.125, 0.375, 0.75])

    def test_intervals_shrink_with_seeds(self):
        space = space_of(1500)
        widths = []
        for count in (20, 320):
            low, high = strategy_scores.score_over_time(space, random_runs(space, count, seed=5)).interval()
            widths.append(high - low)
        self.assertAlmostEqual(widths[0] / widths[1], 4, delta=1.6)

    def test_the_mean_over_spaces_has_the_spread_of_all(self):
        spread = numpy.array([0.1, 0.3])
        mean = strategy_scores.mean_score([strategy_scores.Score(0.2, spread), strategy_scores.Score(1.0, numpy.array([]))])
        self.assertAlmostEqual(mean.value, 0.6)
        self.assertEqual(list(mean.resampled), [0.55, 0.65])

    def test_a_recording_without_costs_is_refused(self):
        with self.assertRaises(ValueError):
            RecordedSpace([1, 2], [0, 0])
        with self.assertRaises(ValueError):
            RecordedSpace([math.nan], [1])


class SpaceTest(unittest.TestCase):
    def setUp(self):
        if not (BUILD / "tiletune").exists():
            self.skipTest("tiletune is not built")
        folder = tempfile.TemporaryDirectory(prefix="tiletune_scores_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, **entry):
        described = {"name": "one", "role": "held-out", "config": f"{HUB}/T1_convolution_milo.json", "recording": f"{HUB}/A100.json.gz"}
        return recorded_spaces.Space({**described, **entry}, BUILD / "tiletune", self.folder)

    def test_reads_what_the_replay_counts(self):
        space = self.read()
        self.assertEqual((space.recorded.size, space.recorded.valid), (4362, 4201))
        self.assertAlmostEqual(space.recorded.best_us, 549.888, places=3)
        runs = space.replays("random", 3, 50)
        self.assertEqual([run.evaluations for run in runs], [50] * 3)
        costs = set(numpy.round(space.recorded.costs_s, 9))
        for run in runs:
            self.assertEqual(run.steps[0][2] in space.recorded.times_us, True)
            if run.steps[0][0] == 1:
                self.assertIn(round(run.steps[0][1], 9), costs)
        self.assertEqual(len(space.replays("exhaustive", 3, 50)), 1)

    def test_tiletunes_random_search_scores_zero(self):
        space = self.read()
        runs = space.replays("random", 100, space.recorded.budget(400))
        low, high = strategy_scores.score_over_time(space.recorded, runs).interval()
        self.assertLess(low, 0.03)
        self.assertGreater(high, -0.03)

    def test_kernel_tuners_cache_holds_the_same(self):
        space = self.read()
        document = space.kernel_tuner_cache()
        self.assertEqual(len(document["cache"]), 4362)
        self.assertEqual(document["tune_params"]["block_size_y"], [1, 2, 4, 8, 16])
        rows = document["cache"].values()
        self.assertEqual(sum("__error__" in row for row in rows), 161)
        self.assertAlmostEqual(min(row["time"] for row in rows if "time" in row), 0.549888, places=6)
        self.assertAlmostEqual(sum(row["compile_time"] for row in rows) / 1e3, float(space.recorded.costs_s.sum()), places=3)

    def test_several_templates_are_one_space_with_a_parameter(self):
        space = self.read(config="configs/quick.json", recording="results/h200/quick.db", arguments=["--cache", "dirty"])
        document = space.kernel_tuner_cache()
        self.assertEqual(document["tune_params_keys"][0], "template")
        self.assertEqual(document["tune_params"]["template"], [0, 1, 2, 3])
        self.assertEqual(len(document["cache"]), 23)
        self.assertIn(-1, document["tune_params"]["TM"], "sgemm_coalesced has no TM")

    def test_a_space_that_is_not_recorded_is_refused(self):
        small = json.loads((ROOT / HUB / "T1_convolution_milo.json").read_text())
        small["ConfigurationSpace"]["TuningParameters"][0]["Values"] = "[16, 20]"
        config = self.folder / "other.json"
        config.write_text(json.dumps(small))
        with self.assertRaisesRegex(recorded_spaces.SpaceError, "lacks"):
            self.read(config=str(config))

    def test_values_restrict_a_tuning_problem(self):
        space = self.read(recording=f"{HUB}/A6000_original.json.gz", values={"use_shmem": [1]})
        self.assertEqual((space.recorded.size, space.recorded.valid), (2442, 2266))
        with self.assertRaises(recorded_spaces.SpaceError):
            self.read(values={"no_such": [1]})

    def test_prints_scores_in_three_formats(self):
        def printed(*arguments):
            command = [sys.executable, str(TOOL), "convolution_A4000", "--tiletune", str(BUILD / "tiletune"), "--out", str(self.folder),
                       "--kernel-tuner", "none", "--strategies", "random", "--seeds", "20", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
        text = printed()
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("hyper-parameters were chosen on: none of these spaces", text.stdout)
        document = json.loads(printed("--format", "json").stdout)
        score = document["spaces"][0]["strategies"][0]
        self.assertEqual((score["tool"], score["strategy"], score["runs"]), ("tiletune", "random", 20))
        self.assertEqual(len(printed("--format", "csv").stdout.splitlines()), 2)
        wrong = printed("--strategies", "no_such")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("no_such", wrong.stderr)


class KernelTunerTest(unittest.TestCase):
    """Needs the environment that the tool installs."""

    def setUp(self):
        self.python = ROOT / "build/score_strategies/venv/bin/python"
        if not self.python.exists():
            self.skipTest("Kernel Tuner is not installed in build/score_strategies")
        folder = tempfile.TemporaryDirectory(prefix="tiletune_scores_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def runs(self, strategy, seeds, budget, cutoff_s):
        """Of a space whose last configuration is the fastest; every fifth fails."""
        values, cache = {"a": list(range(20)), "b": [1, 2, 4, 8, 16]}, {}
        for a, b in itertools.product(*values.values()):
            row = {"a": a, "b": b, "compile_time": 100 + a, "verification_time": 0, "benchmark_time": b}
            if b == 4:
                row["__error__"] = "RuntimeFailedConfig"
            else:
                row.update(time=100 - a - b / 100, time_us=1e5 - 1000 * a - 10 * b)
            cache[f"{a},{b}"] = row
        file = self.folder / "cache.json"
        file.write_text(json.dumps({"device_name": "", "kernel_name": "k", "problem_size": [1], "tune_params_keys": list(values),
                                    "tune_params": values, "objective": "time", "cache": cache}))
        space = {"name": "one", "file": str(file), "budget": budget, "cutoff_s": cutoff_s, "least": 10}
        request = {"jobs": 1, "tasks": [{"space": space, "strategy": strategy, "seeds": seeds, "limit_s": 60}]}
        (self.folder / "request.json").write_text(json.dumps(request))
        run = subprocess.run([str(self.python), str(ROOT / "tools/kernel_tuner_runs.py"), str(self.folder / "request.json")],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        space = RecordedSpace([row.get("time_us", math.nan) for row in cache.values()],
                              [(row["compile_time"] + row["benchmark_time"]) / 1e3 for row in cache.values()])
        return space, [json.loads(line) for line in run.stdout.splitlines()]

    def test_counts_every_configuration_and_its_cost_once(self):
        space, (run,) = self.runs("brute_force", [1], 100, 1e6)
        self.assertEqual(run["evaluations"], 100)
        self.assertAlmostEqual(run["seconds"], float(space.costs_s.sum()))
        self.assertEqual(run["steps"][-1][::2], [100, space.best_us])
        self.assertEqual(run["steps"][0], [1, 0.101, 99990.0])

    def test_ends_beyond_the_range_and_at_the_budget(self):
        _, (run,) = self.runs("brute_force", [1], 100, 2.0)
        self.assertGreaterEqual(run["seconds"], 2.0)
        self.assertLess(run["seconds"], 2.2)
        _, (run,) = self.runs("brute_force", [1], 30, 1e6)
        self.assertEqual(run["evaluations"], 30)

    def test_its_random_search_scores_zero(self):
        space, runs = self.runs("random_sample", list(range(1, 101)), 100, 1e6)
        runs = [Run(run["steps"], run["evaluations"], run["seconds"]) for run in runs]
        low, high = strategy_scores.score_over_time(space, runs).interval()
        self.assertLess(low, 0.03)
        self.assertGreater(high, -0.03)
        self.assertLess(high - low, 0.4)


class MeansTest(unittest.TestCase):
    def test_means_are_of_strategies_that_ran_everywhere(self):
        tool = loaded_tool()

        def result(name, strategy, value):
            score = strategy_scores.Score(value, numpy.array([value - 0.1, value + 0.1]))
            return tool.Result(name, strategy, 2, score, score, [0.5] * 5)
        tables = [[result("tiletune", "a", 0.5), result("Kernel Tuner", "b", 0.2), result("Kernel Tuner", "c", 0.9)],
                  [result("tiletune", "a", 0.7), result("Kernel Tuner", "b", 0.4)]]
        means = tool.means_of(tables)
        self.assertEqual([(one.strategy, round(one.time.value, 9)) for one in means], [("a", 0.6), ("b", 0.3)])
        ours, theirs, score = tool.lead(means)
        self.assertEqual((ours, theirs, round(score.value, 9)), ("a", "b", 0.3))

    def test_lists_of_spaces_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "spaces.json"
            good = {"name": "a", "config": "c", "recording": "r", "role": "held-out"}
            for entries in ([{"name": "a"}], [{**good, "role": "other"}], [{**good, "extra": 1}], [good, good]):
                file.write_text(json.dumps({"spaces": entries}))
                with self.assertRaises(recorded_spaces.SpaceError):
                    recorded_spaces.listed_spaces(file)
        listed = recorded_spaces.listed_spaces(ROOT / "tools/score_spaces.json")
        self.assertEqual([entry["name"] for entry in recorded_spaces.chosen_spaces(listed, ["convolution_A100"])], ["convolution_A100"])
        with self.assertRaises(recorded_spaces.SpaceError):
            recorded_spaces.chosen_spaces(listed, ["no_such"])
        with self.assertRaises(recorded_spaces.SpaceError):
            recorded_spaces.chosen_spaces(listed, ["a.json,r/one.db", "b.json,s/one.db"])


if __name__ == "__main__":
    unittest.main()
