"""Writes results and what is known of the machine as T4 files, which `tiletune import` reads."""
import json
import platform
import subprocess
from pathlib import Path

from kernel_tuner.results import Encoder, replace_file
from kernel_tuner.runner import executable
from kernel_tuner.util import CompilationFailedConfig, InvalidConfig, RuntimeFailedConfig

SCHEMA_VERSION = "1.0.0"
TIMES = {"compile_time": "compilation", "benchmark_time": "benchmark", "framework_time": "framework",
         "strategy_time": "search_algorithm", "verification_time": "validation"}
INVALIDITY = ((CompilationFailedConfig, "compile"), (RuntimeFailedConfig, "runtime"), (InvalidConfig, "constraints"))


def _path(name):
    path = Path(name)
    path = path if path.suffix == ".json" else path.with_name(path.name + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _invalidity(result):
    return next((text for marker, text in INVALIDITY if isinstance(result.get("__error__"), marker)), "correct")


def get_t4_results(results, tune_params, objective="time"):
    rows = []
    for result in results:
        left_out = {*tune_params, *TIMES, "times", "timestamp", "__error__"}
        rows.append({
            "timestamp": result.get("timestamp", ""),
            "configuration": {name: result[name] for name in tune_params},
            "times": {**{name: result.get(key, 0) for key, name in TIMES.items()}, "runtimes": result.get("times", [])},
            "invalidity": _invalidity(result), "correctness": 1,
            "measurements": [{"name": name, "value": value, "unit": "ms" if name == "time" else ""}
                             for name, value in result.items() if name not in left_out],
            "objectives": [objective]})
    return {"results": rows, "schema_version": SCHEMA_VERSION, "metadata": {"timeunit": "milliseconds"}}


def store_output_file(output_filename, results, tune_params, objective="time"):
    """Writes the results of tune_kernel(); ".json" is added to the name if it is missing."""
    text = json.dumps(get_t4_results(results, tune_params, objective), cls=Encoder)
    replace_file(_path(output_filename), text)


def get_t4_metadata():
    checks = subprocess.run([executable(), "doctor", "--format", "json"], capture_output=True, text=True).stdout
    return {"metadata": {"operating_system": platform.system(),
                         "hardware": {"hardware_description": [{"machine": platform.machine(), "node": platform.node()}]},
                         "environment": {"tiletune": json.loads(checks) if checks else {}}},
            "schema_version": SCHEMA_VERSION}


def store_metadata_file(metadata_filename):
    """Writes what `tiletune doctor` says of this machine."""
    replace_file(_path(metadata_filename), json.dumps(get_t4_metadata(), indent=2))
