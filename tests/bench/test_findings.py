"""Sweeps of initial values: starts scaled to the true values, figures per map, tables and pictures."""

import json
import math

import numpy as np
import pytest

from fastrm import ConfigError, Experiment, GridMap, compile, load, run, solve, task, train
from fastrm.bench.__main__ import main
from fastrm.bench.studies.findings import (
    agreement,
    certified,
    differences,
    learned,
    verdicts,
)
from fastrm.exact import value_range
from fastrm.experiments import Method
from fastrm.experiments.batches import log_path, write_log
from fastrm.experiments.plan import Place, Plan
from fastrm.plots import figures_of, optimism_sweep, short_names, start_points
from fastrm.results import over_maps, share_over_maps

SETTINGS = {
    "name": "little", "setups": ("1a1b", "1a1b walls 0.2", "1a1b deceptive"), "maps": 2, "size": 12,
    "tasks": ("a-b", "{a,b}"), "methods": ("crm-bool@0", "crm-bool@1", "crm-dtg@0", "crm-dtg@1", "crm-dtg"), "seeds": 2,
    "steps": 30_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "little.h5"
    run(Experiment(**SETTINGS), out=path, workers=2)
    return path


def test_methods_read_and_write_their_start():
    for label in ("crm-pot@0.5", "qrm-bool@-1", "hrm-num@2", "crm@0", "crm-dtg", "crm-num@1.123456"):
        assert Method.parse(label).label == label
    for label in ("crm-pot@", "crm-pot@x", "crm-pot@1e5", "crm@0.5@1"):
        with pytest.raises(ConfigError, match="after @ comes where initial values lie"):
            Method.parse(label)
    with pytest.raises(ConfigError, match=r"-rs \(shaping\) moves the initial values itself; leave out -rs or @1"):
        Method.parse("crm-rs-bool@1")


@pytest.mark.parametrize("kind", ["boolean", "numeric", "potential", "distance-to-go"])
def test_a_start_lies_between_the_smallest_and_the_largest_true_value(kind):
    short = {"boolean": "bool", "numeric": "num", "potential": "pot", "distance-to-go": "dtg"}[kind]
    starts = ("0", "0.5", "1", "3")
    plan = Plan.of(Experiment(**{**SETTINGS, "methods": tuple(f"crm-{short}@{start}" for start in starts)}))
    problem = plan.problem(0, 0, 0)
    value = solve(problem, 0.9).value  # every pair can still succeed here
    for method, start in enumerate(map(float, starts)):
        expected = value.min() + start * (value.max() - value.min())
        assert plan.config(Place(0, 0, method, 0, 0)).q_init == pytest.approx(expected, rel=1e-12)


def test_a_run_starts_where_its_method_says(file):
    results = load(file)
    plan, rows = results.plan, results.select(method="crm-dtg@1", setup="1a1b", task="a-b", grid="1")
    run_number = int(rows["run"][1])
    grid, task_, method, _, seed = plan.coordinates(run_number)
    problem = plan.problem(grid, task_, method)
    low, high = value_range(problem, 0.9)
    for start, same in ((high, True), (low, False)):
        alone = train(problem, "crm", steps=30_000, seed=plan.stream(grid, seed), q_init=start)
        assert (alone.reward.tobytes() == rows["reward"][1].tobytes()) == same


def test_scale_and_slip_reach_machines_and_value_ranges():
    plan = Plan.of(Experiment(**{**SETTINGS, "methods": ("crm-pot@1",), "scale": 0.5, "slip": 0.3}))
    assert "potential 0.5" in plan.machines(0, 0, 0)[0]
    problem = plan.problem(0, 0, 0)
    assert plan.config(plan.coordinates(0)).q_init == pytest.approx(solve(problem, 0.9).value.max(), rel=1e-9)
    assert value_range(problem, 0.9)[0] != value_range(compile(problem.grid, problem.machines[0]), 0.9)[0]


def test_hopeless_pairs_do_not_stretch_the_range():
    grid = GridMap.parse("XXXXXXXX\nX nA  aX\nXXXXXXXX\n")  # left of n there is no way to a
    for kind, true in (("boolean", (0.25, 1.0)), ("distance-to-go", (-2.5, 0.0))):
        problem = compile(grid, task("a !n", kind=kind))
        assert value_range(problem, 0.5) == (true[0] / 2 if kind == "boolean" else -4.25, true[1])
        assert solve(problem, 0.5).value.min() < value_range(problem, 0.5)[0]


def test_starts_and_slip_are_part_of_a_run_s_identity():
    def ids(**changes):
        plan = Plan.of(Experiment(**{**SETTINGS, **changes}))
        return {plan.run_id(k) for k in range(plan.count)}

    assert len(ids()) == Plan.of(Experiment(**SETTINGS)).count
    assert not ids() & ids(slip=0.1)
    assert Plan.of(Experiment(**SETTINGS, slip=0.1)).problem(0, 0, 0).slip == 0.1
    assert not ids(methods=("crm-dtg@0",)) & ids(methods=("crm-dtg@0.5",))


def test_points_are_means_over_maps_of_the_runs_they_name(file):
    results = load(file)
    points = list(start_points(results))
    assert len(points) == 3 * 5 and {point.setup for point in points} == {"open", "walls 0.2", "deceptive"}
    (point,) = (p for p in points if (p.setup, p.method, p.optimism) == ("deceptive", "crm-dtg", 1.0))
    mine = results.select(setup="1a1b deceptive", method="crm-dtg@1")
    by_map = [mine["solved"][mine["grid"] == name].mean() for name in ("0", "1")]
    assert point.runs == 8 and point.shortest.mean == pytest.approx(np.mean(by_map))
    assert point.area.mean == pytest.approx(np.nan_to_num(mine["score"]).mean())
    assert point.steps[1] == pytest.approx(np.median(mine["steps_to_90"]))
    assert {p.setup for p in start_points(results, tasks=True)} >= {"open, task a-b", "open, task {a,b}"}


def test_differences_pair_runs_on_the_same_map_task_and_seed(file):
    results = load(file)
    gaps = {
        (gap.setup, gap.optimism): gap for gap in differences(results, [("crm-dtg", "crm-bool"), ("crm-dtg", "crm")])
    }
    assert set(gaps) == {(setup, start) for setup in ("open", "walls 0.2", "deceptive") for start in (0.0, 1.0)}
    paired = results.compare("crm-dtg@1", "crm-bool@1", value="area", setup="1a1b")
    assert gaps["open", 1.0].area.mean == pytest.approx(paired.difference)
    assert gaps["open", 1.0].area.low <= paired.difference <= gaps["open", 1.0].area.high
    assert 0 <= gaps["open", 1.0].probability <= 1


def test_a_method_is_above_itself_in_half_of_the_pairs(file):
    for gap in differences(load(file), [("crm-dtg", "crm-dtg")]):
        assert gap.probability == 0.5 and gap.area.mean == 0.0


def test_logs_of_episodes_are_those_of_the_run_with_its_start(file, tmp_path):
    results = load(file)
    rows = results.select(method="crm-dtg@1", setup="1a1b", task="a-b", grid="1", seed=0)
    run_number = int(rows["run"][0])
    assert write_log(results.plan, run_number, tmp_path)
    lines = log_path(results.plan, run_number, tmp_path).read_text().splitlines()
    assert len(lines) - 2 == rows["episodes"][0, -1]


def test_intervals_come_from_maps_not_from_runs():
    """A thousand runs on two maps are two observations."""
    values, maps = np.repeat([0.0, 1.0], 500), np.repeat(["0", "1"], 500)
    mean, low, high = over_maps(values, maps)
    assert (mean, low, high) == pytest.approx((0.5, 0.5 - 12.706 / 2, 0.5 + 12.706 / 2), rel=1e-4)  # Student's, of two
    assert math.isnan(over_maps(values[:500], maps[:500]).low)
    assert math.isnan(share_over_maps(values[:500], maps[:500]).low)


def test_the_interval_of_a_share_stays_within_0_and_1():
    rare = np.array([1.0] + [0.0] * 11)
    assert over_maps(rare, np.arange(12)).low < 0
    assert share_over_maps(rare, np.arange(12)).low == 0 and share_over_maps(1 - rare, np.arange(12)).high == 1


def test_verdicts_are_counted_per_setup_and_kind():
    plan = Plan.of(
        Experiment(**{**SETTINGS, "methods": ("crm-num", "crm-pot", "qrm-pot"), "terminal_rewards": {"numeric": 0}})
    )
    counted = {(row.setup, row.kind): row for row in certified(plan, verdicts(plan))}
    assert list(counted) == [(s, k) for s in ("open", "walls 0.2", "deceptive") for k in ("numeric", "potential")]
    assert all(row.shortest == row.problems == 4 for (_, kind), row in counted.items() if kind == "potential")
    assert any(row.shortest < 4 for (_, kind), row in counted.items() if kind == "numeric")


def test_runs_are_counted_where_their_problem_is_certified_and_elsewhere(file):
    results = load(file)
    known = verdicts(results.plan)
    known[0, 0, "distance-to-go"] = False  # map 0 of the open setup, task a-b
    rows = {row.optimism: row for row in agreement(results, known)}
    mine = results.select(method="crm-dtg@1", setup="1a1b", task="a-b", grid="0")["solved"]
    assert rows[1.0].others == 2 and rows[1.0].shortest_elsewhere == mine.sum()
    everything = results.select(method=["crm-dtg@1", "crm-bool@1"])["solved"]
    assert rows[1.0].certified == len(everything) - 2 and rows[1.0].shortest == everything.sum() - mine.sum()


def test_setups_that_share_their_objects_are_called_by_their_obstacles():
    assert short_names(["1a", "1a maze"]) == {"1a": "open", "1a maze": "maze"}
    assert short_names(["1a", "2a maze"]) == {"1a": "1a", "2a maze": "2a maze"}
    assert short_names(["1a maze"]) == {"1a maze": "1a maze"}


def test_the_command_prints_tables_of_every_start(file, capsys):
    assert main(["findings", str(file)]) == 0
    said = capsys.readouterr().out
    assert "| maps | method | q_init as set | start 0 | start 1 |" in said
    assert "| deceptive | crm-dtg | " in said and "| open | crm-dtg - crm-bool |" in said
    assert "| maps | boolean | distance-to-go |" in said and "| 4 of 4 |" in said
    assert main(["findings", str(file), "--by-task", "--no-exact"]) == 0
    said = capsys.readouterr().out
    assert "| open, task {a,b} | crm-dtg |" in said and "exact" not in said


def test_what_was_learned_is_told_also_where_paths_are_longer(file, capsys):
    results = load(file)
    lost = np.arange(results.runs) % 7 < 3  # as if these runs had not learned their task
    results.columns["greedy_length"] = np.where(lost, -1, results["greedy_length"] + 1)
    found = {(row.setup, row.method, row.optimism): row for row in learned(results)}
    assert len(found) == 3 * 5 and {row.maps.held for row in found.values()} == {0, 1, 2}
    for (setup, method, optimism), row in found.items():
        label = method if optimism is None else f"{method}@{optimism:g}"
        mine = results.select(setup={"open": "1a1b"}.get(setup, f"1a1b {setup}"), method=label)
        done = mine["greedy_length"] > 0
        by_map = [np.mean(done[mine["grid"] == grid]) for grid in ("0", "1")]
        assert row.complete.mean == pytest.approx(np.mean(by_map)) and row.maps == (sum(b > 0.5 for b in by_map), 2)
        assert (row.length is None) == (not done.any())
        ratio = (mine["greedy_length"] / mine["shortest"])[done]
        by_map = [ratio[mine["grid"][done] == grid].mean() for grid in dict.fromkeys(mine["grid"][done])]
        assert row.length is None or row.length.mean == pytest.approx(np.mean(by_map))
    by_task = list(learned(results, tasks=True))
    assert len(by_task) == 2 * len(found) and by_task[0].setup == "open, task a-b"
    assert main(["findings", str(file), "--lengths", "--no-exact"]) == 0
    said = capsys.readouterr().out
    assert "| maps | method | start | complete | length | settled | learns the task |" in said
    assert "| open | crm-dtg | start 1 | 1.00 [1.00, 1.00] | 1.00 [1.00, 1.00] | " in said
    assert main(["findings", str(file), "--lengths", "--no-exact", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["learned"]) == len(found)


def test_figures_tell_starts_apart(file):
    results = load(file)
    names = [name for name, _ in figures_of(results)]
    assert names == ["starts", "curves-0", "curves-1", "curves-q_init", "overall", "maps"]
    figure = optimism_sweep(list(start_points(results)))
    share, steps = figure.axes[0], figure.axes[3]
    assert share.get_title() == "open" and share.get_ylabel() == "share shortest"
    lines = [line for line in steps.get_lines() if len(line.get_xdata()) == 2 and list(line.get_xdata()) == [0.0, 1.0]]
    shown = {tuple(line.get_ydata()) for line in lines}
    points = [p for p in start_points(results) if p.setup == "open" and p.optimism is not None]
    for method in ("crm-bool", "crm-dtg"):
        medians = tuple(p.steps[1] for p in sorted(points, key=lambda p: p.optimism) if p.method == method)
        assert medians in shown
    with pytest.raises(ConfigError, match="no methods with a start"):
        optimism_sweep([])


def test_a_report_on_a_sweep_tells_findings_in_place_of_claims(tmp_path, capsys):
    toml = tmp_path / "tiny.toml"
    toml.write_text(
        'setups = ["1a", "1a rooms"]\nsize = 8\ntasks = ["a"]\nmethods = ["crm-pot@0", "crm-pot@1"]\nsteps = 20000\n'
        "slip = 0.1\n"
    )
    assert main(["run", str(toml), "--out", str(tmp_path / "tiny.h5"), "--report"]) == 0
    assert "starts.png" in (said := capsys.readouterr().out) and "findings.md" in said
    assert "| rooms | crm-pot |" in (tmp_path / "tiny" / "findings.md").read_text()
    assert "for moves that do not slip" in (tmp_path / "tiny" / "findings.md").read_text()
    assert "nan" not in (tmp_path / "tiny" / "findings.md").read_text()  # one map has no interval
    assert not (tmp_path / "tiny" / "claims.md").exists()
