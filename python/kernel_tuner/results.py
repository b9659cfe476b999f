"""Rows as Kernel Tuner's results, and its cache file."""
import json
import os
import pathlib
import secrets
import shutil

import numpy

from kernel_tuner.expressions import evaluator
from kernel_tuner.runner import samples
from kernel_tuner.util import CompilationFailedConfig, InvalidConfig, RuntimeFailedConfig

RAN = ("ok", "screened_out")
HIGHER_IS_BETTER = {"time": False, "energy": False, "cost": False, "loss": False, "fitness": True, "GFLOP/s": True,
                    "TFLOP/s": True, "GB/s": True, "TB/s": True, "GFLOPS/W": True, "TFLOPS/W": True, "GFLOP/J": True,
                    "TFLOP/J": True}


def error_of(outcome):
    if outcome == "refused":
        return InvalidConfig()
    return CompilationFailedConfig() if outcome.startswith("compile_") else RuntimeFailedConfig()


def result_of(row, configurations):
    """Times in ms."""
    result = {name: configurations.original(name, value) for name, value in json.loads(row["parameters"]).items()
              if not configurations.is_computed(name)}
    if row["outcome"] in RAN and row["median_us"] is not None:
        result["time"] = row["median_us"] / 1000
        result["times"] = [sample / 1000 for sample in samples(row["samples_us"])]
    else:
        result["__error__"] = error_of(row["outcome"])
    return {**result, "compile_time": row["compile_ms"] or 0.0, "verification_time": 0.0,
            "benchmark_time": row["measure_ms"] or 0.0, "strategy_time": 0.0, "framework_time": 0.0,
            "timestamp": row["recorded_at"]}


def add_metrics(result, metrics):
    if metrics is None or "__error__" in result:
        return
    for name, metric in metrics.items():
        if isinstance(metric, str):
            result[name] = evaluator(metric, result, "metrics")[0](result)
        else:
            result[name] = metric(result)


def check_metrics(metrics, names):
    """`names` are what metrics may use, beside those before them."""
    if metrics is not None and not isinstance(metrics, dict):
        raise ValueError("metrics: use a dictionary of names with expressions or functions")
    for name, metric in (metrics or {}).items():
        if isinstance(metric, str):
            evaluator(metric, dict.fromkeys([*names, *list(metrics)[:list(metrics).index(name)]], 1.0), "metrics")
        elif not callable(metric):
            raise ValueError(f"metrics: {name} is neither an expression nor a function")


def is_higher_better(objective, chosen):
    if chosen is None and objective not in HIGHER_IS_BETTER:
        raise ValueError(f"objective_higher_is_better is needed for the objective {objective!r}")
    return HIGHER_IS_BETTER[objective] if chosen is None else bool(chosen)


def best_of(results, objective, higher_is_better):
    timed = [result for result in results if "__error__" not in result]
    for result in timed[:1]:
        if objective not in result:
            raise ValueError(f"objective: the results have no {objective!r}; define it in metrics")
    return (max if higher_is_better else min)(timed, key=lambda result: result[objective], default=None)


# The cache file: {"device_name", "kernel_name", ..., "cache": {"64,1": {...}}}.


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (numpy.generic, numpy.ndarray)):
            return o.tolist()
        return super().default(o)


def replace_file(path, text):
    """Writes a new file beside the path, under a name that nobody can foresee, then gives it the path's name: no link is
    followed."""
    temporary = pathlib.Path(f"{path}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        if os.path.isfile(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def cache_path(cache):
    path = os.fspath(cache)
    return path if path.endswith(".json") else path + ".json"


def read_cache(path):
    """As it is, or as far as a run that was interrupted got."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
        try:
            known = json.loads(text)
        except json.JSONDecodeError:
            known = json.loads(text.rstrip(",") + "}}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cache: {path} is not a cache file: {error}; name another file") from None
    if not isinstance(known, dict) or not isinstance(known.get("cache"), dict):
        raise ValueError(f"cache: {path} is not a cache file: it has no object \"cache\"; name another file")
    return known


def _items(value):
    """1024 is the same size as [1024]."""
    return list(value) if isinstance(value, (list, tuple, numpy.ndarray)) else [value]


def check_cache(path, header):
    """The cache, if what the header names is the same in it. A problem size may be missing there, or be a function here."""
    known = read_cache(path)
    for name, value in header.items():
        is_open = name == "problem_size" and (name not in known or value == "callable")
        if not is_open and _items(known.get(name)) != _items(value):
            raise ValueError(f"cache: {path} has {name} {known.get(name)!r}, this sweep {value!r}; name another file")
    return known


def key_of(result, names):
    return ",".join(str(result[name]) for name in names)


def cached_result(entry):
    """An entry of a cache with its error marker."""
    result = dict(entry)
    markers = {marker.__name__: marker for marker in (InvalidConfig, CompilationFailedConfig, RuntimeFailedConfig)}
    for value in entry.values():
        if isinstance(value, str) and value in markers:
            result["__error__"] = markers[value]()
    return result


def write_cache(path, header, results):
    """Adds results to the cache, whose other entries stay."""
    names = header["tune_params_keys"]
    document = {**header, "cache": {}}
    if os.path.exists(path):
        document = check_cache(path, {name: header[name] for name in ("device_name", "kernel_name", "tune_params_keys")})
    for result in results:
        document["cache"][key_of(result, names)] = result
    replace_file(path, json.dumps(document, cls=Encoder, indent=""))

