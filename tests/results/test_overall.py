"""Statistics over all tasks agree with independent implementations, and their intervals are over maps."""

import math
import os

import ask_rliable
import numpy as np
import pytest
from scipy import stats as scipy_stats

from fastrm import ConfigError, load
from fastrm.results import iqm, kaplan_meier, optimality_gap, performance_profile
from fastrm.results.overall import count_arrivals, weighted_iqm, weighted_profile
from fastrm.results.stats import interval_of_mean

from made_results import make_file, make_plan

METHODS = ask_rliable.METHODS
RLIABLE = {  # what tests/helpers/ask_rliable.py printed, with rliable 1.2.0: inter-quartile mean and optimality gap
    "crm-num": (0.6166666666666667, 0.39583333333333337),
    "qrm-num": (0.49583333333333335, 0.51875),
}
RLIABLE_IMPROVEMENT = 0.6180555555555556  # with a column per task and map


def make(path, turn, **changes):
    settings = {"maps": 4, "seeds": 3, "map_files": (), "tasks": ("a", "a-b"), "methods": METHODS}
    return load(make_file(path / "x.h5", turn, make_plan(**settings | changes)))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The runs that rliable was asked about; their steps are spread out, and some never get there."""
    random = np.random.default_rng(3)

    def turn(run):
        place = run["setup"] != "1a1b1c", run["grid"] % 4, run["task"] != "a", run["seed"]
        steps = 20_000.0 * (1 + int(random.exponential(10 * (1.0 + 0.5 * (run["label"] == "qrm-num")))))
        score = ask_rliable.score(METHODS.index(run["label"]), *map(int, place))
        run.update(steps=steps if steps < 500_000 else np.nan, score=score, full_from=0)

    return make(tmp_path_factory.mktemp("overall"), turn)


@pytest.mark.parametrize("over", ["maps", "seeds"])
def test_runs_go_to_rliable_as_it_takes_them(results, over):
    given, expected = results.to_rliable(over=over), ask_rliable.tables(over)
    assert [*given] == [*expected]
    for method in METHODS:
        np.testing.assert_allclose(given[method], expected[method], rtol=0, atol=1e-12)


def test_inter_quartile_mean_optimality_gap_and_probability_of_improvement_are_those_of_rliable(results):
    found = {row["method"]: (row["iqm"], row["gap"]) for row in results.overall()}
    assert found == {method: pytest.approx(numbers, rel=1e-12) for method, numbers in RLIABLE.items()}
    assert results.compare(*METHODS).probability == pytest.approx(RLIABLE_IMPROVEMENT, rel=1e-12)


def test_tables_with_gaps_do_not_go_to_rliable(tmp_path):
    results = make(
        tmp_path, lambda run: run.update(failed=(run["grid"], run["seed"], run["label"]) == (1, 0, METHODS[1]))
    )
    with pytest.raises(ConfigError, match="qrm-num: 11 runs of 1a1b1c/a, and 12 of another; rliable needs as many"):
        results.to_rliable()


def test_a_performance_profile_is_the_share_above_each_threshold(results):
    thresholds = [0.0, 0.3, 0.6, 1.0, 1.2]
    for method, scores in results.to_rliable().items():
        profile = results.profiles(thresholds=thresholds)[method,]
        expected = [np.mean(scores > threshold + 1e-9) for threshold in thresholds]
        assert profile.share == pytest.approx(expected) and profile.thresholds.tolist() == thresholds
        assert (profile.low <= profile.share).all() and (profile.share <= profile.high).all()
        assert (profile.high - profile.low).max() > 0.1
    assert performance_profile(np.array([0.1, 0.5, 0.5]), np.array([0.5, 0.1])).tolist() == [0.0, pytest.approx(2 / 3)]


def censored(count, seed):
    """Return steps with ties, and whether each was seen or is only known to be later."""
    random = np.random.default_rng(seed)
    return random.integers(1, 12, count).astype(float), random.random(count) < 0.7


@pytest.mark.parametrize("count", [1, 2, 9, 200])
def test_survival_curves_are_scipy_s(count):
    times, seen = censored(count, count)
    data = scipy_stats.CensoredData(uncensored=times[seen], right=times[~seen])
    known, share = kaplan_meier(times, seen)
    expected = scipy_stats.ecdf(data).sf
    assert share == pytest.approx(expected.evaluate(known)) and known.tolist() == np.unique(times[seen]).tolist()


@pytest.mark.parametrize("count", [4, 30, 200])
def test_the_log_rank_statistic_is_scipy_s(count):
    (times, seen), (later, too) = censored(count, count), censored(count + 3, count + 1)
    data = [scipy_stats.CensoredData(uncensored=t[s], right=t[~s]) for t, s in ((times, seen), (later, too))]
    expected = scipy_stats.logrank(*data)
    is_one = np.arange(2 * count + 3) < count
    found = count_arrivals(np.append(times, later), np.append(seen, too), is_one, np.zeros(len(is_one)))
    assert (found.observed - found.expected) ** 2 / found.variance == pytest.approx(expected.statistic**2)
    assert found.residuals.sum() == pytest.approx(found.observed - found.expected)


def test_the_residuals_of_a_log_rank_test_are_those_of_the_definition():
    (times, seen), is_one = censored(25, 6), np.random.default_rng(1).random(25) < 0.4
    events = np.unique(times[seen])
    share = {t: is_one[times >= t].mean() for t in np.unique(times)}
    hazard = {t: seen[times == t].sum() / (times >= t).sum() for t in events}
    expected = [
        event * (z - share[time]) - sum((z - share[t]) * hazard[t] for t in events if t <= time)
        for time, event, z in zip(times, seen, is_one.astype(float), strict=True)
    ]
    assert count_arrivals(times, seen, is_one, np.zeros(25)).residuals == pytest.approx(expected)


def test_a_log_rank_test_of_one_setup_and_task_is_scipy_s_and_medians_are_those_of_the_runs(results):
    one, two = (results.select(setup="2a2b2c", task="a-b", method=m) for m in METHODS)
    data = [np.nan_to_num(side["steps_to_90"], nan=np.inf) for side in (one, two)]
    sides = [scipy_stats.CensoredData(d[d < np.inf], right=np.full((d == np.inf).sum(), 1e6)) for d in data]
    expected = scipy_stats.logrank(*sides)
    found = results.log_rank(*METHODS, setup="2a2b2c", task="a-b")
    assert found.chi_square == pytest.approx(expected.statistic**2)
    assert found.p_of_runs == pytest.approx(expected.pvalue)
    for side, steps in ((one, data[0]), (two, data[1])):
        assert side.overall()[0]["steps_to_90"] == np.sort(steps)[len(steps) // 2 - 1]


def test_the_log_rank_statistic_adds_up_over_strata():
    (times, seen), random = censored(80, 1), np.random.default_rng(2)
    is_one, strata = random.random(80) < 0.5, random.integers(0, 3, 80)
    whole = count_arrivals(times, seen, is_one, strata)
    parts = [count_arrivals(*(x[strata == k] for x in (times, seen, is_one, strata))) for k in range(3)]
    for name in ("observed", "expected", "variance"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(part, name) for part in parts))


def test_runs_that_are_drawn_several_times_count_as_often():
    random = np.random.default_rng(4)
    values, weights = random.normal(size=17), random.integers(0, 4, (5, 17))
    repeated = [np.repeat(values, row) for row in weights]
    assert weighted_iqm(values, weights) == pytest.approx([float(iqm(row)) for row in repeated])
    at = np.array([-1.0, 0.0, 0.5])
    assert weighted_profile(values, at, weights) == pytest.approx(
        np.array([performance_profile(row, at) for row in repeated])
    )
    (times, seen), known = censored(17, 5), []
    for row in weights:
        curve = dict(zip(*kaplan_meier(np.repeat(times, row), np.repeat(seen, row)), strict=True))
        known.append(
            [1.0 if t < min(curve) else curve[max(x for x in curve if x <= t)] for t in np.unique(times[seen])]
        )
    assert kaplan_meier(times, seen, weights)[1] == pytest.approx(np.array(known))


def test_intervals_are_over_maps_and_do_not_shrink_with_seeds(tmp_path):
    def on_map(run):
        run.update(score=0.5 + 0.1 * (run["grid"] % 4), steps=100_000.0 * (1 + run["grid"] % 4))

    found = []
    for seeds in (1, 6):
        (tmp_path / str(seeds)).mkdir()
        results = make(tmp_path / str(seeds), on_map, seeds=seeds)
        row = results.overall()[0]
        assert (row["maps"], row["over"], row["runs"]) == (8, "maps", 16 * seeds)
        found.append([row[name] for name in ("iqm", "iqm_low", "iqm_high", "steps_to_90_low", "steps_to_90_high")])
    assert found[0] == pytest.approx(found[1], rel=0.05) and found[0][2] - found[0][1] > 0.1
    single = results.select(setup="1a1b1c", grid="1").overall()[0]
    assert single["over"] == "seeds" and single["iqm_low"] == single["iqm_high"] == pytest.approx(single["iqm"])


def test_methods_that_differ_on_every_map_differ_by_the_log_rank_test(tmp_path):
    def turn(run):
        step = run["seed"] + 3 * (run["grid"] % 4) + 2 * (run["label"] == "qrm-num")
        run.update(steps=np.nan if run["label"] == "qrm-num" and run["seed"] == 2 else 10_000.0 * (1 + step))

    results = make(tmp_path, turn)
    found = results.log_rank("crm-num", "qrm-num")
    assert found.ratio > 1.5 and found.p < 0.01 and (found.maps, found.runs, found.over) == (8, 96, "maps")
    back = results.log_rank("qrm-num", "crm-num")
    assert back.ratio == pytest.approx(1 / found.ratio) and back.p == pytest.approx(found.p)
    assert "crm-num against qrm-num, steps_to_90: rate ratio" in str(found)
    assert results.log_rank("a", "a-b", by="task").p > 0.05
    curve = results.survival()["qrm-num",]
    assert curve.share[-1] == pytest.approx(1 / 3) and curve.steps[0] == 0.0 and curve.share[0] == 1.0
    assert results.survival(by=["method", "task"])["qrm-num", "a"].share[-1] == pytest.approx(1 / 3)


def test_never_is_a_median_where_most_runs_never_get_there(tmp_path):
    results = make(tmp_path, lambda run: run.update(steps=np.nan))
    assert [row["steps_to_90"] for row in results.overall()] == [math.inf, math.inf]
    found = results.log_rank(*METHODS)
    assert math.isnan(found.ratio) and found.chi_square == 0.0 and found.p == 1.0


def test_what_has_no_such_statistic_is_refused(results):
    for call, message in (
        (lambda: results.overall("steps_to_90"), "steps_to_90.*: must be a score, such as settled"),
        (lambda: results.survival("settled"), "settled.*: must be steps, such as steps_to_90"),
        (lambda: results.log_rank("crm-num", "crm-bool"), "method='crm-bool' selects nothing"),
        (lambda: results.profiles(thresholds="x"), "thresholds='x': must be a list of numbers"),
        (lambda: results.overall(by=3), "by=3: must be a list of coordinates"),
        (lambda: results.to_rliable(over="runs"), "over='runs'"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()


@pytest.mark.skipif(not os.environ.get("FASTRM_FULL"), reason="FASTRM_FULL=1: a simulation of half a minute")
@pytest.mark.parametrize(("maps", "alike"), [(10, 0.0), (10, 1.0), (30, 1.0)])
def test_one_in_twenty_log_rank_tests_of_equal_methods_is_below_5_percent(maps, alike):
    random, below = np.random.default_rng(0), []
    place = np.indices((maps, 2, 2, 3)).reshape(4, -1)  # map, task, method, seed
    for _ in range(1500):
        common = np.exp(alike * random.normal(size=(maps, 2, 1, 1)) + 0.5 * alike * random.normal(size=(maps, 2, 2, 1)))
        times = np.ceil(20 * random.exponential(size=(maps, 2, 2, 3)) * common).reshape(-1)
        found = count_arrivals(np.minimum(times, 50), times < 50, place[2] == 1, place[1])
        sums = np.bincount(place[0], found.residuals)
        below.append(interval_of_mean(sums, np.arange(maps)).p < 0.05)
    assert 0.03 < np.mean(below) < 0.07


def test_the_optimality_gap_counts_what_is_missing():
    assert optimality_gap(np.array([[0.5, 1.5], [1.0, 1.0]])).tolist() == [0.25, 0.0]
