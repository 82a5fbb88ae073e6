"""Intervals over maps: what they cover, what they are over, and agreement with scipy."""

import math
import os

import numpy as np
import pytest
import scipy.stats

from fastrm import ConfigError, load
from fastrm.results import intervals, stats
from fastrm.results.intervals import interval_of, interval_of_mean

from made_results import make_file, make_plan


def covered(maps, draws, skewed, truth):
    """Return how often an interval of the mean covers it: lognormal or exponential maps, six noisy runs on each."""
    hits = 0
    for k in range(draws):
        random = np.random.default_rng(1000 * maps + k)
        values = (skewed(random, maps)[:, None] + random.normal(0, 0.3, (maps, 6))).ravel()
        interval = interval_of_mean(values, np.repeat(np.arange(maps), 6), rounds=1000, seed=k)
        hits += interval.low <= truth <= interval.high
    return hits / draws


@pytest.mark.parametrize(
    ("skewed", "truth"),
    [
        (lambda random, n: random.lognormal(0, 0.8, n), math.exp(0.32)),
        (lambda random, n: random.exponential(1.0, n), 1.0),
    ],
    ids=["lognormal", "exponential"],
)
def test_intervals_over_30_maps_cover_skewed_truth_as_often_as_they_say(skewed, truth):
    draws = 1000 if os.environ.get("FASTRM_FULL") else 300
    assert 0.92 <= covered(30, draws, skewed, truth) <= 0.98
    assert covered(10, draws, skewed, truth) > 0.87 and covered(5, draws, skewed, truth) > 0.84


def test_seeds_on_one_map_do_not_narrow_an_interval_over_maps():
    """Ten maps with very different means: a thousand seeds on each change nothing about the maps."""
    random = np.random.default_rng(0)
    level = random.normal(0, 1, 10)
    few, many = (
        interval_of_mean((level[:, None] + random.normal(0, 0.1, (10, n))).ravel(), np.repeat(np.arange(10), n))
        for n in (3, 1000)
    )
    assert few.over == many.over == "maps"
    assert many.high - many.low == pytest.approx(few.high - few.low, rel=0.15) and many.high - many.low > 0.8


def test_one_outlier_among_equal_maps_does_not_blow_the_interval_up():
    values = np.array([0.0] * 4 + [-100.0, -200.0, -150.0, -120.0, -80.0, -2_000_000.0])
    low, high, _ = interval_of_mean(values, np.arange(10))
    assert low == -2_000_000.0 and high <= 0.0


def test_on_symmetric_data_the_interval_is_student_s():
    values = np.random.default_rng(3).normal(5, 2, 40)
    low, high, _ = interval_of_mean(values, np.arange(40), rounds=20_000)
    theirs = scipy.stats.t.interval(0.95, 39, values.mean(), values.std(ddof=1) / math.sqrt(40))
    assert (low, high) == pytest.approx(theirs, abs=0.08)


def test_the_points_of_student_s_t_are_those_of_scipy():
    for freedom in range(1, 60):
        assert intervals._student(freedom) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=0.01)


def test_other_statistics_are_enclosed_and_wider_for_fewer_maps():
    random = np.random.default_rng(1)
    widths = []
    for maps in (5, 30):
        values, names = random.normal(0, 1, maps * 6), np.repeat(np.arange(maps), 6)
        low, high, over = interval_of(stats.iqm, values, names)
        assert low < stats.iqm(values) < high and over == "maps"
        widths.append(high - low)
    assert widths[0] > widths[1]


def test_one_map_gives_an_interval_over_its_seeds_and_one_run_none():
    one = interval_of_mean(np.array([1.0, 2.0, 4.0]), np.zeros(3))
    assert one.over == "seeds" and one.low < 7 / 3 < one.high
    assert interval_of(stats.iqm, np.array([1.0, 2.0, 4.0, 5.0]), np.zeros(4)).over == "seeds"
    assert np.isnan(interval_of_mean(np.array([1.0]), np.zeros(1))[:2]).all()
    assert np.isnan(interval_of(stats.iqm, np.array([1.0]), np.zeros(1))[:2]).all()
    same = interval_of_mean(np.ones(6), np.arange(6) // 2)
    assert (same.low, same.high) == (1.0, 1.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Maps differ in how fast they are learned, seeds hardly do."""

    def turn(run):
        run["steps"] = (200_000 if run["label"] == "qrm-num" else 100_000) + 40_000 * run["grid"] + 10 * run["seed"]

    plan = make_plan(methods=("qrm-num", "crm-num"), maps=3, tasks=("a",))
    return load(make_file(tmp_path_factory.mktemp("x") / "x.h5", turn, plan=plan))


def test_comparisons_are_over_maps_unless_one_is_chosen_and_say_so(results):
    both = results.compare("crm-num", "qrm-num", "steps_to_90")
    assert both.over == "maps" and both.maps == 7 and both.pairs == 21 and both.difference == -100_000
    assert both.low <= -150_000 and both.high >= -50_000  # half a tick on either side: ticks tell no more apart
    assert both.p == pytest.approx(2 / 2**7) and both.probability == 1.0 and both.never == 0
    assert "over maps (7 maps, 21 pairs)" in str(both)
    one = results.compare("crm-num", "qrm-num", "steps_to_90", setup="1a1b1c", grid="1", over="seeds")
    assert one.over == "seeds" and one.maps == 1 and "over seeds (1 map, 3 pairs)" in str(one)
    with pytest.raises(ConfigError, match="over='seeds': speaks of one map, but there are 7"):
        results.compare("crm-num", "qrm-num", over="seeds")
    with pytest.raises(ConfigError, match="over='maps': there is only one map"):
        results.compare("crm-num", "qrm-num", over="maps", setup="1a1b1c", grid="1")
    with pytest.raises(ConfigError, match="over='map': must be one of maps, seeds"):
        results.compare("crm-num", "qrm-num", over="map")


def test_the_interval_of_a_difference_widens_with_the_maps_and_not_with_the_seeds(tmp_path):
    def turn(run):
        if run["label"] == "crm-num":
            run["steps"] += 100_000 * run["grid"]

    plan = make_plan(methods=("qrm-num", "crm-num"), maps=4, tasks=("a",), seeds=6)
    gap = load(make_file(tmp_path / "x.h5", turn, plan=plan)).compare("crm-num", "qrm-num", "steps_to_90")
    assert gap.high - gap.low > 200_000


def test_runs_that_never_get_there_make_it_a_restricted_mean(tmp_path):
    def turn(run):
        run["steps"] = math.nan if run["label"] == "qrm-num" and run["seed"] == 0 else run["steps"]

    plan = make_plan(methods=("qrm-num", "crm-num"), tasks=("a",))
    gap = load(make_file(tmp_path / "x.h5", turn, plan=plan)).compare("crm-num", "qrm-num", "steps_to_90")
    assert gap.never == 5 and "restricted mean of steps_to_90" in str(gap)


def test_summaries_say_what_their_intervals_are_over(results):
    rows = results.summary(("task", "label"))
    assert [(row["maps"], row["over"], row["runs"]) for row in rows] == [(7, "maps", 21)] * 2
    assert all(row["shortest_share_low"] <= row["shortest_share"] <= row["shortest_share_high"] for row in rows)
    (alone, *_) = results.select(grid="appendix").summary()
    assert (alone["maps"], alone["over"]) == (1, "seeds")


def test_plateaus_and_settled_scores_are_those_of_the_last_tenth():
    steps, curve = np.arange(1, 21) * 10, np.concatenate([np.linspace(0, 0.5, 10), np.full(8, 0.5), [0.4, 0.6]])
    assert stats.settled(curve[None], steps).tolist() == pytest.approx([0.5])
    assert stats.steps_to_plateau(curve[None], steps).tolist() == [100.0]
    assert np.isnan(stats.steps_to_plateau(np.zeros((1, 20)), steps)).all()
