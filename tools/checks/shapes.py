"""How the configs for many shapes do on shapes that they were not made from."""

import math
import random
import statistics

from .common import query, verdict

# (type, config, layouts in turn, shapes)
CONFIGS = (("f16", "configs/hgemm_dispatch.json", ("nn", "nt"), 30), ("f32", "configs/sgemm_dispatch.json", ("nn",), 15))
WRONG = ("wrong_result", "unstable", "out_of_bounds", "crashed", "timeout")


def drawn_shapes(count):
    """M from 1 to 8192, N and K from 64 to 16384, uniform in their logarithms; N and K of two thirds are multiples of 8."""
    draw = random.Random(count)
    shapes = []
    for number in range(count):
        m, n, k = (round(2 ** draw.uniform(*range_of)) for range_of in ((0, 13), (6, 14), (6, 14)))
        if number % 3:
            n, k = n // 8 * 8, k // 8 * 8
        shapes.append(f"{m}x{n}x{k}")
    return shapes


def check_config(bench, type_name, config, layouts, count):
    """A slow kernel is not a failure here."""
    name = f"random_shapes_{type_name}"
    shapes = [(shape, layouts[number % len(layouts)]) for number, shape in enumerate(drawn_shapes(count))]
    stated = [shape if type_name == "f32" else f"{shape},layout={layout},A={type_name}" for shape, layout in shapes]
    _, wall, _, database = bench.sweep(name, config, "--quiet", *(word for text in stated for word in ("--problem", text)))
    best = dict(query(database, "SELECT problem, max(percent_of_baseline) FROM best GROUP BY problem"))
    tried = {problem for problem, in query(database, "SELECT DISTINCT problem FROM trial WHERE kind = 'kernel'")}
    ratios = [best[shape] / 100 for shape, _ in shapes if best.get(shape)]
    for shape, layout in shapes:
        percent = best.get(shape)
        fate = f"{percent:.1f}% of the faster library" if percent else "nothing ran" if shape in tried else "no configuration"
        print(f"  {shape} {layout}: {fate}")
    mean = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else 0
    print(f"{name}: {count} shapes, {wall:.0f} s; {count - len(ratios)} without a configuration that ran; the others reach "
          f"{mean:.3f} of the faster library on average (geometric), {sum(ratio < 1 for ratio in ratios)} are slower than it, "
          f"the slowest at {min(ratios, default=0):.2f}")
    failures = query(database, "SELECT outcome, count(*) FROM trial WHERE kind = 'kernel' GROUP BY outcome")
    verdict(ratios and not {outcome for outcome, _ in failures} & set(WRONG), f"{name}: no kernel is wrong: {dict(failures)}")


def check(bench):
    for arguments in CONFIGS:
        check_config(bench, *arguments)
