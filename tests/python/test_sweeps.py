import contextlib
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import warnings

import fixture
import numpy

import kernel_tuner
from kernel_tuner.file_utils import store_metadata_file, store_output_file
from kernel_tuner.util import CompilationFailedConfig, ErrorConfig, RuntimeFailedConfig, get_config_string

SOURCE = """
#ifdef FAIL
#error "on purpose"
#endif
__global__ void scale(float *y, const float *x, float f, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  if (i < n) y[i] = f * x[i];
}
"""


class Sweeps(fixture.SandboxTest):
    def tune(self, source=SOURCE, tune_params=None, problem_size=100, quiet=True, **options):
        n = 100
        arguments = [numpy.zeros(n, numpy.float32), numpy.ones(n, numpy.float32), numpy.float32(2), numpy.int32(n)]
        return kernel_tuner.tune_kernel("scale", source, problem_size, arguments,
                                        tune_params or {"block_size_x": [32, 64, 128]}, quiet=quiet, **options)

    def test_results_have_the_originals_form(self):
        results, env = self.tune(metrics={"double": "2 * time", "four": lambda p: 2 * p["double"]}, restrictions=["block_size_x > 32"])
        self.assertEqual(sorted(r["block_size_x"] for r in results), [64, 128])
        for result in results:
            self.assertAlmostEqual(result["four"], 4 * result["time"])
            self.assertAlmostEqual(result["time"], numpy.median(result["times"]), delta=0.02 * result["time"])
            for key in ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time", "timestamp"):
                self.assertIn(key, result)
        self.assertEqual(env["best_config"]["time"], min(r["time"] for r in results))
        self.assertEqual(env["device_name"], "Fake H200")
        json.dumps((results, env))

    def test_the_objective_decides_which_is_best(self):
        results, env = self.tune(objective="rate", objective_higher_is_better=True, metrics={"rate": "block_size_x"})
        self.assertEqual(env["best_config"]["block_size_x"], 128)
        with self.assertRaisesRegex(ValueError, "objective_higher_is_better"):
            self.tune(objective="rate", metrics={"rate": "block_size_x"})

    def test_failures_are_marked_and_warned_of(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results, env = self.tune(tune_params={"block_size_x": [32, 64], "FAIL": [1]})
        self.assertEqual([type(r["__error__"]) for r in results], [CompilationFailedConfig] * 2)
        self.assertNotIn("time", results[0])
        self.assertNotIn("best_config", env)
        self.assertTrue(any("on purpose" in str(w.message) for w in caught), [str(w.message) for w in caught])

    def test_a_sweep_of_which_all_is_refused_says_why(self):
        with self.assertWarnsRegex(UserWarning, "refused: all 2 .*1000000"):
            self.tune(tune_params={"block_size_x": [32, 64]}, smem_args={"size": 1000000})

    def test_overlapping_arrays_are_warned_of(self):
        memory = numpy.zeros(200, numpy.float32)

        def warned(y, x):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kernel_tuner.tune_kernel("scale", SOURCE, 100, [y, x, numpy.float32(2), numpy.int32(100)],
                                         {"block_size_x": [32]}, quiet=True)
            return [str(w.message) for w in caught if "overlap" in str(w.message)]
        self.assertRegex(warned(memory[:100], memory[50:150])[0], "positions 0 and 1")
        self.assertEqual(warned(memory[:100], memory[100:]), [])

    def test_budgets(self):
        self.assertEqual(len(self.tune(strategy_options={"max_fevals": 2})[0]), 2)
        self.assertEqual(len(self.tune(strategy="random_sample", strategy_options={"fraction": 0.3})[0]), 1)
        self.assertEqual(len(self.tune(strategy="mls", strategy_options={"max_fevals": 2})[0]), 2)
        for strategy in ("genetic_algorithm", "firefly_algorithm"):
            with self.assertWarnsRegex(UserWarning, f"{strategy}.*surrogate"):
                self.assertEqual(len(self.tune(strategy=strategy, strategy_options={"max_fevals": 2})[0]), 2)
        with self.assertRaisesRegex(ValueError, "'brute'"):
            self.tune(strategy="brute")

    def test_mistakes_are_found_before_the_sweep(self):
        for what, cache in (("is not a cache file", "[]"), ("is not a cache file", "{"), ("kernel_name", '{"cache": {}}')):
            pathlib.Path("broken.json").write_text(cache)
            with self.assertRaisesRegex(ValueError, what):
                self.tune(cache="broken.json")
        with self.assertRaisesRegex(ValueError, "metrics"):
            self.tune(metrics={"g": "zz"})
        with self.assertRaisesRegex(TypeError, "verify"):
            self.tune(verify=5)
        self.assertFalse(pathlib.Path("broken.db").exists())

    def test_a_function_verifies_outputs(self):
        seen = []

        def verify(answer, result, atol):
            seen.append((answer, result, atol))
            return len(seen) > 1

        answer = [numpy.full(100, 2, numpy.float32), None, None, None]
        with self.assertWarnsRegex(UserWarning, "wrong_result: 1 of 3"):
            results, _ = self.tune(verify=verify, answer=answer, atol=0.5)
        self.assertEqual([r.get("__error__") for r in results], [RuntimeFailedConfig(), None, None])
        self.assertEqual(seen[0][2], 0.5)
        self.assertEqual(seen[0][1][0].shape, (100,))
        self.assertTrue((seen[0][1][1] == 1).all(), "inputs are passed as they were")
        self.assertEqual(seen[0][1][2:], [None, None])

    def test_a_cache_is_continued_and_simulated(self):
        # With another objective than the time there are no finals, which measure rows again.
        objective = {"metrics": {"g": "2 * time"}, "objective": "g", "objective_higher_is_better": False}
        first, env = self.tune(cache="kept", strategy_options={"max_fevals": 2}, **objective)
        self.assertEqual(env["database"], str(self.folder / "kept.db"))
        results, _ = self.tune(cache="kept.json", **objective)
        self.assertEqual(len(results), 3)
        with contextlib.closing(sqlite3.connect(env["database"])) as database:
            sweeps = database.execute("SELECT sweep_id, count(*) FROM trial WHERE kind = 'kernel' GROUP BY sweep_id").fetchall()
        self.assertEqual(sweeps, [(1, len(first)), (2, 1)], "measured once")
        cache = json.loads(pathlib.Path("kept.json").read_text())
        self.assertEqual(sorted(cache["cache"]), ["128", "32", "64"])
        simulated, env = self.tune(cache="kept", simulation_mode=True, metrics={"double": "2 * time"})
        self.assertEqual({r["block_size_x"]: r["time"] for r in simulated}, {r["block_size_x"]: r["time"] for r in results})
        self.assertEqual(simulated[0]["double"], 2 * simulated[0]["time"])
        self.assertTrue(env["simulation"])
        with self.assertRaisesRegex(ValueError, "simulation_mode needs cache"):
            self.tune(cache="absent", simulation_mode=True)
        with self.assertRaisesRegex(ValueError, "tune_params_keys"):
            self.tune(cache="kept", tune_params={"block_size_x": [32], "more": [1]})

    def test_a_cache_of_another_problem_is_refused_before_anything_runs(self):
        self.tune(cache="kept", strategy_options={"max_fevals": 1})
        before = pathlib.Path("kept.json").read_bytes(), pathlib.Path("kept.db").stat().st_mtime_ns
        for size in (101, (100, 2), "100"):
            for mode in (False, True):
                with self.assertRaisesRegex(ValueError, "kept.json has problem_size 100"):
                    self.tune(cache="kept", problem_size=size, simulation_mode=mode)
        self.assertEqual(before, (pathlib.Path("kept.json").read_bytes(), pathlib.Path("kept.db").stat().st_mtime_ns))
        for size in ([numpy.int64(100)], lambda p: 100):
            self.tune(cache="kept", problem_size=size, strategy_options={"max_fevals": 1})

    def test_files_are_written_through_no_link(self):
        victim = pathlib.Path("victim.txt")
        victim.write_text("precious")
        for name in ("kept.json", "t4.json", "machine.json"):
            pathlib.Path(name).symlink_to(victim)
        results, _ = self.tune()
        kernel_tuner.results.write_cache("cache.json", {"device_name": "A", "kernel_name": "k", "tune_params_keys": ["a"]},
                                         [{"a": 1, "time": 2.0}])
        store_output_file("t4", results, {"block_size_x": [32]})
        store_metadata_file("machine")
        self.assertEqual(victim.read_text(), "precious")
        self.assertIn("results", json.loads(pathlib.Path("t4.json").read_text()))
        self.assertEqual(json.loads(pathlib.Path("cache.json").read_text())["cache"], {"1": {"a": 1, "time": 2.0}})
        self.assertEqual([p.name for p in self.folder.glob("cache.json*")], ["cache.json"], "nothing is left over")

    def test_logs_stay_in_the_folder(self):
        home = self.folder / "home"
        home.mkdir()
        script = ("import logging, kernel_tuner.interface as i; i._log_to_file('../../k<float>', logging.INFO); "
                  "logging.info('text')")
        subprocess.run([sys.executable, "-c", script], cwd=home, check=True,
                       env={**os.environ, "PYTHONPATH": str(fixture.ROOT / "python")})
        log, = home.iterdir()
        self.assertTrue(log.name.startswith("_k_float_"), log.name)

    def test_restrictions_that_python_evaluates_are_said_once(self):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            results, _ = self.tune(restrictions=["str(block_size_x) in '32 64'", "block_size_x > 32"], quiet=False)
        self.assertEqual([r["block_size_x"] for r in results], [64])
        self.assertEqual(shown.getvalue().count("restrictions that Python evaluates: str(block_size_x) in '32 64'\n"), 1)

    def test_options_of_nvcc(self):
        self.assertEqual(len(self.tune(compiler_options=["-O3", "-arch=sm_80", "-Xcompiler", "-Wall", "-std=c++11"])[0]), 3)

    def test_a_cache_of_an_interrupted_run_is_read(self):
        pathlib.Path("cut.json").write_text('{"device_name": "A", "kernel_name": "scale", "problem_size": 100,\n'
                                            '"tune_params_keys": ["block_size_x"], "tune_params": {"block_size_x": [32, 64]},\n'
                                            '"cache": {\n"32": {"block_size_x": 32, "time": 1.5, "extra": 7},\n'
                                            '"64": {"block_size_x": 64, "__error__": "RuntimeFailedConfig"},')
        results, env = self.tune(cache="cut", simulation_mode=True, tune_params={"block_size_x": [32, 64]})
        by_size = {r["block_size_x"]: r for r in results}
        self.assertEqual((by_size[32]["time"], by_size[32]["extra"]), (1.5, 7))
        self.assertIsInstance(by_size[64]["__error__"], RuntimeFailedConfig)
        self.assertEqual(env["best_config"]["block_size_x"], 32)

    def test_run_kernel_returns_the_arguments(self):
        x = numpy.ones((10, 10), numpy.float32)
        arguments = [numpy.zeros((10, 10), numpy.float32), x, numpy.float32(2), numpy.int32(100)]
        after = kernel_tuner.run_kernel("scale", SOURCE, 100, arguments, {"block_size_x": 32}, quiet=True)
        self.assertEqual(after[0].shape, (10, 10))
        self.assertTrue((after[1] == x).all())
        self.assertEqual(after[2:], arguments[2:])
        with self.assertRaisesRegex(RuntimeError, "scale did not run.*on purpose"):
            kernel_tuner.run_kernel("scale", SOURCE, 100, arguments, {"block_size_x": 32, "FAIL": 1}, quiet=True)

    def test_output_files_are_t4(self):
        results, _ = self.tune()
        store_output_file("kept/results.json", results, {"block_size_x": [32]})
        store_metadata_file("machine")
        imported = subprocess.run([kernel_tuner.interface.runner.executable(), "import", "kept/results.json", "--gpu", "A100 40GB",
                                   "--problem", "100", "--kernel", "scale", "--db", "imported.db"], capture_output=True, text=True)
        self.assertEqual(imported.returncode, 0, imported.stderr)
        self.assertIn("environment", json.loads(pathlib.Path("machine.json").read_text())["metadata"])

    def test_files_and_headers(self):
        (self.folder / "kernels").mkdir()
        (self.folder / "kernels" / "factor.h").write_text("#define FACTOR 2\n")
        (self.folder / "kernels" / "scale.cu").write_text('#include "factor.h"\n' + SOURCE.replace("f * x", "FACTOR * x"))
        self.assertEqual(len(self.tune(["kernels/scale.cu", "kernels/factor.h"])[0]), 3)
        with self.assertRaisesRegex(FileNotFoundError, "absent.cu"):
            self.tune("absent.cu")

    def test_what_is_not_supported_is_named(self):
        for name, value in (("texmem_args", {"t": 1}), ("observers", [1]), ("compiler", "nvcc"), ("platform", 1),
                            ("objectives", {"time": False})):
            with self.assertRaisesRegex(ValueError, name):
                self.tune(**{name: value})
        with self.assertRaisesRegex(ValueError, "lang: OpenCL"):
            self.tune("__kernel void scale() {}")
        with self.assertRaisesRegex(ValueError, "kernel_source: a function"):
            self.tune(lambda p: "")
        with self.assertRaisesRegex(ImportError, "observers"):
            import kernel_tuner.observers  # noqa: F401
        with self.assertRaisesRegex(ImportError, "accuracy.*TYPE"):
            import kernel_tuner.accuracy  # noqa: F401
        with self.assertRaisesRegex(ImportError, "searchspace.*tiletune space"):
            from kernel_tuner.searchspace import Searchspace  # noqa: F401
        with self.assertRaisesRegex(ValueError, "--no-such-option"):
            self.tune(compiler_options=["--no-such-option"])

    def test_the_text_of_a_configuration(self):
        text = get_config_string({"a": 1, "time": 1.23456, "e": ErrorConfig(), "x": 2}, ["a", "time", "e"], {"time": "ms"})
        self.assertEqual(text, "a=1, time=1.235ms, e=ErrorConfig")
