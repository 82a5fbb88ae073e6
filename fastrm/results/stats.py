"""Statistics of groups of runs: plain arrays in, numbers out.

Runs that never reach a threshold are *censored*: they count as later than every run that did, and are never dropped. A
percentile that falls among them is infinite.

Intervals are over maps, where an experiment speaks of maps, or over the seeds of one map. Runs on one map share its
walls and objects, so they are not independent evidence about maps: the unit of replication is the map. With m_k the
mean on map k of K, the mean m of the m_k has the standard error e = s / sqrt(K).

Student's interval m +- q e excludes the truth far too often where the m_k are skewed: in a sample without the rare
large values, m and s are both too small. Johnson (1978) moves both ends towards the long tail, by b (1 + 2 q^2) e with
b = skewness / (6 sqrt(K)). Few maps need two additions, calibrated by simulation on normal, exponential, lognormal and
t3 populations and 10 to 100 maps:

- The skewness of few maps is too small and uncertain. It is multiplied by (1 + 12/K)^2, with K at least 10, up to 8.
- Outliers of a symmetric population look like skewness. So the end on the short side is no nearer than Student's
  one-sided end, and no nearer than his two-sided end where the skewness is 2 or more.

Other populations were not used for it. There p is below 5 % in 1 to 2 % of draws of 10 maps on bounded symmetric data,
in 4 to 5 % on gamma, Laplace and chi-square data, and in 10 to 19 % where a fifth of the maps decides. With 30 maps it
is in 2 to 7 %.

The p-value solves the same equations for the level at which an end is 0, so that it is below 5 % if and only if the
95 % interval excludes 0. Other statistics get percentiles over resamples of maps, and of runs within them, at a level
widened for the number of maps (Hesterberg 2015: percentiles are as close as if K were K - 1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_number
from fastrm.errors import ConfigError
from fastrm.results.schema import VALUES, Variable, find_number

if TYPE_CHECKING:
    from fastrm.experiments import Plan
    from fastrm.results.dataset import Results

QUARTILES = (25.0, 50.0, 75.0)


def band(curves: Array, percentiles: Sequence[float] = QUARTILES) -> Array:
    """Return percentiles over runs of curves [run, tick], as [percentile, tick]; before its first episode a run has 0.

    >>> band(np.array([[np.nan, 1.0], [0.5, 3.0], [1.0, 2.0]])).tolist()
    [[0.25, 1.5], [0.5, 2.0], [0.75, 2.5]]
    """
    return np.asarray(np.percentile(np.nan_to_num(curves, nan=0.0), percentiles, axis=0))


def censored_percentile(values: Array, percentile: float) -> float:
    """Return a percentile, interpolated linearly, of values among which NaN means *later than all others*.

    >>> censored_percentile(np.array([3.0, 1.0, np.nan]), 50)
    3.0
    >>> censored_percentile(np.array([3.0, 1.0, np.nan, np.nan]), 50)
    inf
    """
    ordered = np.sort(np.where(np.isnan(values), np.inf, values))
    place = percentile / 100 * (len(ordered) - 1)
    low, part = int(place), place - int(place)
    if part == 0:
        return float(ordered[low])
    return float(ordered[low] + part * (ordered[low + 1] - ordered[low])) if ordered[low + 1] < np.inf else np.inf


def permutation_p(one: Array, two: Array, rounds: int = 20_000, seed: int = 0) -> float:
    """Return how often a random division of the pooled values gives at least the observed Kolmogorov-Smirnov distance.

    That is the largest gap between two empirical distributions; ties are exact. The observed division counts as one of
    the rounds, so the result is never 0.
    """
    pooled = np.concatenate([one, two])
    order = np.argsort(pooled, kind="stable")
    last = np.append(np.diff(pooled[order]) > 0, True)  # compare only after the last of equal values
    random = np.random.default_rng(seed)
    is_first = np.zeros((rounds, len(pooled)), dtype=np.bool_)
    is_first[:, : len(one)] = True
    is_first = random.permuted(is_first, axis=1)
    is_first[0] = np.isin(order, np.arange(len(one)))  # as observed
    inside = is_first.cumsum(axis=1)[:, last]
    count = np.arange(1, len(pooled) + 1)[last]
    gaps = np.abs(inside / len(one) - (count - inside) / len(two)).max(axis=1)
    return float(np.mean(gaps >= gaps[0] - 1e-12))


def iqm(values: Array) -> Any:
    """Return the inter-quartile mean over the last axis: the mean without the lowest and the highest quarter.

    >>> float(iqm(np.array([100.0, 1.0, 2.0, 3.0])))
    2.5
    """
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    return ordered[..., count // 4 : count - count // 4].mean(axis=-1)


def improvements(one: Array, two: Array) -> Array:
    """Return what each pair of runs adds to the probability that a run of `one` exceeds one of `two`, ties half.

    That is the share of `two` that its first run exceeds, plus the share of `one` that exceeds its second run, minus
    the probability. So the mean over pairs is the probability (Mann-Whitney U / n^2), and their spread gives its error.

    >>> improvements(np.array([1.0, 2.0]), np.array([1.0, 0.0])).tolist()
    [0.625, 1.125]
    """

    def share_below(values: Array, others: Array) -> Array:
        """Return the share of the others that each value exceeds, ties counting half."""
        ordered = np.sort(others)
        twice = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
        return np.asarray(twice / (2 * len(others)))

    lost = share_below(two, one)
    return np.asarray(share_below(one, two) - lost + lost.mean())


def holm(p_values: Sequence[float]) -> Array:
    """Return p-values corrected for their number (Holm 1979), in the same order; those that are NaN stay NaN.

    With these, the chance of one or more findings below 5 % where there is nothing is at most 5 %.

    >>> holm([0.01, 0.04, 0.02]).tolist()
    [0.03, 0.04, 0.04]
    """
    for k, p in enumerate(p_values):
        if p == p:
            check_number(f"p_values[{k}]", p, 0, 1)
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")[: np.isfinite(given).sum()]
    corrected = np.full(len(given), np.nan)
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    return corrected


Over = Literal["maps", "seeds"]
LEVEL = 0.95
ROUNDS = 2000
MOST_RESAMPLED = 20_000
"""Runs of which hundreds of resamples still take about a second."""
JACKKNIFE_PARTS = 40
MOST_SKEWED = 8.0


class Interval(NamedTuple):
    """A 95 % interval, and over what it was taken; NaN where a single map or run gives none."""

    low: float
    high: float
    over: Over
    p: float = math.nan
    """Two-sided p-value of a mean of 0; NaN for other statistics."""


def interval_of_mean(values: Array, maps: Array) -> Interval:
    """Return an interval of the mean over maps of the means on each; over seeds where there is one map.

    >>> skewed = np.array([0.0, 0.0, 0.1, 0.1, 0.2, 0.3, 0.8, 2.4])
    >>> interval = interval_of_mean(skewed, np.arange(8))
    >>> interval.over, bool(interval.high - skewed.mean() > skewed.mean() - interval.low), round(interval.p, 3)
    ('maps', True, 0.13)
    """
    groups = by_map(values, maps)
    over: Over = "maps" if len(groups) > 1 else "seeds"
    means = np.array([group.mean() for group in groups]) if over == "maps" else groups[0]
    count = len(means)
    if count < 2:
        return Interval(math.nan, math.nan, over)
    middle, spread = float(means.mean()), float(means.std())
    if spread == 0.0:
        return Interval(middle, middle, over, float(middle == 0.0))
    error = spread / math.sqrt(count - 1)
    skewness = float((((means - middle) / spread) ** 3).mean())
    shift = min((1 + 12 / max(count, 10)) ** 2 * abs(skewness), MOST_SKEWED) / (6 * math.sqrt(count))
    share = min(0.5 + abs(skewness) / 4, 1.0)  # of Student's p-value: a half is that of one side
    t, freedom = abs(middle) / error, count - 1
    p = _p_on_long_side(t, shift, freedom) if middle * skewness < 0 else _p_on_short_side(t, shift, share, freedom)
    long, short = _reaches(shift, share, freedom)
    below, above = (short, long) if skewness > 0 else (long, short)
    return Interval(middle - below * error, middle + above * error, over, p)


def _reaches(shift: float, share: float, freedom: int) -> tuple[float, float]:
    """Return how many standard errors an interval reaches on the long and on the short side."""
    q = student_point(1 - LEVEL, freedom)
    top = min(q, 1 / (4 * shift)) if shift else q  # beyond, a larger q would shorten the reach
    short = max(top - shift * (1 + 2 * top**2), student_point((1 - LEVEL) / share, freedom))
    return q + shift * (1 + 2 * q**2), short


def _p_on_long_side(reach: float, shift: float, freedom: int) -> float:
    """Return the p-value at which q + shift (1 + 2 q^2) is the reach."""
    rest = reach - shift
    return student_p(2 * rest / (1 + math.sqrt(1 + 8 * shift * rest)), freedom) if rest > 0 else 1.0


def _p_on_short_side(reach: float, shift: float, share: float, freedom: int) -> float:
    """Return the p-value at which q - shift (1 + 2 q^2) is the reach, or Student's where that is larger."""
    root = 1 - 8 * shift * (reach + shift)
    shifted = student_p(2 * (reach + shift) / (1 + math.sqrt(root)), freedom) if root >= 0 else 0.0
    return max(shifted, share * student_p(reach, freedom))


def interval_of(
    statistic: Callable[[Array], Any], values: Array, maps: Array, *, rounds: int = 400, seed: int = 0
) -> Interval:
    """Return an interval of a statistic of all runs, such as the inter-quartile mean, over its last axis.

    Maps are resampled, and runs within them; where there is one map, its runs. Of more than `MOST_RESAMPLED` runs one
    map, or one part of the runs of one map, is left out at a time instead.
    """
    groups = by_map(values, maps)
    over: Over = "maps" if len(groups) > 1 else "seeds"
    count = len(groups) if over == "maps" else len(groups[0])
    if count < 2:
        return Interval(np.nan, np.nan, over)
    if len(values) > MOST_RESAMPLED:
        middle = float(statistic(values))
        reach = _jackknife(statistic, groups if over == "maps" else np.array_split(groups[0], JACKKNIFE_PARTS))
        return Interval(middle - reach, middle + reach, over)
    random = np.random.default_rng(seed)
    if over == "seeds":
        resamples = groups[0][random.integers(0, count, (rounds, count))]
    else:
        resamples = _resample_runs(groups, rounds, random)
    beyond = NormalDist().cdf(-math.sqrt(count / (count - 1)) * student_point(1 - LEVEL, count - 1))
    low, high = np.percentile(statistic(resamples), [100 * beyond, 100 * (1 - beyond)])
    return Interval(float(low), float(high), over)


def _jackknife(statistic: Callable[[Array], Any], groups: Sequence[Array]) -> float:
    """Return how far an interval of a statistic reaches, by leaving out one of some groups of values at a time."""
    count = len(groups)
    rests = (np.concatenate([group for j, group in enumerate(groups) if j != k]) for k in range(count))
    without = np.array([statistic(rest) for rest in rests])
    return student_point(1 - LEVEL, count - 1) * math.sqrt((count - 1) * float(without.var()))


def interval_of_gap(one: Array, two: Array, *, rounds: int = ROUNDS, seed: int = 0) -> tuple[float, float]:
    """Return an interval of the mean of one sample of maps minus that of another, by bootstrap-t (Welch's error)."""
    random = np.random.default_rng(seed)
    resamples = [sample[random.integers(0, len(sample), (rounds, len(sample)))] for sample in (one, two)]

    def gap_and_error(first: Array, second: Array) -> tuple[Any, Any]:
        errors = [sample.var(axis=-1, ddof=1) / sample.shape[-1] for sample in (first, second)]
        return first.mean(axis=-1) - second.mean(axis=-1), np.sqrt(errors[0] + errors[1])

    if min(len(one), len(two)) < 2:
        return math.nan, math.nan
    gap, error = gap_and_error(one, two)
    if error == 0.0:
        return float(gap), float(gap)
    gaps, errors = gap_and_error(*resamples)
    fine = errors > 1e-9 * error
    low, high = np.percentile((gaps - gap)[fine] / errors[fine], [50 * (1 + LEVEL), 50 * (1 - LEVEL)])
    return float(gap - low * error), float(gap - high * error)


def interval_of_share(held: int, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of independent units, such as maps.

    >>> tuple(round(end, 3) for end in interval_of_share(21, 30))
    (0.521, 0.833)
    """
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    middle = (held + z * z / 2) / (count + z * z)
    reach = z / (count + z * z) * math.sqrt(held * (count - held) / count + z * z / 4)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def by_map(values: Array, maps: Array) -> list[Array]:
    """Return the values of every map, maps in order of their names."""
    order = np.argsort(maps, kind="stable")
    changes = np.flatnonzero(maps[order][1:] != maps[order][:-1]) + 1
    return np.split(values[order], changes) if len(values) else []


def mean_over_maps(values: Array, maps: Array) -> float:
    """Return the mean over maps of the mean on each."""
    return float(np.mean([group.mean() for group in by_map(values, maps)]))


def _resample_runs(groups: list[Array], rounds: int, random: np.random.Generator) -> Array:
    """Draw maps, then as many runs of each as the map with most has: [round, map x run]."""
    sizes = np.array([len(group) for group in groups])
    table = np.zeros((len(groups), sizes.max()))
    for k, group in enumerate(groups):
        table[k, : len(group)] = group
    chosen = random.integers(0, len(groups), (rounds, len(groups)))
    within = (random.random((*chosen.shape, sizes.max())) * sizes[chosen][:, :, None]).astype(np.int64)
    return np.asarray(table[chosen[:, :, None], within].reshape(rounds, -1))


@lru_cache
def student_point(p: float, freedom: int) -> float:
    """Return the point that Student's t exceeds on either side with probability p / 2.

    >>> round(student_point(0.05, 9), 6)
    2.262157
    """
    point, step = 0.0, math.inf
    while step > 1e-12 * point:  # Newton's method, from the left of a convex function
        density = _scale(freedom) / math.sqrt(freedom) * (1 + point**2 / freedom) ** (-(freedom + 1) / 2)
        step = (student_p(point, freedom) - p) / density
        point += step
    return point


def student_p(t: float, freedom: int) -> float:
    """Return how likely the size of Student's t exceeds a number: an integral of sin(x)^(freedom - 1)."""
    end = math.atan2(math.sqrt(freedom), abs(t))
    places, weights = _gauss()
    return min(_scale(freedom) * end * float(weights @ np.sin(end * places) ** (freedom - 1)), 1.0)


def _scale(freedom: int) -> float:
    return 2 / math.sqrt(math.pi) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))


@cache
def _gauss() -> tuple[Array, Array]:
    """Return places and weights of a Gauss-Legendre rule on [0, 1]."""
    places, weights = np.polynomial.legendre.leggauss(80)
    return (places + 1) / 2, weights / 2


FIGURES = {
    "quartiles": tuple(f"_{q:.0f}" for q in QUARTILES),
    "median": ("_50",),
    "mean": ("",),
    "iqm": ("", "_low", "_high"),
    "share": ("", "_low", "_high"),
}
"""Figures of a group of runs, and the endings of their columns."""
_SUMMARIES = sorted(
    ((value, figure, column) for value in VALUES for figure, column in value.summary), key=lambda row: row[1] == "share"
)
"""What a summary gives, in order: shares of runs come last."""


def _columns(figures: Iterable[tuple[Variable, str, str]]) -> tuple[str, ...]:
    return "maps", "over", *(column + end for _, figure, column in figures for end in FIGURES[figure])


SUMMARY = _columns(_SUMMARIES)
"""Columns of `Results.summary`, NaN where all runs of a group failed; some are on request."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Two methods, or two values of another coordinate, compared run by run."""

    one: str
    two: str
    value: str
    """What is compared."""
    pairs: int
    """Runs of either that are alike in all else: map, task, method, settings and seed."""
    maps: int
    """Maps these are on."""
    over: Over
    """What intervals and p-value are over: maps, so that they speak of maps like these, or the seeds of one map, so
    that they speak of that map alone."""
    difference: float
    """Mean of the first minus the second: positive where the first has more. Of steps, more is worse."""
    low: float
    """Lower end of a 95 % interval of the difference."""
    high: float
    p: float
    """Two-sided p-value of a difference of 0, from the same equations as the interval: it is below 0.05 if and only if
    the interval excludes 0. NaN where a single map or pair gives none."""
    probability: float
    """How likely a run of the first is better than one of the second on the same map and task, ties counting half,
    averaged over maps. Better is more, of steps fewer."""
    probability_low: float
    """Lower end of a 95 % interval of the probability."""
    probability_high: float
    never: int = 0
    """Runs of either that never got there. They count with the whole length of the run, so that the difference is one
    of *restricted means*: of the steps within that length."""

    def __str__(self) -> str:
        what = f"restricted mean of {self.value}" if self.never else self.value
        p = "p < 0.0001" if self.p < 1e-4 else f"p {self.p:.2g}"
        return (
            f"{self.one} minus {self.two}, {what}: {self.difference:.6g} [{self.low:.6g}, {self.high:.6g}] "
            f"over {self.over} ({self.maps} map{'s' * (self.maps > 1)}, {self.pairs} pairs), {p}, "
            f"better with probability {self.probability:.3f} [{self.probability_low:.3f}, {self.probability_high:.3f}]"
        )


def summarise(results: Results, by: Sequence[str], over: Over | None) -> list[dict[str, Any]]:
    """Return a row of numbers per group of runs; see `Results.summary`."""
    if not isinstance(by, str | Sequence):
        raise ConfigError(f"by={by!r:.60}: must be a list of coordinates")
    figures = [row for row in _SUMMARIES if not row[0].on_request or row[0].name in results.columns]
    by = (by,) if isinstance(by, str) else tuple(by)
    groups, maps, rows = list(results.groups(*by)), maps_of(results), list[dict[str, Any]]()
    names = ["method" if name == "label" else name for name in by]
    for key, chosen in groups:
        count = len(np.unique(check_over(maps[chosen], over))) if len(chosen) else 0
        rows.append(dict(zip(names, key, strict=True)) | {"runs": len(chosen)})
        rows[-1] |= {"maps": count, "over": "maps" if count > 1 else "seeds"} if count else {}
        rows[-1] |= dict.fromkeys(_columns(figures)[2 * bool(count) :], math.nan)
    for name, of_value in itertools.groupby(figures, key=lambda row: row[0].name):  # one column at a time
        values = results.per_run_values(name)
        for (value, figure, column), (row, (_, chosen)) in itertools.product(of_value, zip(rows, groups, strict=True)):
            if len(chosen):
                numbers = _figure(figure, values[chosen], maps[chosen], value.better == "fewer")
                row |= {column + end: float(number) for end, number in zip(FIGURES[figure], numbers, strict=True)}
    return rows


def _figure(figure: str, values: Array, maps: Array, is_censored: bool) -> Sequence[float]:
    """Return a figure of values on maps, with its interval where it has one."""
    if figure in ("quartiles", "median"):
        percentile = censored_percentile if is_censored else np.percentile
        return [percentile(values, q) for q in (QUARTILES if figure == "quartiles" else (50.0,))]
    if figure == "mean":
        return [values.mean()]
    if figure == "iqm":
        return [iqm(values), *interval_of(iqm, values, maps)[:2]]
    interval = interval_of_mean(values.astype(np.float64), maps)
    return [values.mean(), max(interval.low, 0.0), min(interval.high, 1.0)]


def compare(results: Results, one: Any, two: Any, value: str, by: str, over: Over | None, **wanted: Any) -> Paired:
    """Compare two methods, or two values of another coordinate, run by run; see `Results.compare`."""
    check_choice("by", by, results.coordinates)
    results.check_requested(value)
    is_steps = find_number(value, compared=True, columns=results.columns).better == "fewer"
    alike = [name for name in ("setup", "grid", "task", *results.swept, "method", "seed") if name != by]
    found = [_by_pair(results.select(**wanted | {by: side}), value, by, alike) for side in (one, two)]
    common = [key for key in found[0] if key in found[1]]
    one, two = (str(side) if by == "method" else f"{by} {side}" for side in (one, two))
    if not common:
        but = f" without its {by}" * (by in ("algo", "kind", "shaping"))
        shared = ", ".join(f"method{but}" if name == "method" else "map" if name == "grid" else name for name in alike)
        raise ConfigError(f"{one} and {two} have no runs that share {shared}")
    pair = np.array([[side[key] for key in common] for side in found])
    if not is_steps and np.isnan(pair).any():
        raise ConfigError(f"{value}: some runs have none; nothing to compare")
    ranks = np.where(np.isnan(pair), np.inf, pair) * (-1.0 if is_steps else 1.0)
    strata = np.array(["/".join(map(str, key[: len(key) - (by != "seed")])) for key in common])
    better = np.empty(len(common))
    for stratum in np.unique(strata):
        better[strata == stratum] = improvements(*ranks[:, strata == stratum])
    differences = np.subtract(*np.where(np.isnan(pair), float(results.plan.steps), pair))
    maps = check_over(np.array(["/".join(key[: 1 if by in ("setup", "grid") else 2]) for key in common]), over)
    middle, probability = mean_over_maps(differences, maps), mean_over_maps(better, maps)
    reach = _resolution(results, pair) if is_steps else 0.0
    interval, chance = _widen(interval_of_mean(differences, maps), middle, reach), _interval_of_chance(better, maps)
    return Paired(
        one=one, two=two, value=value, pairs=len(common), maps=len(np.unique(maps)), over=interval.over,
        difference=middle, low=interval.low, high=interval.high, p=interval.p, probability=probability,
        probability_low=chance[0], probability_high=chance[1], never=int(np.isnan(pair).sum()),
    )  # fmt: skip


def _by_pair(side: Results, value: str, by: str, alike: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """Return a number of every run that did not fail, by what it has in common with the other run of its pair."""
    fine = np.flatnonzero(side["error"] == "")
    columns = {name: side[name][fine].tolist() for name in alike}
    if by == "setup":  # the map of a file is called like its setup
        columns["grid"] = ["" if grid == side["setup"][0] else grid for grid in columns["grid"]]
    if by != "method":
        rest = methods_without(side.plan, by)
        columns["method"] = [rest[label] for label in columns["method"]]
    return dict(zip(zip(*columns.values(), strict=True), side.per_run_values(value)[fine].tolist(), strict=True))


def methods_without(plan: Plan, part: str) -> dict[str, tuple[Any, ...]]:
    """Return what is left of every method, by its label, without one of its parts: without kind, algo or shaping."""
    return {m.label: tuple(value for name, value in vars(m).items() if name != part) for m in plan.methods}


def _widen(interval: Interval, middle: float, reach: float) -> Interval:
    """Return an interval that reaches at least `reach` on either side, with the p-value that belongs to it."""
    if math.isnan(interval.p):
        return interval
    p = interval.p if abs(middle) > reach else 1.0
    return interval._replace(low=min(interval.low, middle - reach), high=max(interval.high, middle + reach), p=p)


def _interval_of_chance(better: Array, maps: Array) -> tuple[float, float]:
    """Return an interval of a mean within [0, 1]; Wilson's where all values are 0 or all are 1 and show no spread."""
    interval = interval_of_mean(better, maps)
    if interval.low == interval.high and interval.low in (0.0, 1.0):
        count = len(better) if interval.over == "seeds" else len(np.unique(maps))
        return interval_of_share(round(interval.low * count), count)
    return max(interval.low, 0.0), min(interval.high, 1.0)


def _resolution(results: Results, reached: Array) -> float:
    """Return half the mean distance between the ticks at which something was first seen: the error of steps."""
    tick = results.plan.learner.tick_within(results.plan.steps)
    if tick != "log":
        return float(tick) / 2
    ticks = results["step"]
    which = np.searchsorted(ticks, np.where(np.isnan(reached), ticks[-1], reached))
    return float(np.diff(ticks, prepend=0)[which].mean()) / 2


def maps_of(results: Results) -> Array:
    """Return a number for every run's map, in the order of their setups and names."""
    names = [f"{setup}/{name}" for setup, name in zip(*map(results.plan.values, ("setup", "grid")), strict=True)]
    return np.unique(names, return_inverse=True)[1][results.plan.axis("grid", results.columns["run"])]


def check_over(maps: Array, over: Over | None) -> Array:
    """Return the maps; raise ConfigError where intervals cannot be over `over`: seeds of one map, or several maps."""
    if over is not None:
        check_choice("over", over, ("maps", "seeds"))
    count = len(np.unique(maps))
    if over == "seeds" and count > 1:
        raise ConfigError(f"over='seeds': speaks of one map, but there are {count}; select one with setup and grid")
    if over == "maps" and count == 1:
        raise ConfigError("over='maps': there is only one map; an interval over its seeds speaks of it alone")
    return maps


class Estimate(NamedTuple):
    """A mean over maps with its interval, which a single map does not give (NaN)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]")


def over_maps(values: Array, maps: Array) -> Estimate:
    """Return the mean over maps of the mean on each, with its interval over maps."""
    low, high, over, _ = interval_of_mean(values, maps)
    return Estimate(mean_over_maps(values, maps), *((low, high) if over == "maps" else (math.nan, math.nan)))


def share_over_maps(values: Array, maps: Array) -> Estimate:
    """Return `over_maps` of truth values; the interval of a share stays within 0 and 1."""
    share = over_maps(values, maps)
    return share._replace(low=max(share.low, 0.0), high=min(share.high, 1.0))
