"""Intervals over maps: what they cover, what they are over, and agreement with scipy."""

import math

import numpy as np
import pytest
import scipy.stats

from fastrm import ConfigError, load
from fastrm.results import Results, schema, stats, stats as intervals
from fastrm.results.stats import interval_of, interval_of_mean, maps_of

from made_results import make_file, make_plan
from sizes import either

POPULATIONS = {
    "exponential": lambda random, shape: random.exponential(1, shape) - 1,
    "lognormal": lambda random, shape: random.lognormal(0, 1, shape) - math.exp(0.5),
    "t3": lambda random, shape: random.standard_t(3, shape),
}


@pytest.mark.parametrize("maps", [10, 30])
@pytest.mark.parametrize("name", POPULATIONS)
def test_p_is_below_5_percent_in_about_5_percent_of_draws_from_skewed_and_heavy_populations(name, maps):
    values = POPULATIONS[name](np.random.default_rng([maps, len(name)]), (either(40_000, 4_000), maps))
    share = np.mean([interval_of_mean(differences, np.arange(maps)).p < 0.05 for differences in values])
    assert 0.035 <= share <= 0.065


@pytest.mark.parametrize("count", [2, 3, 5, 12, 40])
@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_cauchy", "tied", "far"])
def test_p_is_below_5_percent_exactly_where_the_interval_excludes_0(draw, count):
    random = np.random.default_rng([count, len(draw)])
    seen = set()
    for _ in range(either(4000, 100)):
        values = {
            "tied": lambda: random.integers(-1, 4, count).astype(float),
            "far": lambda: 1e-9 * random.normal(size=count) + random.choice([0.0, 1e6]),
        }.get(draw, lambda: getattr(random, draw)(size=count))()
        values = random.choice([-1, 1]) * (values + random.normal(0, 0.5) * values.std())
        interval = interval_of_mean(values, np.arange(count))
        assert (interval.p < 0.05) == (interval.low > 0 or interval.high < 0) and 0 <= interval.p <= 1
        assert interval.low <= values.mean() <= interval.high
        seen.add(interval.p < 0.05)
    assert seen == {True, False}


def test_p_rises_as_the_mean_nears_0_and_is_the_same_for_the_mirrored_values():
    skewed = np.random.default_rng(2).exponential(1, 12)
    for values in (skewed, -skewed):
        p = [
            interval_of_mean(values - move, np.arange(12)).p
            for move in np.linspace(values.mean() - 2, values.mean(), 30)
        ]
        assert (np.diff(p) >= 0).all() and p[0] < 0.01 and p[-1] > 0.5
        mirrored = interval_of_mean(-values, np.arange(12))
        interval = interval_of_mean(values, np.arange(12))
        assert (-mirrored.high, -mirrored.low, mirrored.p) == pytest.approx((interval.low, interval.high, interval.p))


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
    interval = interval_of_mean(values, np.arange(10))
    assert -2_000_000.0 < interval.low < -200_000.0 < 0.0 < interval.high < 500_000.0


def test_on_symmetric_data_the_interval_is_student_s():
    values = np.concatenate([half := np.random.default_rng(3).normal(5, 2, 20), 11 - half])
    interval = interval_of_mean(values, np.arange(40))
    theirs = scipy.stats.ttest_1samp(values, 0)
    assert (interval.low, interval.high) == pytest.approx(tuple(theirs.confidence_interval()), rel=1e-9)
    assert interval.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_the_points_and_tails_of_student_s_t_are_those_of_scipy():
    for freedom in (*range(1, 40), 300, 5000):
        for p in (1e-6, 0.05, 0.06, 0.9):
            point = scipy.stats.t.ppf(1 - p / 2, freedom)
            assert intervals.student_point(p, freedom) == pytest.approx(point, rel=1e-9)
            assert intervals.student_p(-point, freedom) == pytest.approx(p, rel=1e-9)
    assert intervals.student_p(math.inf, 3) == 0.0 and intervals.student_p(0.0, 3) == pytest.approx(1.0)


def test_other_statistics_are_enclosed_and_wider_for_fewer_maps():
    random = np.random.default_rng(1)
    widths = []
    for maps in (5, 30):
        values, names = random.normal(0, 1, maps * 6), np.repeat(np.arange(maps), 6)
        low, high, over, _ = interval_of(stats.iqm, values, names)
        assert low < stats.iqm(values) < high and over == "maps"
        widths.append(high - low)
    assert widths[0] > widths[1]


def test_one_map_gives_an_interval_over_its_seeds_and_one_run_none():
    one = interval_of_mean(np.array([1.0, 2.0, 4.0]), np.zeros(3))
    assert one.over == "seeds" and one.low < 7 / 3 < one.high
    assert interval_of(stats.iqm, np.array([1.0, 2.0, 4.0, 5.0]), np.zeros(4)).over == "seeds"
    assert np.isnan([interval_of_mean(np.array([1.0]), np.zeros(1))[k] for k in (0, 1, 3)]).all()
    assert np.isnan(interval_of(stats.iqm, np.array([1.0]), np.zeros(1))[:2]).all()
    same = interval_of_mean(np.ones(6), np.arange(6) // 2)
    assert (same.low, same.high, same.p) == (1.0, 1.0, 0.0)
    assert interval_of_mean(np.zeros(6), np.arange(6)) == (0.0, 0.0, "maps", 1.0)


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
    assert both.p < 1e-6 and both.probability == 1.0 and both.never == 0 and ", p < 0.0001, " in str(both)
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
    assert schema.settled(curve[None], steps).tolist() == pytest.approx([0.5])
    assert schema.steps_to_plateau(curve[None], steps).tolist() == [100.0]
    assert np.isnan(schema.steps_to_plateau(np.zeros((1, 20)), steps)).all()


def altered(results, random):
    """Return the same runs with random curves, skewed by map, many of them ties, and some that never get there."""
    columns, maps = dict(results.columns), np.unique(maps_of(results), return_inverse=True)[1]
    height = random.normal(0, 0.2) * (columns["label"] == b"crm-num") * random.exponential(1, maps.max() + 1)[maps]
    height = np.round(0.9 + height + random.choice([0.0, 0.05]) * random.normal(size=results.runs), 2)
    slope = random.choice([0.2, 1.0, 3.0], results.runs) ** (columns["label"] == b"crm-num")
    ramp = np.minimum(1.0, np.linspace(0.1, 1.2, len(results["step"])) * slope[:, None])
    columns["score"] = (height[:, None] * ramp).astype(np.float32)
    columns["steps_to_90"] = schema.steps_to(columns["score"], results["step"], 0.9)
    return Results(results.attributes, results.path, columns)


@pytest.mark.parametrize("value", ["settled", "area", "steps_to_90", "steps_to_50", "steps_to_plateau"])
def test_no_comparison_has_a_p_value_that_disagrees_with_its_interval(results, value):
    random = np.random.default_rng(len(value))
    seen = set()
    for _ in range(either(400, 40)):
        changed = altered(results, random)
        for where in ({}, {"setup": "1a1b1c"}, {"setup": "1a1b1c", "grid": "1"}):
            pair = changed.compare("crm-num", "qrm-num", value, **where)
            assert (pair.p < 0.05) == (pair.low > 0 or pair.high < 0)
            assert 0 <= pair.probability_low <= pair.probability <= pair.probability_high <= 1
            seen.add(pair.p < 0.05)
    assert seen == {True, False}


def test_a_single_pair_has_neither_interval_nor_p_value(results):
    pair = results.select(seed=0).compare("crm-num", "qrm-num", "steps_to_90", setup="1a1b1c", grid="1")
    assert np.isnan([pair.low, pair.high, pair.p, pair.probability_low, pair.probability_high]).all()


def test_the_interval_of_the_probability_of_improvement_is_over_maps_and_printed(tmp_path):
    def turn(run):
        run["score"] = 0.9 + 0.01 * run["seed"] + 0.01 * (run["label"] == "crm-num") * (run["grid"] % 3)

    plan = make_plan(methods=("qrm-num", "crm-num"), setups=("1a1b1c",), maps=9, map_files=(), tasks=("a",))
    pair = load(make_file(tmp_path / "x.h5", turn, plan=plan)).compare("crm-num", "qrm-num")
    on_map = [4.5 / 9, 7 / 9, 8.5 / 9] * 3  # with 0, 1 and 2 hundredths more than three seeds a hundredth apart
    wanted = interval_of_mean(np.array(on_map), np.arange(9))
    assert pair.probability == pytest.approx(np.mean(on_map)) and pair.probability_low == pytest.approx(wanted.low)
    assert str(pair).startswith("crm-num minus qrm-num, settled: 0.01 [")
    assert str(pair).endswith(f"better with probability 0.741 [{wanted.low:.3f}, {wanted.high:.3f}]")
