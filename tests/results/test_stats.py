"""Statistics agree with independent implementations."""

import csv

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fastrm import ConfigError, load
from fastrm.results import schema, stats, to_csv, to_latex

from made_results import make_file, make_plan

random = np.random.default_rng(7)
SAMPLES = [random.normal(size=n) for n in (1, 2, 3, 7, 8, 60)] + [random.integers(0, 4, 30).astype(float)]


@pytest.mark.parametrize("values", SAMPLES, ids=len)
def test_the_inter_quartile_mean_is_scipy_s_trimmed_mean(values):
    assert stats.iqm(values) == pytest.approx(scipy_stats.trim_mean(values, 0.25), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("one", SAMPLES, ids=len)
def test_the_probability_of_improvement_is_mann_whitney_s_and_its_error_delong_s(one):
    two = np.random.default_rng(8).permutation(one) + np.random.default_rng(9).integers(-1, 2, len(one))
    added, n = stats.improvements(one, two), len(one)
    assert added.mean() == pytest.approx(scipy_stats.mannwhitneyu(one, two).statistic / n**2, rel=1e-12)
    wins = np.array([[(x > y) + 0.5 * (x == y) for y in two] for x in one])
    assert added == pytest.approx(wins.mean(axis=1) + wins.mean(axis=0) - wins.mean())


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_holm_s_p_values_are_those_of_the_definition(count):
    given = np.random.default_rng(count).integers(0, 9, count) / 80
    rank = np.argsort(np.argsort(given, kind="stable"))
    at_its_turn = [min(1, (count - r) * p) for p, r in zip(given, rank, strict=True)]
    expected = [max(v for v, other in zip(at_its_turn, rank, strict=True) if other <= r) for r in rank]
    assert stats.holm(given.tolist()).tolist() == pytest.approx(expected)


def test_holm_passes_over_missing_p_values_and_refuses_what_is_none():
    assert stats.holm([0.01, float("nan"), 0.03]).tolist() == pytest.approx([0.02, float("nan"), 0.03], nan_ok=True)
    with pytest.raises(ConfigError, match=r"p_values\[1\]=1.5: must be a number from 0 to 1"):
        stats.holm([0.5, 1.5])
    with pytest.raises(ConfigError, match=r"p_values\[0\]=.*: must be a number"):
        stats.holm(["0.1"])


def test_thresholds_and_areas_by_hand():
    curves = np.array([[np.nan, 0.5, 0.9], [0.0, 0.1, 0.2]])
    assert schema.steps_to(curves, np.array([10, 20, 30]), 0.5).tolist()[0] == 20.0
    assert np.isnan(schema.steps_to(curves, np.array([10, 20, 30]), 0.5)[1])
    assert schema.area(curves, np.arange(1, 4)) == pytest.approx([1.4 / 3, 0.1])
    assert np.isnan(schema.steps_to(np.empty((2, 0)), np.empty(0), 0.5)).all()


def make(tmp_path, **kinds):
    plan = make_plan(maps=2, seeds=3, map_files=(), tasks=("a", "a-b"), methods=("crm-num", "qrm-num"))

    def turn(run):
        fast = run["label"] == "crm-num"
        run.update(
            steps=1000.0 * (1 + run["seed"]) + (0 if fast else 500), score=0.9 + 0.01 * run["seed"] + 0.05 * fast
        )
        run.update(kinds.get(run["label"].replace("-", "_"), {}))

    return load(make_file(tmp_path / "x.h5", turn, plan))


def test_paired_comparisons_use_runs_that_share_their_random_numbers(tmp_path):
    results = make(tmp_path)
    paired = results.compare("crm-num", "qrm-num")
    assert paired.pairs == 4 * 2 * 3 and paired.difference == pytest.approx(0.05, abs=1e-12)
    assert (paired.low, paired.high) == pytest.approx((0.05, 0.05)) and paired.p < 1e-12 and paired.probability == 1.0
    assert (paired.probability_low, paired.probability_high) == (pytest.approx(0.51, abs=0.001), 1.0)  # of 4 maps
    assert results.compare("qrm-num", "crm-num").difference == pytest.approx(-0.05, abs=1e-12)
    steps = results.compare("crm-num", "qrm-num", "steps_to_90", task="a")
    assert steps.difference == -500.0 and steps.pairs == 12
    assert steps.probability == pytest.approx(np.mean([a < b for a in (1, 2, 3) for b in (1.5, 2.5, 3.5)]))


def test_runs_that_never_get_there_are_slower_than_all_others(tmp_path):
    never = make(tmp_path, crm_num={"steps": float("nan")}).compare("crm-num", "qrm-num", "steps_to_90")
    assert never.probability == 0.0 and never.difference > 900_000


def test_bad_comparisons_are_refused(tmp_path):
    results = make(tmp_path)
    for call, message in (
        (lambda: results.compare("crm-num", "hrm-num"), "selects nothing"),
        (lambda: results.compare("crm-num", "qrm-num", "scroe"), "no number 'scroe'; there are settled, area"),
        (lambda: results.compare("crm-num", "qrm-num", taks="a"), r"no coordinate 'taks' \(did you mean task\?\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()
    assert np.array_equal(results.per_run_values("steps_to_50"), results.per_run_values("steps_to_0.5"))
    for wrong in ("steps_to_", "steps_to_200", "steps_to_1.5", "steps_to_x", 3):
        with pytest.raises(ConfigError, match="no number"):
            results.per_run_values(wrong)


def test_a_row_of_the_schema_is_a_word_of_results(tmp_path):
    results = make(tmp_path, crm_num={"found": False})
    for value in (value for value in schema.VALUES if not value.on_request):
        if value.per == "run" and not value.dtype.startswith("S"):
            assert results.per_run_values(value.name).shape == (results.runs,)
        if value.better:
            assert results.compare("crm-num", "qrm-num", value.name).value == value.name
        for _, column in value.summary:
            assert any(name.startswith(column) for name in stats.SUMMARY)
    assert results.compare("crm-num", "qrm-num", "solved").difference == -1.0
    with pytest.raises(ConfigError, match="no number 'shortest'; there are settled"):  # the same for every method
        results.compare("crm-num", "qrm-num", "shortest")


def test_methods_are_called_methods_outside_files(tmp_path):
    results = make(tmp_path)
    for names in (results.coordinates, results.per_run(), results.to_pandas(), results.summary()[0],
                  results.summary(by=["task", "label"])[0]):  # fmt: skip
        assert "method" in names and "label" not in names
    assert "label" in results.to_xarray().coords
    assert results["method"].tolist() == results["label"].tolist()
    assert results.select(label="crm-num").runs == results.select(method="crm-num").runs
    with pytest.raises(ConfigError, match="there are setup, grid, task, algo, kind, shaping, method, seed"):
        results.select(colour="red")


def test_runs_shorter_than_a_tick_are_compared_by_their_one_score(tmp_path):
    plan = make_plan(maps=1, tasks=("a",), methods=("crm-num", "qrm-num"), steps=1000)
    results = load(make_file(tmp_path / "x.h5", plan=plan))
    assert (
        results["step"].tolist() == [1000]
        and results.per_run_values("settled").tolist() == results["score"][:, 0].tolist()
    )
    assert results.compare("crm-num", "qrm-num").difference == 0.0


def test_one_seed_per_map_still_has_an_interval(tmp_path):
    plan = make_plan(maps=6, seeds=1, tasks=("a",), methods=("crm-num", "qrm-num"))
    results = load(make_file(tmp_path / "x.h5", lambda run: run.update(score=0.5 + 0.03 * run["grid"]), plan))
    row = results.summary(by=("method",))[0]
    assert row["iqm_low"] < row["iqm"] < row["iqm_high"]


def test_tables_have_the_columns_of_all_rows(tmp_path):
    rows = [{"task": "a", "runs": 0}, {"task": "b", "runs": 2, "iqm": 999.7}]
    assert to_csv(rows).splitlines() == ["task,runs,iqm", "a,0,", "b,2,999.7"]
    assert "b & 2 & 999.7" in to_latex(rows)
    assert "1235 & 1.000 & inf" in to_latex([{"a": 1234.6, "b": 0.9999, "c": float("inf")}])


def test_summaries_become_tables(tmp_path):
    rows = make(tmp_path).summary(by=("task", "method"))
    assert rows[0]["iqm_low"] <= rows[0]["iqm"] <= rows[0]["iqm_high"]
    assert list(csv.DictReader(to_csv(rows).splitlines()))[1]["method"] == "qrm-num"
    table = to_latex(rows, ["task", "method", "iqm"])
    assert table.count(r"\\") == 5 and "llr" in table and to_latex([]).startswith(r"\begin{tabular}")
    with pytest.raises(ConfigError, match="no column 'iqr'"):
        to_latex(rows, ["iqr"])
