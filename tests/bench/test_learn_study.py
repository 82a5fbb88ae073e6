"""The study of learned machines: its shares, medians and verdicts beside plain loops over the same runs."""

import itertools
import math
import re
from pathlib import Path
from statistics import median_low

import pytest

import fastrm
from fastrm.bench.studies import learn
from fastrm.errors import ConfigError
from fastrm.experiments import Plan

TASKS = ("a-b", "{a,b}-c")


def experiment(**changes):
    settings = {
        "name": "learned", "maps": 3, "setups": ("1a1b1c",), "size": 9, "tasks": TASKS, "greedy_ticks": True,
        "methods": ("learn-merge-bool", "crm-bool"), "seeds": 3, "steps": 20_000, "root_seed": 5,
        "learner": {"walk": [0.0, 0.5], "tick": 1000},
    }  # fmt: skip
    return fastrm.Experiment(**settings | changes)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return fastrm.run(experiment(), out=tmp_path_factory.mktemp("study") / "runs.h5", workers=1, progress=False)


def rows_of(results):
    """Yield every run as a dictionary, with what its last tenth of steps shows."""
    names = ("grid", "task", "algo", "walk", "equivalent", "regret", "steps_to_lasting_shortest")
    columns = {name: results[name].tolist() for name in names}
    for k in range(results.runs):
        late = {name: results[name][k, 19] - results[name][k, 17] for name in ("episodes", "completions")}
        yield {**{name: columns[name][k] for name in names}, "full": late["episodes"] == late["completions"]}


def test_claims_count_the_maps_that_plain_loops_count(results):
    rows = list(rows_of(results))
    learned = [row for row in rows if row["algo"] == "learn-merge"]
    maps = sorted({row["grid"] for row in rows})

    def count(holds, walk):
        return sum(any(holds(r) for r in learned if r["grid"] == name and r["walk"] == walk) for name in maps)

    def is_wrong(row):
        return row["equivalent"] == 0

    def is_hidden(row):
        return is_wrong(row) and row["regret"] > 1e-9 and row["full"]

    told = [int(re.match(r"1a1b1c: (\d) of 3 maps", numbers)[1]) for *_, numbers in learn.judge(learn.Runs(results))]
    assert told[:3] == [3 - count(is_wrong, 0.5), count(is_wrong, 0.0), count(is_hidden, 0.0)]
    assert 0 < count(is_wrong, 0.5) < 3 and count(is_hidden, 0.0) > 0  # so that both ways are seen


def test_a_curve_below_its_maximum_hides_nothing(results, monkeypatch):
    fewer = results["completions"].copy()
    fewer[:, -1] -= 1
    monkeypatch.setitem(results.columns, "completions", fewer)
    assert not learn.Runs(results).is_hidden.any()


def test_steps_to_a_shortest_plan_are_medians_of_each_map_and_infinite_without_one(results, monkeypatch):
    steps = results["steps_to_lasting_shortest"].copy()
    steps[results["grid"] == "1"] = math.nan
    monkeypatch.setitem(results.columns, "steps_to_lasting_shortest", steps)
    runs, rows = learn.Runs(results), list(rows_of(results))
    for task in TASKS:
        for algo in ("learn-merge", "crm"):
            for name, told in zip(sorted({row["grid"] for row in rows}), runs.steps("1a1b1c", task, algo), strict=True):
                mine = [r for r in rows if (r["grid"], r["task"], r["algo"], r["walk"]) == (name, task, algo, 0.5)]
                steps = [r["steps_to_lasting_shortest"] for r in mine]
                assert told == median_low(math.inf if math.isnan(n) else n for n in steps)


def test_a_plan_that_is_never_shortest_fails_the_claim_about_its_price(results, monkeypatch):
    runs = learn.Runs(results)
    prices = {"learn-merge": [100.0, math.inf, 1001.0, 1000.0], "crm": [100.0, math.inf, 100.0, 100.0]}
    monkeypatch.setattr(runs, "steps", lambda setup, task, algo: learn.np.array(prices[algo]))
    assert runs.within("1a1b1c") == (2, 4)


def test_shares_without_spread_have_an_interval():
    ones, maps = learn.np.ones(60, dtype=bool), learn.np.repeat(learn.np.arange(30), 2)
    assert learn._share(ones, maps) == "1.00 [0.89, 1.00]" and learn._share(~ones, maps) == "0.00 [0.00, 0.11]"


def test_files_of_other_suites_are_refused(tmp_path):
    other = fastrm.run(experiment(learner={"tick": 1000}, maps=1, seeds=1, steps=2000), out=tmp_path / "other.h5",
                       workers=1, progress=False)  # fmt: skip
    with pytest.raises(ConfigError, match="must sweep walk of learn-merge beside crm"):
        learn.Runs(other)


def steps_from(text, source, without=()):
    """Return the steps to every cell that can be reached without some others."""
    rows, steps, queue = text.splitlines(), {source: 0}, [source]
    for row, column in queue:
        for cell in ((row, column + 1), (row + 1, column), (row, column - 1), (row - 1, column)):
            if cell not in steps and cell not in without and rows[cell[0]][cell[1]] != "X":
                steps[cell] = steps[row, column] + 1
                queue.append(cell)
    return steps


def test_on_four_maps_every_shortest_way_from_one_object_to_another_leads_over_the_third():
    found = []
    for setup, number, text in Plan.of(fastrm.Experiment.named("learn")).grids:
        objects = [cells[0] for cells in fastrm.GridMap.parse(text).objects.values()]
        for one, between, other in itertools.permutations(objects):
            if steps_from(text, one)[other] != steps_from(text, one, (between,)).get(other):
                found.append((setup, int(number)))
    assert sorted(set(found)) == [("1a1b1c walls 0.2", number) for number in (0, 14, 17, 22)]


def test_the_page_shows_the_tables_of_the_record():
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "explanation" / "learned-machines.md").read_text()
    tables = (root / "results" / "record" / "learn.md").read_text().strip().split("\n\n")
    assert len(tables) == 3 and all(f"\n\n{table}\n\n" in page for table in tables)
