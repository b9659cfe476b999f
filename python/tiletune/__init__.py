"""tiletune from Python: functions over the program `tiletune` and its JSON.

    import tiletune
    rows = tiletune.sweep("configs/quick.json", gpu="H100")      # a pandas.DataFrame, a row per configuration
    tiletune.rank(db="results/tiletune.db", problem="1024x1024x1024")
    tiletune.best(db="results/tiletune.db")[0]["parameters"]
    tiletune.export("tuned", format="cuda", db="results/tiletune.db")

Keyword arguments are options of the command, as its --help lists them: learn_from="other.db" is --learn-from other.db,
quiet=True is --quiet, a list repeats the option, and None or False leaves it out.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

__all__ = ["Error", "best", "export", "program", "rank", "run", "sweep"]
DATABASE = "results/tiletune.db"
OWN = pathlib.Path(__file__).resolve().parent / "bin" / "tiletune"  # of an installed wheel


class Error(RuntimeError):
    """A command failed. `code` is its exit code; 2: something to correct, which the text names."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def program():
    """The program: $TILETUNE, the one of this package, else the first on PATH."""
    found = os.environ.get("TILETUNE") or (str(OWN) if OWN.is_file() else shutil.which("tiletune"))
    if not found:
        raise Error("there is no program tiletune on PATH; name it in TILETUNE", 2)
    return found


def environment():
    """The variables of this process, and where NVIDIA's wheels have put the compiler, cuBLAS and CUDA's headers."""
    variables = dict(os.environ)
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or [] if spec else []:
        for folder in sorted(pathlib.Path(place).glob("cu[0-9]*")):
            if (folder / "lib").is_dir():
                paths = [str(folder / "lib"), variables.get("LD_LIBRARY_PATH", "")]
                variables["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))
            if (folder / "include" / "cuda_fp16.h").is_file():
                variables.setdefault("TILETUNE_CUDA_INCLUDE", str(folder / "include"))
    return variables


def arguments_of(options):
    arguments = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                arguments.append(option)
            elif one is not None and one is not False:
                arguments += [option, str(one)]
    return arguments


def run(command, *positionals, accept=(0,), **options):
    """`tiletune COMMAND`; returns what it printed to standard output. Progress goes to a terminal. Raises Error unless the
    exit code is among those that are accepted."""
    shows = sys.stderr is not None and sys.stderr.isatty()
    words = [program(), command, *map(str, positionals), *arguments_of(options)]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if shows else subprocess.PIPE,
                           text=True, env=environment())
    if ended.returncode not in accept:
        raise Error((ended.stderr or "").strip() or f"tiletune {command} failed", ended.returncode)
    return ended.stdout


def frame(rows):
    """A DataFrame in which each parameter is a column, too; with `_parameter` behind its name where a column has that."""
    import pandas
    table = pandas.DataFrame(rows)
    if "parameters" not in table:
        return table
    parameters = pandas.DataFrame([value or {} for value in table["parameters"]], index=table.index)
    return table.join(parameters.rename(columns=lambda name: name + "_parameter" if name in table else name))


@contextlib.contextmanager
def as_file(config):
    """A path as it is; a dict as a file of the current folder, from which its templates are looked for."""
    if not isinstance(config, dict):
        yield config
        return
    with tempfile.NamedTemporaryFile("w", dir=".", prefix="tiletune_", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        yield file.name


def sweep(config, db=DATABASE, **options):
    """Runs a sweep of a config, a file or a dict, and returns the rows that it made or used again, as a DataFrame: all columns
    of the database (docs/database.md), failed configurations included."""
    with as_file(config) as file:
        # 1: nothing ran. The rows say why.
        run("sweep", file, accept=(0, 1), db=db, **options)
    with contextlib.closing(sqlite3.connect(f"file:{pathlib.Path(db).absolute()}?mode=ro", uri=True)) as database:
        number = database.execute("SELECT max(id) FROM sweep").fetchone()[0]
    return frame(json.loads(run("export", db=db, sweep=number))["trials"])


def rank(db=DATABASE, **options):
    """What `tiletune rank` shows, as a DataFrame: the ranked configurations of all problems, or of those asked for."""
    options.setdefault("limit", 0)
    document = json.loads(run("rank", db=db, format="json", **options))
    rows = []
    for group in document["groups"]:
        facts = {name: group[name] for name in ("gpu", "problem", "source", "conditions") if name in group}
        rows += [{**facts, **row} for row in group["rows"]]
    return frame(rows)


def best(db=DATABASE, **options):
    """The entries of best.json (docs/files.md): per GPU and problem the best configuration, and how to launch it."""
    return json.loads(run("export", best=True, db=db, **options))["best"]


def export(output, db=DATABASE, **options):
    """`tiletune export -o OUTPUT`: format="cuda" writes a library, "header" a header, best=True best.json."""
    run("export", db=db, output=output, **options)


def main():
    """The command `tiletune` of a wheel."""
    os.execve(program(), ["tiletune", *sys.argv[1:]], environment())
