"""What a search finds in a limited time, beside the best of all configurations.

All configurations are swept on all GPUs, and searched on one of them with 16 compile workers. Then the two winners of each
problem are timed beside each other, in finals of their own.
"""

import collections
import dataclasses
import json
import math
import statistics

from .common import query, texts, verdict, write_finals

WITHIN_PERCENT, WITHIN_PERCENT_ON_AVERAGE = 1.0, 0.5
LIMIT_S = 60


@dataclasses.dataclass
class Search:
    """A config, and how it is searched. The time budget has the finals in it, but not the last one's."""
    config: str
    budget_s: int
    limit_s: int = LIMIT_S
    finalists: int = 3


# SGEMM of 13 problems; the same by nearly all that its templates can run; half precision of 42.
F32, F32_FREE = Search("configs/sgemm_dispatch.json", 57), Search("configs/sgemm_free.json", 175, 180)
F16 = Search("configs/hgemm_dispatch.json", 115, 120)


def problem_text(problem, options):
    return ",".join([problem, *(options or "").split()])


def types_of(database):
    return {types for types, in query(database, "SELECT DISTINCT element_types FROM trial WHERE kind = 'kernel'")}


def winners(database, element_types):
    """By problem, with its options: template and values of the fastest of these types, and the time of the faster library."""
    best, libraries = {}, {}
    for kind, problem, options, template, parameters, types, microseconds in query(
            database, "SELECT kind, problem, options, template, parameters, element_types, median_us FROM trial "
                      "WHERE kind IN ('kernel', 'baseline') AND source = 'measured' AND outcome = 'ok' AND median_us > 0 "
                      "ORDER BY timed_in <> 'final', median_us"):
        if types not in element_types:
            continue
        if kind == "kernel":
            best.setdefault((problem, options or ""), (template, texts(json.loads(parameters))))
        else:
            libraries.setdefault((problem, options or ""), microseconds)
    return best, libraries


def tried(database):
    return dict(((problem, options or ""), count) for problem, options, count in query(
        database, "SELECT problem, options, count(*) FROM trial WHERE kind = 'kernel' GROUP BY 1, 2"))


def key_of(problem, template, values):
    return problem, template, json.dumps(values, sort_keys=True)


def hold_finals(bench, name, candidates):
    """Times candidates of each problem beside each other. By problem: the time of each, and that of the faster library."""
    times = {}
    groups = collections.defaultdict(list)
    for problem, options in candidates:
        groups[options].append(problem)
    for number, (options, problems) in enumerate(groups.items()):
        rows = [{"problem": problem, "template": template, "values": values}
                for problem in problems for template, values in candidates[problem, options]]
        config = write_finals(bench.out, f"{name}_{number}", rows, dict(one.split("=") for one in options.split()),
                              [problem_text(problem, options) for problem in problems], max(map(len, candidates.values())))
        code, _, text, database = bench.sweep(f"{name}_{number}", config, "--gpus", "0", "--quiet")
        if code != 0:
            print(text[-2000:])
        found = {}
        for problem, template, parameters, microseconds in query(
                database, "SELECT problem, template, parameters, median_us FROM trial WHERE kind = 'kernel' AND outcome = 'ok' AND timed_in = 'final'"):
            found[key_of(problem, template, texts(json.loads(parameters)))] = microseconds
        _, libraries = winners(database, types_of(database))
        for problem in problems:
            times[problem, options] = ([found.get(key_of(problem, template, values), math.nan)
                                        for template, values in candidates[problem, options]],
                                       libraries.get((problem, options), math.nan))
    return times


def print_summary(text):
    print("     " + next((line for line in text.splitlines() if " configurations in " in line), text[-300:]), flush=True)


def run_search(bench, name, search):
    """Searches on one GPU; its database and wall time."""
    bench.cold()
    _, wall, text, database = bench.sweep(name, search.config, "--strategy", "surrogate", "--budget", f"{search.budget_s}s", "--finals",
                                          search.finalists, "--gpus", "0", "--jobs", "16", "--quiet")
    print_summary(text)
    return database, wall


def compare(bench, name, everything, search):
    """Prints how far behind the best of everything a search is; its ratios to the faster library."""
    database, wall = run_search(bench, name, search)
    types = types_of(database)
    best, _ = winners(everything, types)
    found, _ = winners(database, types)
    counts = tried(database)
    if missing := [problem_text(*key) for key in counts if key not in best]:
        verdict(False, f"{name}: {everything} has no row that ran of {', '.join(missing)}")
        return
    times = hold_finals(bench, f"{name}_finals", {key: [best[key], found.get(key, best[key])] for key in best})
    behind, ratios = [], []
    print(f"     {'problem':28} tried  all_us  search_us  behind_percent  of_baseline")
    for key, ((of_all, of_search), library) in times.items():
        behind.append(100 * (of_search / of_all - 1) if key in found else math.nan)
        if library / of_search > 0:
            ratios.append(library / of_search)
        print(f"     {problem_text(*key):28} {counts.get(key, 0):5}  {of_all:6.5g}  {of_search:9.5g}  {behind[-1]:14.2f}  {library / of_search:11.3f}")
    verdict(all(one <= WITHIN_PERCENT for one in behind) and statistics.fmean(behind) <= WITHIN_PERCENT_ON_AVERAGE and wall <= search.limit_s,
            f"{name}: {sum(one <= WITHIN_PERCENT for one in behind)} of {len(behind)} problems within {WITHIN_PERCENT:g}% of the best of all, "
            f"{statistics.fmean(behind):.2f}% behind on average, {sum(counts.values())} configurations in {wall:.0f} s (at most {search.limit_s}); "
            f"geometric mean {statistics.geometric_mean(ratios) if ratios else math.nan:.3f} of the faster library")


def everything_of(bench, name, config):
    """A database of all configurations: the one that is given, or of a sweep."""
    if bench.swept:
        return bench.swept
    bench.cold()
    _, _, text, database = bench.sweep(name, config, "--strategy", "exhaustive", "--gpus", "all", "--quiet")
    print_summary(text)
    return database


def check(name, search):
    return lambda bench: compare(bench, name, everything_of(bench, f"{name}_all", search.config), search)


CHECKS = {"search": check("search", F32), "search_half": check("search_half", F16),
          "search_free": lambda bench: compare(bench, "search_free", everything_of(bench, "search_free_all", F32.config), F32_FREE)}
