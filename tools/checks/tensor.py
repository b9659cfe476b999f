"""Products on tensor cores beside cuBLAS and cuBLASLt, and every template at sizes that are hard to get right.

Finals are held for each problem of a table. The configurations that take part are few: the fastest of a database of sweeps
on this GPU (--swept), or those listed in tensor_configurations.csv, winners of sweeps on an H200 and an H100 and of earlier
experiments. The time of the check is shared out beforehand: what a part does not need goes to those behind it, and what is left
undone has a line that says so.
"""

import csv
import dataclasses
import json
import math
import os
import pathlib
import sqlite3
import time

from .common import all_ran, outcomes, query, ran, texts, verdict, write_finals

LISTED = pathlib.Path(__file__).with_name("tensor_configurations.csv")
LISTED_COLUMNS = ("types", "problem", "layout", "template")

# Shares of the check's time. What is left is for the templates' edges.
HALVES_SHARE = {"f16": 0.34, "bf16": 0.30}
SETTLED_SHARE = 0.20  # of both types
NARROW_SHARE = 0.06   # of all types
PROBLEMS_AT_A_TIME = 14
FINALISTS, SETTLED_FINALISTS = 6, 4
VERIFIED_PER_SECOND = 18  # most of it compiles
MOST_BORROWED = 1.5       # times its own share that a group of problems may take, of those behind it in its part
INTERRUPTED = (130, -2)   # exit status of a sweep that ran out of its time
SETTLED_S = 3

FEW_ROWS = 128  # up to which device memory bounds the time
DECODING = ((8192, 8192), (28672, 8192), (8192, 28672), (10240, 8192))


def cubes(*sizes):
    return [f"{size}x{size}x{size}" for size in sizes]


def rows_of(*heights):
    return [f"{m}x{n}x{k}" for m in heights for n, k in DECODING]


# Problems and layout; what to reach at least and what is aimed at, as a ratio to the faster library.
HALVES = (
    (cubes(4096), "nn", 1.00, 1.02), (cubes(8192), "nn", 1.01, 1.02), (cubes(4096), "nt", 1.00, 1.02), (cubes(8192), "nt", 1.01, 1.02),
    (cubes(2048, 3000, 3072, 6000, 6144), "nn", 0.98, 1.03),
    (cubes(512), "nn", 1.02, 1.05), (cubes(1024), "nn", 0.97, 1.05), (cubes(1536), "nn", 0.99, 1.05),
    (["512x512x16384"], "nn", 0.95, 1.03),
    (cubes(4090, 4092), "nn", 2.55, 2.7), (cubes(4095), "nn", 4.4, 4.6), (cubes(2047), "nn", 3.4, 3.6),
    (["1000x77x513"], "nn", 1.18, 1.3),
    (rows_of(1), "nt", 1.04, 1.08), (rows_of(16, 64, 128), "nt", 0.94, 1.02), (rows_of(512, 2048), "nt", 0.98, 1.02),
)
SETTLED = ((cubes(4096, 8192), "nn", 0.99, 1.02), (cubes(4096, 8192), "nt", 0.99, 1.02))
NARROW = {"e4m3": ((cubes(4096, 8192), "nt", 0.97, 1.00),), "tf32": ((cubes(4096), "nt", 0.97, 1.00),),
          "i8": ((cubes(4096), "nt", 1.00, 1.00),)}
# All rows but those whose operands no bulk copy can take.
UNALIGNED = {*cubes(4090, 4092, 4095, 2047), "1000x77x513"}
MEAN_FLOOR, MEAN_AIM, MEAN_OF_ALL = 1.00, 1.02, 1.25


@dataclasses.dataclass
class Entry:
    """A line of the table: a problem, what is wanted of it, and what came of it."""
    state: str  # "burst" or "settled"
    kind: str
    problem: str
    layout: str
    floor: float
    aim: float
    ratio: float = math.nan
    template: str = ""
    of_copy: float | None = None
    why: str = ""  # the finals were not held

    def line(self):
        begin = f"     {self.state:8} {self.kind:5} {self.problem:16} {self.layout}"
        if self.why:
            return f"{begin}       -  {self.floor:5.2f}  {self.aim:5.2f}  not held: {self.why}"
        met = "aim met" if self.ratio >= self.aim else "floor met" if self.ratio >= self.floor else "missed"
        share = f", {self.of_copy:.0f}% of the copy bandwidth" if self.of_copy and int(self.problem.split("x")[0]) <= FEW_ROWS else ""
        return f"{begin}  {self.ratio:6.3f}  {self.floor:5.2f}  {self.aim:5.2f}  {met:9} {self.template}{share}"


def entries_of(table, state, kind):
    return [Entry(state, kind, problem, layout, floor, aim) for problems, layout, floor, aim in table for problem in problems]


def listed_configurations():
    """Rows of the list, each a dictionary of its columns."""
    with open(LISTED, newline="") as file:
        return list(csv.DictReader(file))


def fastest_configurations(database, each=FINALISTS):
    """The same rows, of the fastest of each problem that a database holds."""
    rows, taken = [], {}
    for problem, options, types, template, parameters in query(
            database, "SELECT problem, options, element_types, template, parameters FROM trial WHERE kind = 'kernel' "
                      "AND source = 'measured' AND outcome = 'ok' ORDER BY timed_in <> 'final', median_us"):
        kind = types.split()[0].removeprefix("A:")
        layout = dict(one.split("=") for one in (options or "").split()).get("layout", "nn")
        taken[problem, layout, kind] = taken.get((problem, layout, kind), 0) + 1
        if taken[problem, layout, kind] <= each:
            rows.append({"types": kind, "problem": problem, "layout": layout, "template": template,
                         **texts(json.loads(parameters))})
    return rows


def chosen(rows, kind, problem, layout):
    """Those of one problem. bf16 takes f16's where it has none of its own."""
    own = [row for row in rows if kind in row["types"].split() and row["problem"] == problem and row["layout"] == layout]
    return chosen(rows, "f16", problem, layout) if kind == "bf16" and not own else own


def values_of(row):
    return {name: value for name, value in row.items() if name not in LISTED_COLUMNS and value != ""}


def write_config(folder, name, listed_rows, kind, layout, problems, finalists=FINALISTS):
    """A config of the configurations that are listed for these problems, each for its own; none where there are none."""
    rows = [{"problem": problem, "template": row["template"], "values": values_of(row)}
            for problem in problems for row in chosen(listed_rows, kind, problem, layout)]
    if not rows:
        return None
    return write_finals(folder, name, rows, {"layout": layout}, [f"{problem},layout={layout},A={kind}" for problem in problems], finalists,
                        types={"A": kind})


def where(entry):
    """The rows of an entry in the database."""
    layout = "options LIKE '%layout=nt%'" if entry.layout == "nt" else "(options IS NULL OR options NOT LIKE '%layout=nt%')"
    return f"problem = '{entry.problem}' AND {layout} AND (element_types = '{entry.kind}' OR element_types LIKE 'A:{entry.kind} %')"


def take_result(database, entry, ended):
    """What the finals of a problem found, or why there were none. `ended`: how its sweep did."""
    column = "figures ->> 'sustained_us'" if entry.state == "settled" else "median_us"
    best = {}
    for kind, microseconds, template, of_copy in query(
            database, f"SELECT kind, {column}, template, percent_of_copy FROM trial WHERE {where(entry)} AND kind IN ('kernel', 'baseline') "
                      f"AND outcome = 'ok' AND timed_in = 'final' AND {column} > 0 ORDER BY {column}"):
        best.setdefault(kind, (microseconds, template, of_copy))
    if len(best) == 2:
        entry.ratio, entry.why = best["baseline"][0] / best["kernel"][0], ""
        entry.template, entry.of_copy = best["kernel"][1:]
        return
    found = query(database, f"SELECT outcome, count(*), min(substr(reason, 1, 160)) FROM trial WHERE {where(entry)} AND kind = 'kernel' "
                            "GROUP BY outcome ORDER BY 2 DESC")
    if found and not any(outcome == "ok" for outcome, _, _ in found):
        outcome, count, reason = found[0]
        entry.why = " ".join(f"{count} x {outcome}: {reason or ''}".split())
    elif "kernel" in best:
        entry.why = "no library's kernel was in them"
    else:
        entry.why = ended


def groups_of(entries):
    """A few of one layout at a time, as many in each group as in the others."""
    groups = []
    for layout in dict.fromkeys(entry.layout for entry in entries):
        some = [entry for entry in entries if entry.layout == layout]
        count = math.ceil(len(some) / PROBLEMS_AT_A_TIME)
        groups += [some[i * len(some) // count:(i + 1) * len(some) // count] for i in range(count)]
    return groups


class TensorCheck:
    def __init__(self, bench):
        self.bench = bench
        self.database = bench.out / "tensor.db"
        self.log = bench.out / "tensor.txt"
        self.log.write_text("")
        self.rows = fastest_configurations(bench.swept) if bench.swept else listed_configurations()
        self.began = time.monotonic()
        self.entries = []
        self.promised = 0.0  # share of the time that parts begun so far may use

    def say(self, text):
        print(text, flush=True)
        with open(self.log, "a") as log:
            log.write(text + "\n")

    def judge(self, passed, text):
        verdict(passed, text)
        with open(self.log, "a") as log:
            log.write(("PASS " if passed else "FAIL ") + text + "\n")

    def used_s(self):
        return time.monotonic() - self.began

    def begin_part(self, share):
        """The moment, as used_s() counts, at which a part that begins now should have ended."""
        self.promised += share
        return self.bench.tensor_s * self.promised

    def sweep(self, name, config, limit_s, *arguments):
        code, _, text = self.bench.run(name, "sweep", config, "--db", self.database, "--quiet", *arguments, limit_s=limit_s)
        if code not in (0, *INTERRUPTED):
            self.say(text[-2000:])
        self.keep()
        return code

    def hold(self, part, entries, share, settled_s=0):
        """Holds the finals of some entries, a few at a time, and prints their lines."""
        ends_s = self.begin_part(share)
        for entry in entries:
            if not chosen(self.rows, entry.kind, entry.problem, entry.layout):
                entry.why = "no configuration is listed for it"
                self.say(entry.line())
        listed = [entry for entry in entries if not entry.why]
        left = len(listed)
        for number, group in enumerate(groups_of(listed)):
            own_s = (ends_s - self.used_s()) * len(group) / left
            limit_s = min(MOST_BORROWED * own_s, ends_s - self.used_s())
            left -= len(group)
            self.hold_group(f"tensor_{part}_{number + 1}", group, limit_s, settled_s)
            for entry in group:
                self.say(entry.line())
        self.entries += entries
        below = [f"{entry.problem} {entry.layout}" for entry in entries if not entry.ratio >= entry.floor]
        unheld = sum(1 for entry in entries if entry.why)
        self.judge(not below, f"tensor_{part}: {len(entries) - len(below)} of {len(entries)} problems reach their floor"
                   + (f", {unheld} without finals" if unheld else "") + f", after {self.used_s():.0f} s in all"
                   + (f"; below: {', '.join(below)}" if below else ""))

    def hold_group(self, name, group, limit_s, settled_s):
        if limit_s < 1:
            for entry in group:
                entry.why = f"the time of its part was used up, after {self.used_s():.0f} s in all"
            return
        config = write_config(self.bench.out, name, self.rows, group[0].kind, group[0].layout, [entry.problem for entry in group],
                              SETTLED_FINALISTS if settled_s else FINALISTS)
        more = ("--sustained", f"{settled_s:g}s") if settled_s else ()
        code = self.sweep(name, config, limit_s, *more)
        for entry in group:
            self.take(entry, code, limit_s)

    def take(self, entry, code, limit_s):
        ended = (f"the {limit_s:.0f} s of its sweep were used up" if code in INTERRUPTED else "the sweep left them out" if code == 0
                 else f"the sweep ended with exit status {code}")
        if self.database.exists():
            take_result(self.database, entry, ended)
        else:
            entry.why = ended

    def edges(self):
        """Configurations of every template, type and layout, each verified, in the time that is left; those that fail by template."""
        left_s = self.bench.tensor_s - self.used_s()
        if left_s < 3:
            self.judge(False, "tensor_edges: not run, the time was used up")
            return
        name = "tensor_edges"
        database = self.bench.out / f"{name}.db"
        code, wall, text = self.bench.run(name, "sweep", "configs/hgemm_verify.json", "--quiet", "--db", database,
                                          "--budget", max(1, round(left_s * VERIFIED_PER_SECOND)), limit_s=left_s + 10)
        if not database.exists():
            self.judge(False, f"tensor_edges: exit status {code}: {text[-500:]}")
            return
        found = outcomes(database)
        covered = query(database, "SELECT count(DISTINCT template), count(DISTINCT problem), "
                                  "count(DISTINCT element_types || options || template) FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")[0]
        self.judge(code in (0, *INTERRUPTED) and all_ran(found),
                   f"tensor_edges: {ran(found)} of {sum(found.values())} configurations verified, {covered[0]} templates in {covered[2]} "
                   f"types and layouts at {covered[1]} problems, {wall:.0f} s")
        for row in query(database, "SELECT outcome, count(*), template, problem, element_types, options, min(parameters), "
                                   "min(substr(reason, 1, 200)) FROM trial WHERE kind = 'kernel' AND outcome <> 'ok' "
                                   "GROUP BY 1, 3, 4, 5, 6 LIMIT 20"):
            self.say("     " + " ".join(map(str, row)))
        if code not in (0, *INTERRUPTED):
            self.say(text[-2000:])

    def means(self):
        """Geometric means of the ratios in half precision, which are the last lines."""
        for kind in HALVES_SHARE:
            rows = [entry for entry in self.entries if entry.kind == kind and entry.state == "burst"]
            if not rows:
                continue
            aligned = [entry for entry in rows if entry.problem not in UNALIGNED]
            of_aligned, of_all = mean(entry.ratio for entry in aligned), mean(entry.ratio for entry in rows)
            held = [sum(1 for entry in some if not entry.why) for some in (aligned, rows)]
            self.judge(of_aligned >= MEAN_FLOOR and of_all >= MEAN_OF_ALL and held[1] == len(rows),
                       f"tensor_{kind}: geometric mean {of_aligned:.3f} of {held[0]} of {len(aligned)} rows whose lines are aligned (at least "
                       f"{MEAN_FLOOR:.2f}, aim {MEAN_AIM:.2f}), {of_all:.3f} of {held[1]} of {len(rows)} rows (at least {MEAN_OF_ALL:.2f})")

    def keep(self):
        """Copies database and log to $OUT."""
        folder = os.environ.get("OUT")
        if not folder or not pathlib.Path(folder).is_dir() or pathlib.Path(folder).resolve() == self.bench.out.resolve():
            return
        pathlib.Path(folder, self.log.name).write_text(self.log.read_text())
        if self.database.exists():
            copy = pathlib.Path(folder, self.database.name)
            copy.unlink(missing_ok=True)
            with sqlite3.connect(self.database) as source, sqlite3.connect(copy) as target:
                source.backup(target)


def mean(values):
    known = [value for value in values if value > 0]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan


def check(bench):
    bench.cold()
    one = TensorCheck(bench)
    try:
        one.say(f"     {'':8} {'type':5} {'problem':16} {'':2}   ratio  floor    aim  best, beside the faster of cuBLAS and cuBLASLt")
        for kind, share in HALVES_SHARE.items():
            one.hold(kind, entries_of(HALVES, "burst", kind), share)
        problems = sum(len(some) for some, _, _, _ in SETTLED) * len(HALVES_SHARE)
        # The best and the libraries' kernels, one after another.
        settled_s = round(min(SETTLED_S, max(0.5, SETTLED_SHARE * bench.tensor_s / max(1, problems) / (SETTLED_FINALISTS + 2))), 1)
        for kind in HALVES_SHARE if SETTLED else ():
            one.say(f"     settled: {settled_s:g} s back to back")
            one.hold(f"{kind}_settled", entries_of(SETTLED, "settled", kind), SETTLED_SHARE / len(HALVES_SHARE), settled_s)
        for kind, table in NARROW.items():
            one.hold(kind, entries_of(table, "burst", kind), NARROW_SHARE / len(NARROW))
        one.edges()
        one.means()
    finally:
        one.keep()
