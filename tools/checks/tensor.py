"""Products on tensor cores beside cuBLAS and cuBLASLt, and every template at sizes that are hard to get right."""

import json
import math

from .common import HOME, all_ran, outcomes, query, ran, verdict

# Shares of the check's time; what is left is for baselines, finals and compilers that are cold.
HALVES_SHARE = {"f16": 0.22, "bf16": 0.12}
SETTLED_SHARE, NARROW_SHARE = 0.02, 0.05
VERIFIED_PER_SECOND = 6  # of the check's time: most of it compiles
SETTLED_FOR = "3s"

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
          "i8": ((cubes(4096), "nt", 0.97, 1.00),)}
NARROW_TEMPLATES = {"e4m3": "hgemm_persistent", "tf32": "hgemm_persistent", "i8": "hgemm_mma_pipelined"}
# All rows but those whose operands no bulk copy can take.
UNALIGNED = {*cubes(4090, 4092, 4095, 2047), "1000x77x513"}
MEAN_FLOOR, MEAN_AIM, MEAN_OF_ALL = 1.00, 1.02, 1.25


def problems_of(table, kind):
    return [f"{problem},layout={layout},A={kind}" for problems, layout, _, _ in table for problem in problems]


def write_config(bench, name, templates, problems):
    config = bench.out / f"{name}.json"
    config.write_text(json.dumps({"templates": templates, "problems": problems, "baseline": "lt",
                                  "strategy": {"name": "exhaustive", "seed": 1}}))
    return config


def halves_templates(kind):
    """Those of configs/hgemm_dispatch.json, in one type."""
    entries = json.loads((HOME / "configs/hgemm_dispatch.json").read_text())["templates"]
    return [{**entry, "types": {"A": kind}} for entry in entries]


def narrow_template(kind):
    return {"template": NARROW_TEMPLATES[kind], "types": {"A": kind}, "options": {"layout": "nt"},
            "constraints": [{"require": "BM * BN >= 16384", "why": "large tiles for large matrices"}]}


def ratios(database, settled=False):
    """By problem and layout: the best kernel's ratio to the faster library, the best's template, and its share of the copy bandwidth."""
    time = "sustained_us" if settled else "median_us"
    found = query(database, f"SELECT problem, options, kind, {time}, template, percent_of_copy FROM trial "
                            f"WHERE kind IN ('kernel', 'baseline') AND outcome = 'ok' AND timed_in = 'final' AND {time} > 0")
    best = {}
    for problem, options, kind, microseconds, template, copy in found:
        layout = "nt" if "layout=nt" in (options or "") else "nn"
        sides = best.setdefault((problem, layout), {})
        if kind not in sides or microseconds < sides[kind][0]:
            sides[kind] = (microseconds, template, copy)
    return {key: (sides["baseline"][0] / sides["kernel"][0], *sides["kernel"][1:]) for key, sides in best.items() if len(sides) == 2}


def print_table(title, kind, table, found):
    """A line for each problem; returns the ratios."""
    reached = {}
    for problems, layout, floor, aim in table:
        for problem in problems:
            ratio, template, copy = found.get((problem, layout), (math.nan, "no finals", None))
            reached[problem, layout] = ratio
            place = "aim" if ratio >= aim else "floor" if ratio >= floor else "below"
            share = f", {copy:.0f}% of the copy bandwidth" if copy and int(problem.split("x")[0]) <= FEW_ROWS else ""
            print(f"     {title:8} {kind:5} {problem:16} {layout}  {ratio:6.3f}  {floor:5.2f}  {aim:5.2f}  {place:6} {template}{share}")
    return reached


def below_floor(table, reached):
    return [f"{problem} {layout}" for problems, layout, floor, _ in table for problem in problems
            if not reached[problem, layout] >= floor]


def mean(values):
    known = [value for value in values if value > 0]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan


def seconds(bench, share):
    return f"{max(1, round(bench.tensor_s * share))}s"


def check_half(bench, kind):
    name = f"tensor_{kind}"
    config = write_config(bench, name, halves_templates(kind), problems_of(HALVES, kind))
    code, wall, text, database = bench.sweep(name, config, "--quiet", "--budget", seconds(bench, HALVES_SHARE[kind]))
    reached = print_table("burst", kind, HALVES, ratios(database))
    verdict_of(name, code, text, HALVES, reached, wall)
    aligned = mean(ratio for (problem, _), ratio in reached.items() if problem not in UNALIGNED)
    everything = mean(reached.values())
    verdict(aligned >= MEAN_FLOOR and everything >= MEAN_OF_ALL,
            f"{name}: geometric mean {aligned:.3f} where lines are aligned (at least {MEAN_FLOOR}, aim {MEAN_AIM}), "
            f"{everything:.3f} of all (at least {MEAN_OF_ALL})")
    code, wall, text = bench.run(f"{name}_settled", "sweep", config, "--db", database, "--quiet", "--sustained", SETTLED_FOR,
                                 "--budget", seconds(bench, SETTLED_SHARE),
                                 *(word for problem in problems_of(SETTLED, kind) for word in ("--problem", problem)))
    reached = print_table("settled", kind, SETTLED, ratios(database, settled=True))
    verdict_of(f"{name}_settled", code, text, SETTLED, reached, wall)


def check_narrow(bench, kind):
    name = f"tensor_{kind}"
    config = write_config(bench, name, [narrow_template(kind)], problems_of(NARROW[kind], kind))
    code, wall, text, database = bench.sweep(name, config, "--quiet", "--budget", seconds(bench, NARROW_SHARE))
    reached = print_table("burst", kind, NARROW[kind], ratios(database))
    verdict_of(name, code, text, NARROW[kind], reached, wall)


def verdict_of(name, code, text, table, reached, wall):
    below = below_floor(table, reached)
    verdict(code == 0 and not below,
            f"{name}: {len(reached) - len(below)} of {len(reached)} problems reach their floor in {wall:.0f} s"
            + (f"; below: {', '.join(below)}" if below else ""))
    if code != 0:
        print(text[-2000:])


def check_edges(bench):
    """Configurations of every template, type and layout, each verified; those that fail by template."""
    code, wall, text, database = bench.sweep("tensor_edges", "configs/hgemm_verify.json", "--quiet",
                                             "--budget", max(1, round(bench.tensor_s * VERIFIED_PER_SECOND)))
    found = outcomes(database)
    covered = query(database, "SELECT count(DISTINCT template), count(DISTINCT problem), count(DISTINCT element_types || options || template) "
                              "FROM trial WHERE kind = 'kernel' AND outcome = 'ok'")[0]
    verdict(code == 0 and all_ran(found),
            f"tensor_edges: {ran(found)} of {sum(found.values())} configurations verified, {covered[0]} templates in {covered[2]} "
            f"types and layouts at {covered[1]} problems, {wall:.0f} s")
    for row in query(database, "SELECT outcome, count(*), template, problem, element_types, options, min(parameters), "
                               "min(substr(reason, 1, 200)) FROM trial WHERE kind = 'kernel' AND outcome <> 'ok' GROUP BY 1, 3, 4, 5, 6 LIMIT 20"):
        print("    ", *row)
    if code != 0:
        print(text[-2000:])


def check(bench):
    bench.cold()
    print(f"     {'':8} {'type':5} {'problem':16} {'':2}   ratio  floor    aim")
    for kind in HALVES_SHARE:
        check_half(bench, kind)
    for kind in NARROW:
        check_narrow(bench, kind)
    check_edges(bench)
