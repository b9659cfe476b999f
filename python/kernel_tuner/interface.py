"""tune_kernel() and run_kernel(), with the arguments and results of Kernel Tuner's."""
import datetime
import inspect
import logging
import os
import pathlib
import re
import tempfile
import time
import warnings

import numpy

from kernel_tuner import results as kt_results
from kernel_tuner import runner
from kernel_tuner.arguments import Arguments
from kernel_tuner.configurations import Configurations
from kernel_tuner.manifest import DEFAULT_BLOCK_SIZE_NAMES, Manifest
from kernel_tuner.source import Source
from kernel_tuner.util import get_config_string

# Kernel Tuner's optimizers, and the strategy of tiletune that uses the same method, or else the best one.
OPTIMIZERS = {"greedy_mls": "local_search", "ordered_greedy_mls": "local_search", "greedy_ils": "local_search",
              "mls": "local_search", "bayes_opt": "surrogate", "skopt": "surrogate"}
OTHER_OPTIMIZERS = ("dual_annealing", "diff_evo", "genetic_algorithm", "simulated_annealing", "hybrid_vndx",
                    "adaptive_tabu_greywolf", "basinhopping", "minimize", "pso", "firefly_algorithm", "pyatf_strategies", "nsga2",
                    "nsga3")
OTHER_OPTIMIZER = "surrogate"
OPTIMIZERS_DEFAULT_FEVALS = 100
DEFAULT_FRACTION = 0.1  # of the space, for random_sample


def _refuse(name, value, remedy):
    if value:
        raise ValueError(f"{name} is not supported by tiletune's stand-in for Kernel Tuner: {remedy}")


def _block_size_names(names, parameters):
    if names is None:
        spelled = {name.lower(): name for name in parameters}
        return [spelled.get(name, name) for name in DEFAULT_BLOCK_SIZE_NAMES]
    if not isinstance(names, list) or len(names) > 3 or not all(isinstance(name, str) for name in names):
        raise ValueError(f"block_size_names: {names!r} is not a list of up to three names")
    return names + DEFAULT_BLOCK_SIZE_NAMES[len(names):]


def _manifest(kernel_name, kernel_source, problem_size, arguments, tune_params, restrictions, answer, lang, cmem_args,
              options):
    options = {**options, "block_size_names": _block_size_names(options["block_size_names"], tune_params)}
    source = Source(kernel_source, lang)
    return Manifest(source, kernel_name, problem_size, Arguments(arguments, cmem_args, answer),
                    Configurations(tune_params, restrictions, options["block_size_names"]), options)


def _strategy(strategy, strategy_options, seed):
    """(name of tiletune's strategy, budget without what depends on the size of the space, fraction of the space)"""
    options = dict(strategy_options or {})
    budget, fraction = {}, None
    max_fevals, time_limit = options.get("max_fevals"), options.get("time_limit")
    if isinstance(time_limit, datetime.timedelta):
        time_limit = time_limit.total_seconds()
    for name, value in (("max_fevals", max_fevals), ("time_limit", time_limit)):
        if value is not None and value <= 0:
            raise ValueError(f"strategy_options: {name} must be greater than zero")
    name = strategy or "brute_force"
    if not isinstance(name, str):
        _refuse("strategy", strategy, "name a strategy of tiletune, such as 'brute_force' or 'random_sample'")
    if name == "random_sample" and max_fevals is None:
        fraction = options.get("fraction", DEFAULT_FRACTION)
        if not 0 <= fraction <= 1:
            raise ValueError("strategy_options: fraction must be between 0 and 1")
    elif name in OPTIMIZERS or name in OTHER_OPTIMIZERS:
        if name in OTHER_OPTIMIZERS:
            warnings.warn(f"strategy: tiletune has no {name!r}; it uses {OTHER_OPTIMIZER!r}", UserWarning)
        max_fevals = OPTIMIZERS_DEFAULT_FEVALS if max_fevals is None and time_limit is None else max_fevals
    elif name not in ("brute_force", "random_sample"):
        raise ValueError(f"strategy: there is no {name!r}; use 'brute_force' or 'random_sample'")
    if max_fevals is not None:
        budget["evaluations"] = int(max_fevals)
    if time_limit is not None:
        budget["seconds"] = float(time_limit)
    simple = {"brute_force": "exhaustive", "random_sample": "random"}
    described = {"name": simple.get(name) or OPTIMIZERS.get(name, OTHER_OPTIMIZER)}
    if seed is not None:
        described["seed"] = int(seed)
    return described, budget, fraction


def _gpus(device, parallel):
    if parallel:
        return "all" if parallel is True else ",".join(map(str, range(int(parallel))))
    return str(device)


def _sweep(config, database, arguments, manifest, show):
    folders = [part for folder in manifest.folders for part in ("--include", folder)]
    command = ["sweep", config, "--db", database, "--format", "json", "--limit", "1", *folders, *arguments]
    code, _, errors = runner.run(command, show)
    logging.info("tiletune sweep: exit code %d\n%s", code, errors)
    runner.checked(code, errors)
    rows = runner.rows_of_last_sweep(database)
    if not rows and code != 0:
        warnings.warn(errors[errors.rfind("tiletune: "):].strip(), UserWarning)
    return rows


def _verifier(verify, answer, atol):
    """A function of the outputs; the script's may leave out atol."""
    if "atol" in inspect.signature(verify).parameters:
        return lambda outputs: verify(answer, outputs, atol=atol)
    return lambda outputs: verify(answer, outputs)


def _mark_wrong(rows, outputs, manifest, verify):
    """Gives rows whose outputs the script's function refuses the outcome of a wrong result."""
    for row in rows:
        folder = outputs / (row["shares"] or row["key"])
        if row["outcome"] not in kt_results.RAN or not folder.is_dir():
            continue
        after = manifest.arguments.after_launch(folder)
        compared = [None if array is None else value for value, array in zip(after, manifest.arguments.arrays)]
        if not verify(compared):
            row["outcome"], row["reason"] = "wrong_result", "verify returned False"


def _environment(rows, database, options):
    env = {"tiletune": runner.executable(), "database": str(database) if database else None,
           "iterations": options["iterations"], "compiler_options": options["compiler_options"]}
    if rows:
        row = rows[-1]
        env.update(device_name=row["gpu"], cuda_version=row["cuda_version"], driver_version=row["driver_version"],
                   compute_capability=row["architecture"].removeprefix("sm_"), nvrtc_version=row["nvrtc_version"])
    return env


def _add_totals(env, results, seconds):
    names = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
    for name in names:
        env[f"total_{name}"] = sum(result.get(name, 0) for result in results)
    env["overhead_time"] = max(1000 * seconds - sum(env[f"total_{name}"] for name in names), 0)


def _log_to_file(kernel_name, log):
    if log:
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H:%M:%S.%f")
        name = re.sub(r"\W+", "_", kernel_name)
        logging.basicConfig(filename=f"{name}{stamp}.log", filemode="x", level=log)  # "x": a file of its own, no link


def tune_kernel(kernel_name, kernel_source, problem_size, arguments, tune_params, grid_div_x=None, grid_div_y=None,
                grid_div_z=None, restrictions=None, answer=None, atol=1e-6, verify=None, verbose=False, lang=None, device=0,
                platform=0, smem_args=None, cmem_args=None, texmem_args=None, compiler=None, compiler_options=None,
                defines=None, log=None, iterations=7, block_size_names=None, quiet=False, strategy=None,
                strategy_options=None, cache=None, metrics=None, simulation_mode=None, parallel=None, observers=None,
                objective=None, objective_higher_is_better=None, objectives=None, seed=None):
    """Tunes a kernel: (results, env). docs/from_kernel_tuner.md says what each argument becomes."""
    started = time.perf_counter()
    _refuse("texmem_args", texmem_args, "read from an array, or through __ldg()")
    _refuse("observers", observers, "the database has the SM clock, power and throttling of each row")
    _refuse("platform", platform, "remove it; device is the number of the GPU")
    _refuse("compiler", compiler, "remove it; tiletune compiles with NVRTC")
    _refuse("objectives", objectives, "name one objective, and compute the others with metrics")
    if not isinstance(tune_params, dict):
        raise ValueError("tune_params: use a dictionary of names with lists of values")
    objective = objective or "time"
    if not isinstance(objective, str):
        _refuse("a list of objectives", objective, "name one objective, and compute the others with metrics")
    higher_is_better = kt_results.is_higher_better(objective, objective_higher_is_better)
    kt_results.check_metrics(metrics, [*tune_params, "time"])
    if verify is not None and not callable(verify):
        raise TypeError("verify: use a function of the answer and the outputs")
    _log_to_file(kernel_name, log)
    options = {"grid_div_x": grid_div_x, "grid_div_y": grid_div_y, "grid_div_z": grid_div_z, "smem_args": smem_args,
               "compiler_options": compiler_options, "defines": defines, "block_size_names": block_size_names,
               "verify": verify, "atol": atol, "iterations": iterations}
    manifest = _manifest(kernel_name, kernel_source, problem_size, arguments, tune_params, restrictions, answer, lang,
                         cmem_args, options)
    if manifest.configurations.left_to_python and not quiet:
        print(f"restrictions that Python evaluates: {'; '.join(manifest.configurations.left_to_python)}")
    described, budget, fraction = _strategy(strategy, strategy_options, seed)
    config = {"strategy": described, "budget": budget, "measure": _measure(iterations, objective),
              "baseline": "none"}
    if simulation_mode and not (cache and os.path.isfile(kt_results.cache_path(cache))):
        raise ValueError("simulation_mode needs cache=, the name of an existing cache file")
    header = {"kernel_name": kernel_name, "problem_size": "callable" if callable(problem_size) else problem_size,
              "tune_params_keys": list(tune_params)}
    if cache and os.path.isfile(kt_results.cache_path(cache)):
        kt_results.check_cache(kt_results.cache_path(cache), header)
    with tempfile.TemporaryDirectory(prefix="tiletune_") as name:
        folder = pathlib.Path(name)
        database = folder / "rows.db"
        if cache and not simulation_mode:
            database = pathlib.Path(kt_results.cache_path(cache)).with_suffix(".db").absolute()
        path = manifest.write(folder, config, with_values=not simulation_mode)
        flags = ["--gpus", _gpus(device, parallel)]
        if simulation_mode:
            recording = kt_results.read_cache(kt_results.cache_path(cache))
            flags = ["--replay", manifest.write_recording(folder, recording)]
        elif verify:
            flags += ["--outputs", folder / "outputs", "--remeasure"]
        if verbose or fraction is not None:
            size = runner.valid_configurations(path)
            if verbose:
                print(f"Searchspace has {size} configurations after restrictions.")
            if fraction is not None:
                flags += ["--budget", max(int(numpy.ceil(size * fraction)), 1)]
        rows = _sweep(path, database, flags, manifest, runner.show_progress if verbose else runner.show_nothing)
        if verify:
            _mark_wrong(rows, folder / "outputs", manifest, _verifier(verify, answer, atol))
        if simulation_mode:
            results = _simulated(rows, recording["cache"], manifest.configurations)
        else:
            results = [kt_results.result_of(row, manifest.configurations) for row in rows]
    for result in results:
        kt_results.add_metrics(result, metrics)
    if not simulation_mode:
        _warn_of_failures(rows)
    env = _environment(rows, database if cache and not simulation_mode else None, options)
    if cache and not simulation_mode and rows:
        header = {"device_name": env["device_name"], **header, "tune_params": {k: list(v) for k, v in tune_params.items()},
                  "objective": [objective]}
        kt_results.write_cache(kt_results.cache_path(cache), header, results)
    if simulation_mode:
        env.update(simulation=True, simulated_time=sum(result.get(name, 0) for result in results for name in
                                                       ("compile_time", "verification_time", "benchmark_time")))
    best = kt_results.best_of(results, objective, higher_is_better)
    if best is not None:
        env["best_config"] = best
    if not quiet:
        print(f"Using: {env['device_name']}" if rows else "no results to report")
        if best is not None:
            keys = [*tune_params, objective, *(metrics or {})]
            print(f"best configuration by {objective}: {get_config_string(best, keys, {'time': 'ms'})}")
    _add_totals(env, results, time.perf_counter() - started)
    return results, env


def _measure(iterations, objective):
    """As many samples as the script says. Another objective decides by itself which configurations are good."""
    measure = {"samples": int(iterations), "precision_percent": 0, "finals": {"within_percent": 0, "rounds": 12}}
    if objective != "time":
        measure.update(screening=0, finals={"configurations": 0})
    return measure


def _simulated(rows, entries, configurations):
    """The cache's entries, in the order in which the replay took them."""
    results = []
    for row in rows:
        if row["outcome"] == "not_recorded":
            continue
        key = kt_results.key_of(kt_results.result_of(row, configurations), configurations.names)
        results.append(kt_results.cached_result(entries[key]))
    return results


def _warn_of_failures(rows):
    """Once for each outcome: configurations that tiletune refuses need no warning, as in the original."""
    refused = [row for row in rows if row["outcome"] == "refused"]
    if rows and len(refused) == len(rows):
        warnings.warn(f"refused: all {len(rows)} configurations, such as {refused[0]['parameters']}: "
                      f"{runner.printable(refused[0]['reason'])}", UserWarning)
    failed = {}
    for row in rows:
        if row["outcome"] not in (*kt_results.RAN, "refused", "not_recorded"):
            failed.setdefault(row["outcome"], []).append(row)
    for outcome, some in failed.items():
        warnings.warn(f"{outcome}: {len(some)} of {len(rows)} configurations, such as {some[0]['parameters']}: "
                      f"{runner.printable(some[0]['reason'])}", UserWarning)


def run_kernel(kernel_name, kernel_source, problem_size, arguments, params, grid_div_x=None, grid_div_y=None,
               grid_div_z=None, lang=None, device=0, platform=0, smem_args=None, cmem_args=None, texmem_args=None,
               compiler=None, compiler_options=None, defines=None, block_size_names=None, quiet=False, log=None):
    """Runs one configuration: the list of arguments after the launch."""
    _refuse("texmem_args", texmem_args, "read from an array, or through __ldg()")
    _refuse("platform", platform, "remove it; device is the number of the GPU")
    _refuse("compiler", compiler, "remove it; tiletune compiles with NVRTC")
    _log_to_file(kernel_name, log)
    options = {"grid_div_x": grid_div_x, "grid_div_y": grid_div_y, "grid_div_z": grid_div_z, "smem_args": smem_args,
               "compiler_options": compiler_options, "defines": defines, "block_size_names": block_size_names,
               "verify": None, "atol": 0}
    manifest = _manifest(kernel_name, kernel_source, problem_size, arguments, {k: [v] for k, v in params.items()}, None, None,
                         lang, cmem_args, options)
    config = {"measure": {"samples": 1, "screening": 0, "finals": {"configurations": 0}}, "baseline": "none"}
    with tempfile.TemporaryDirectory(prefix="tiletune_") as name:
        folder = pathlib.Path(name)
        path = manifest.write(folder, config)
        rows = _sweep(path, folder / "rows.db", ["--gpus", _gpus(device, None), "--outputs", folder / "outputs"], manifest,
                      runner.show_nothing)
        if not rows or rows[0]["outcome"] != "ok":
            raise RuntimeError(f"{kernel_name} did not run: "
                               f"{runner.printable(rows[0]['reason']) if rows else 'no configuration is valid'}")
        if not quiet:
            print(f"Using: {rows[0]['gpu']}")
        after = manifest.arguments.after_launch(folder / "outputs" / rows[0]["key"])
        return [value.copy() if isinstance(value, numpy.ndarray) else value for value in after]
