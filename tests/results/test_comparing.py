"""Comparisons by any coordinate: the two runs of a pair differ in it, and in nothing else."""

import itertools

import numpy as np
import pytest

from fastrm import ConfigError, Experiment, load, run, task
from fastrm.bench.__main__ import main
from fastrm.experiments import method_of

from made_results import make_file, make_plan

METHODS = ("crm-num", "crm-bool", "qrm-num", "qrm-rs-num", "crm-num@0.5", "qrm-bool@0.5")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Runs whose scores depend on everything, some of which failed."""
    random = np.random.default_rng(1)

    def turn(figures):
        figures.update(score=random.random(), failed=random.random() < 0.1)

    plan = make_plan(
        setups=("1a1b1c", "2a2b2c"), map_files=(), tasks=("a", "a-b"), methods=METHODS,
        learner={"tick": 100_000, "alpha": [0.1, 0.5], "epsilon": [0.1, "linear(1, 0.1, 5000)"]},
    )  # fmt: skip
    return load(make_file(tmp_path_factory.mktemp("compared") / "x.h5", turn, plan))


def naive_pairs(results, one, two, by):
    """Return the pairs of runs that differ in one coordinate alone: their map, what else but the seed, and scores."""
    names = ("setup", "grid", "task", "algo", "kind", "shaping", "seed", "alpha", "epsilon")
    rows = [
        {name: results[name][k] for name in names}
        | {"method": results["method"][k], "start": method_of(results["method"][k]).optimism}
        | {"settled": results.per_run_values("settled")[k]}
        for k in range(results.runs)
        if results["error"][k] == ""
    ]
    parts = ("algo", "kind", "shaping", "start")
    free = {by, "method", "settled", *(parts if by == "method" else ())}
    sides = [[row for row in rows if row[by] == side] for side in (one, two)]
    found = []
    for first, second in itertools.product(*sides):
        if all(first[name] == second[name] for name in first if name not in free):
            where = tuple(first[name] for name in ("setup", "grid") if name != by)
            what = tuple(first[name] for name in first if name not in {*free, "seed"})
            found.append((where, what, first["settled"], second["settled"]))
    return found


def naive_probability(pairs):
    """Return how likely a first score exceeds a second one of the same stratum, pairs weighing alike."""
    strata = {what: [pair[2:] for pair in pairs if pair[1] == what] for _, what, _, _ in pairs}
    shares = {
        what: np.mean([(a > b) + 0.5 * (a == b) for (a, _), (_, b) in itertools.product(of_it, repeat=2)])
        for what, of_it in strata.items()
    }
    return np.mean([shares[what] for _, what, _, _ in pairs])


@pytest.mark.parametrize(
    ("by", "one", "two"),
    [
        ("method", "crm-num", "qrm-num"), ("task", "a", "a-b"), ("kind", "numeric", "boolean"), ("algo", "crm", "qrm"),
        ("shaping", 0, 1), ("setup", "1a1b1c", "2a2b2c"), ("grid", "0", "1"), ("seed", 0, 2), ("alpha", 0.1, 0.5),
        ("epsilon", 0.1, "linear(1, 0.1, 5000)"),
    ],
)  # fmt: skip
def test_pairs_are_alike_in_all_but_one_coordinate(results, by, one, two):
    value = str(one) if by == "epsilon" else one
    pairs = naive_pairs(results, value, two, by)
    found = results.compare(one, two, by=by)
    maps = [[pair for pair in pairs if pair[0] == where] for where in {pair[0] for pair in pairs}]
    assert len(pairs) > 20 and found.pairs == len(pairs) and found.maps == len(maps)
    assert found.difference == pytest.approx(np.mean([np.mean([a - b for *_, a, b in one]) for one in maps]), abs=1e-12)
    assert found.probability == pytest.approx(np.mean([naive_probability(one) for one in maps]), abs=1e-12)
    assert found.one == ("crm-num" if by == "method" else f"{by} {one}")
    turned = results.compare(two, one, by=by)
    assert turned.difference == pytest.approx(-found.difference) and turned.p == pytest.approx(found.p)
    assert turned.probability == pytest.approx(1 - found.probability)


def test_other_coordinates_can_be_selected(results):
    both = results.compare("a", "a-b", by="task")
    one = results.compare("a", "a-b", by="task", method="crm-num", alpha=0.1)
    assert (
        one.pairs == results.select(method="crm-num", alpha=0.1).compare("a", "a-b", by="task").pairs < both.pairs / 6
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("a", "a-b", "taks"), "by='taks': must be one of setup, grid, task, algo, kind, shaping, method, seed, alpha, "
                               "epsilon (did you mean task?)"),
        (("a", "a-bb", "task"), "task='a-bb' selects nothing (did you mean a-b?); there are a, a-b"),
        ((0.1, 0.2, "alpha"), "alpha=0.2 selects nothing (did you mean 0.5?); there are 0.1, 0.5"),
        (("num", "boolean", "kind"), "kind='num' selects nothing (did you mean numeric?); there are boolean, numeric"),
        (("crm", "qrm", "gamma"), "by='gamma': must be one of"),
        (("a", "a-b", None), "by=None: must be one of"),
    ],
    ids=["coordinate", "value", "number", "kind", "not swept", "type"],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_one_line(results, call, said):
    with pytest.raises(ConfigError) as caught:
        results.compare(*call[:2], by=call[2])
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_values_without_a_common_pair_are_refused(results):
    with pytest.raises(ConfigError) as caught:
        results.select(method=["crm-num", "qrm-bool@0.5"]).compare("numeric", "boolean", by="kind")
    assert str(caught.value) == (
        "kind numeric and kind boolean have no runs that share setup, map, task, alpha, epsilon, "
        "method without its kind, seed"
    )


def machine_files(folder, steps=4000):
    """Run two machine files on two map files."""
    for name, kind in (("plain", "boolean"), ("guided", "numeric-boolean")):
        (folder / f"{name}.rm").write_text(task("a", kind=kind).write())
    for name, row in (("near", "XA..aX"), ("far", "XA...........aX")):
        wall = "X" * len(row)
        (folder / f"{name}.map").write_text(f"{wall}\n{row}\n{wall}\n")
    (folder / "two.toml").write_text(
        'map_files = ["near.map", "far.map"]\nmachine_files = ["plain.rm", "guided.rm"]\nmethods = ["crm", "qrm"]\n'
        f"seeds = 3\nsteps = {steps}\nlearner = {{tick = 100}}\n"
    )
    return run(Experiment.load(folder / "two.toml"), out=folder / "two.h5", workers=1)


def test_two_machine_files_and_two_map_files_are_compared(tmp_path, capsys):
    results = machine_files(tmp_path)
    machines = results.compare("guided", "plain", "area", by="task")
    assert (machines.pairs, machines.maps, machines.over) == (2 * 2 * 3, 2, "maps") and machines.difference > 0
    maps = results.compare("near", "far", "area", by="setup")
    assert (maps.pairs, maps.over) == (2 * 2 * 3, "seeds") and maps.difference > 0
    with pytest.raises(
        ConfigError, match=r"task='guided.rm' selects nothing \(did you mean guided\?\); there are guided"
    ):
        results.compare("guided.rm", "plain", by="task")
    words = ["--compare", "guided", "plain", "--by", "task", "--value", "area"]
    assert main(["info", str(results.path), *words]) == 0
    assert capsys.readouterr().out == f"{machines}\n"
    assert main(["info", str(results.path), *words, "--json"]) == 0
    assert f'"pairs": {machines.pairs}' in capsys.readouterr().out
    assert main(["info", str(results.path), "--compare", "guided", "plain"]) == 2
    assert "method='guided' selects nothing; there are crm, qrm" in capsys.readouterr().err
    assert main(["info", str(results.path), "--by", "task"]) == 2
    assert "--by goes with --compare" in capsys.readouterr().err


def test_numbers_on_the_command_line_are_values_of_settings(results, capsys):
    assert main(["info", str(results.path), "--compare", "0.5", "0.1", "--by", "alpha"]) == 0
    assert capsys.readouterr().out == f"{results.compare(0.5, 0.1, by='alpha')}\n"
    assert main(["info", str(results.path), "--compare", "a", "0.1", "--by", "alpha"]) == 2
    assert "alpha='a' selects nothing; there are 0.1, 0.5" in capsys.readouterr().err
