"""Runs the tiletune executable and reads the rows that it recorded."""
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import zlib

EXIT_NOTHING_TO_DO, EXIT_MISTAKE, EXIT_GPU, EXIT_INTERRUPTED = 1, 2, 3, 130
COLUMNS = ("id", "key", "shares", "parameters", "outcome", "reason", "median_us", "samples_us", "compile_ms", "measure_ms",
           "gpu", "architecture", "driver_version", "cuda_version", "nvrtc_version", "recorded_at", "kernel_expression")


def executable():
    """$TILETUNE, else the one that this package was installed or built with, else the one on the PATH."""
    here = pathlib.Path(__file__).resolve()
    home = here.parents[2]  # share/tiletune of an installed one, or a checkout
    candidates = [os.environ.get("TILETUNE"), home.parent.parent / "bin" / "tiletune",
                  home / "build" / "release" / "tiletune", shutil.which("tiletune")]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise FileNotFoundError("there is no tiletune executable: set the variable TILETUNE to it, or add its folder to PATH")


def run(arguments, show):
    """Runs tiletune; `show` gets each line of its progress. Returns (exit code, standard output, error text)."""
    output, errors = [], []
    # A KeyboardInterrupt ends in waiting: tiletune was interrupted too, and finishes what is in flight.
    with subprocess.Popen([executable(), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace") as process:
        reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
        reader.start()
        for line in process.stderr:
            errors.append(line)
            show(line.rstrip("\n"))
        reader.join()
    return process.returncode, "".join(output), "".join(errors)


def show_progress(line):
    print(line, file=sys.stderr, flush=True)


def show_nothing(_):
    pass


def printable(text):
    """What a kernel or a compiler wrote moves no cursor."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def checked(code, errors):
    """Raises what a script expects; a sweep in which nothing ran has rows all the same."""
    message = errors[errors.rfind("tiletune: "):].strip() if "tiletune: " in errors else errors.strip()
    if code == EXIT_MISTAKE:
        raise ValueError(message)
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (0, EXIT_NOTHING_TO_DO):
        raise RuntimeError(message or f"tiletune ended with exit code {code}")


def valid_configurations(config):
    code, output, errors = run(["space", config, "--format", "json"], show_nothing)
    checked(code, errors)
    return json.loads(output)["valid"] if output else 0


def samples(blob):
    """The numbers of a packed column, as src/store/samples.h describes it."""
    if not blob:
        return []
    if blob[0] == 3:
        blob = blob[:1] + zlib.decompressobj(-15).decompress(blob[3:])
    elif blob[0] != 0:
        raise ValueError("the samples of this row are of an earlier version; use tiletune export --samples")
    return list(struct.unpack(f"<{len(blob) // 8}d", blob[1:]))


def rows_of_last_sweep(database):
    """The kernels' rows of the last sweep, in the order in which they were made, as dictionaries."""
    if not os.path.exists(database):
        return []
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        last = connection.execute("SELECT max(id) FROM sweep").fetchone()[0]
        found = connection.execute(
            f"SELECT {', '.join('trial.' + column for column in COLUMNS)} FROM trial JOIN sweep_trial ON trial_id = trial.id "
            "WHERE sweep_trial.sweep_id = ? AND kind = 'kernel' ORDER BY trial.id", (last,))
        return [dict(zip(COLUMNS, row)) for row in found]
    finally:
        connection.close()
