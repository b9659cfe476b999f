"""Scores of search strategies against random search, after the method of Willemsen et al. (docs/strategies.md)."""

import dataclasses
import math

import numpy

CUTOFF_START = 0.5
CUTOFF_END = 0.95
RESOLUTION = 1000  # points of the time axis
CONFIDENCE = 0.95


@dataclasses.dataclass
class Run:
    """One search. Each step found a configuration faster than all before it."""

    steps: list  # of (evaluation counted from 1, seconds until then, time in us)
    evaluations: int
    seconds: float


class RecordedSpace:
    """The times (us; NaN: it did not run) and the costs (seconds) of all configurations."""

    def __init__(self, times_us, costs_s):
        self.times_us = numpy.asarray(times_us, dtype=float)
        self.costs_s = numpy.asarray(costs_s, dtype=float)
        self.sorted_us = numpy.sort(self.times_us[~numpy.isnan(self.times_us)])
        if len(self.sorted_us) == 0:
            raise ValueError("no configuration of the space has a time")
        if not numpy.all(numpy.isfinite(self.costs_s)) or self.costs_s.min() < 0 or self.costs_s.sum() <= 0:
            raise ValueError("the recording does not say what its evaluations cost")
        self.mean_cost_s = float(self.costs_s.mean())
        self.cost_variation = float(self.costs_s.std()) / self.mean_cost_s
        self.random_rank = self._expected_ranks()

    @property
    def size(self):
        return len(self.times_us)

    @property
    def valid(self):
        return len(self.sorted_us)

    @property
    def best_us(self):
        return float(self.sorted_us[0])

    def _expected_ranks(self):
        """Expected rank (0: fastest) of the best of a random search after 0, 1, ..., size evaluations.

        Each is drawn once. While none has run, the slowest that runs counts as found.
        """
        invalid = self.size - self.valid
        drawn = numpy.arange(self.size)
        with numpy.errstate(divide="ignore"):
            left = numpy.log(numpy.maximum(invalid - drawn, 0)) - numpy.log(self.size - drawn)
        none_ran = numpy.exp(numpy.concatenate([[0], numpy.cumsum(left)]))
        drawn = numpy.arange(self.size + 1)
        # The smallest of M of T places is at (T + 1) / (M + 1) on average. Where it is beyond the valid ones, that
        # average is valid + (invalid + 1) / (M + 1), for which the slowest valid one stands.
        return (self.size + 1 - none_ran * (invalid + 1)) / (drawn + 1) - 1

    def time_at(self, rank):
        """Time of a rank, interpolated between neighbours."""
        return numpy.interp(rank, numpy.arange(self.valid), self.sorted_us)

    def rank_of(self, time_us):
        return numpy.minimum(numpy.searchsorted(self.sorted_us, time_us), self.valid - 1)

    def cutoff_evaluations(self, percentile):
        """Evaluations until random search has gone this part of the way from the median to the optimum."""
        target = self.best_us + (float(numpy.median(self.sorted_us)) - self.best_us) * (1 - percentile)
        reached = int(numpy.count_nonzero(self.sorted_us <= target))
        return max(1, math.ceil((self.valid - reached) / (reached + 1)))

    def evaluation_range(self):
        return numpy.arange(self.cutoff_evaluations(CUTOFF_START), self.cutoff_evaluations(CUTOFF_END) + 1)

    def time_range(self):
        first, last = (self.cutoff_evaluations(part) * self.mean_cost_s for part in (CUTOFF_START, CUTOFF_END))
        return numpy.linspace(first, last, RESOLUTION)

    def budget(self, least):
        """Evaluations that reach the end of the time range even where most are as cheap as the cheapest tenth."""
        cheap = max(float(numpy.quantile(self.costs_s, 0.1)), 1e-3 * self.mean_cost_s)
        return min(self.size, max(least, math.ceil(self.time_range()[-1] / cheap)))

    def baseline_over_evaluations(self, evaluations):
        return self.time_at(numpy.interp(evaluations, numpy.arange(self.size + 1), self.random_rank))

    def baseline_over_time(self, seconds):
        """At each time: the mean number of evaluations that a random search has completed by then."""
        completed = numpy.asarray(seconds) / self.mean_cost_s + (self.cost_variation**2 - 1) / 2
        return self.baseline_over_evaluations(numpy.clip(completed, 0, self.size))


def run_from_order(space, order):
    """The run that evaluates these configurations, by number."""
    run = Run([], len(order), 0.0)
    best = math.inf
    for evaluation, number in enumerate(order, 1):
        run.seconds += float(space.costs_s[number])
        time_us = float(space.times_us[number])
        if time_us < best:
            best = time_us
            run.steps.append((evaluation, run.seconds, time_us))
    return run


def found_at(run, axis, column):
    """The best time at each point of the axis, NaN before the first; column 0: evaluations, 1: seconds."""
    steps = numpy.array([(-math.inf, -math.inf, math.nan), *run.steps])
    return steps[numpy.searchsorted(steps[:, column], axis, side="right") - 1, 2]


def ranks_at(space, runs, axis, column):
    """A row for each run. While nothing has run, the slowest that runs counts as found. A run keeps its last value."""
    found = numpy.array([found_at(run, axis, column) for run in runs])
    return numpy.where(numpy.isnan(found), space.valid - 1, space.rank_of(found)).astype(float)


@dataclasses.dataclass
class Score:
    value: float
    resampled: numpy.ndarray  # the value for runs drawn with replacement

    def interval(self):
        if len(self.resampled) == 0:
            return None
        tail = (1 - CONFIDENCE) / 2
        return tuple(float(one) for one in numpy.quantile(self.resampled, (tail, 1 - tail)))


def mean_score(scores):
    """Over spaces. A deterministic strategy has one run on each, and no spread."""
    spreads = [score.resampled for score in scores if len(score.resampled) > 0]
    fixed = sum(score.value for score in scores if len(score.resampled) == 0)
    value = sum(score.value for score in scores) / len(scores)
    return Score(value, (sum(spreads) + fixed) / len(scores) if spreads else numpy.array([]))


def _score(space, ranks, baseline, resamples, generator):
    way = numpy.minimum(space.best_us - baseline, -1e-12 * space.best_us)

    def of(mean_ranks):
        return ((space.time_at(mean_ranks) - baseline) / way).mean(axis=-1)

    count = len(ranks)
    value = float(of(ranks.mean(axis=0)))
    if count < 2:
        return Score(value, numpy.array([]))
    weights = generator.multinomial(count, [1 / count] * count, size=resamples) / count
    return Score(value, of(weights @ ranks))


def score_over_time(space, runs, resamples=1000, seed=1):
    """0: as good as random search, 1: the optimum from the beginning."""
    axis = space.time_range()
    generator = numpy.random.default_rng(seed)
    return _score(space, ranks_at(space, runs, axis, 1), space.baseline_over_time(axis), resamples, generator)


def score_over_evaluations(space, runs, resamples=1000, seed=1):
    axis = space.evaluation_range()
    generator = numpy.random.default_rng(seed)
    return _score(space, ranks_at(space, runs, axis, 0), space.baseline_over_evaluations(axis), resamples, generator)


def fractions_of_best(space, runs, evaluations):
    """Mean over runs of the best time / the time found after so many evaluations; 0 while nothing has run."""
    found = numpy.array([found_at(run, evaluations, 0) for run in runs])
    return [float(one) for one in numpy.where(numpy.isnan(found), 0, space.best_us / found).mean(axis=0)]
