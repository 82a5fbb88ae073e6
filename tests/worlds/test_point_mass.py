"""The point mass against its slow twin: every move, distance, optimum and verdict of three small lattices."""

import itertools
import json
from fractions import Fraction

import naive_point
import numpy as np
import pytest

import fastrm
from fastrm import Experiment, MapError, PointMass, RewardMachine, compile, guarantee, load, load_run, run, solve, train
from fastrm.experiments import Plan
from fastrm.worlds import FORCES, find_grid, load_world, read_world, write_world

from brute_force import Move, Truth
from sizes import FULL, either

SPECS = {
    "open": {"side": 7, "fastest": 2, "start": (3, 3), "velocity": (0, 0), "discs": [("a", 6, 5, 1), ("b", 0, 1, 0)],
             "walls": []},
    "walled": {"side": 6, "fastest": 2, "start": (0, 0), "velocity": (1, -1),
               "discs": [("a", 5, 0, 1), ("b", 0, 5, 1)], "walls": [(2, 0, 2, 3), (0, 3, 0, 3)]},
    "several": {"side": 8, "fastest": 1, "start": (4, 4), "velocity": (0, 1),
                "discs": [("b", 1, 1, 1), ("a", 7, 4, 0), ("a", 0, 6, 1)], "walls": [(3, 2, 6, 2)]},
}  # fmt: skip


def world_of(spec):
    return PointMass(**spec)


def cells_of(world):
    return [tuple(cell) for cell in world.cells(np.arange(world.n_cells)).tolist()]


@pytest.fixture(params=SPECS, scope="module")
def spec(request):
    return SPECS[request.param]


def test_every_move_and_label_is_that_of_the_twin(spec):
    world, table = world_of(spec), world_of(spec).table
    assert table.n_cells == (spec["side"] * (2 * spec["fastest"] + 1)) ** 2 == world.n_cells and table.n_actions == 9
    cells = cells_of(world)
    assert len(set(cells)) == len(cells) and cells[table.starts[0]] == (*spec["start"], *spec["velocity"])
    for s, cell in enumerate(cells):
        if naive_point.in_wall(spec, *cell[:2]):
            continue
        assert world.number(*cell) == s
        assert [cells[there] for there in table.next_s[s]] == [naive_point.push(spec, cell, a) for a in range(9)]
        assert {name for name, held in table.marks.items() if held[s]} == naive_point.labels(spec, cell)


@pytest.mark.parametrize("metric", ["manhattan", "geodesic"])
def test_distances_are_straight_lines_or_steps(spec, metric):
    problem = compile(world_of(spec), fastrm.task("a", kind="numeric"), metric=metric)
    measure = naive_point.distance if metric == "manhattan" else naive_point.steps_to
    cells = cells_of(problem.world)
    for name in "ab":
        found = problem.terrain.distance(name)
        for s in range(0, len(cells), 1 if metric == "manhattan" else 29):
            if not naive_point.in_wall(spec, *cells[s][:2]):
                assert found[s] == measure(spec, cells[s], name), (cells[s], name)
        is_open = problem.world.is_open[tuple(problem.terrain.cells[:, :2].T)]
        assert np.array_equal((found == 0)[is_open], problem.terrain.holds(name)[is_open])


CASES = [("boolean", 1, "a-b"), ("numeric-boolean", 1, "a-b"), ("numeric-boolean", 1000, "b-a"), ("numeric", 0, "a"),
         ("numeric", 0, "a-b"), ("numeric", 40, "b-a"), ("numeric", 5000, "a-b")]  # fmt: skip


@pytest.mark.parametrize(("kind", "terminal", "task"), CASES if FULL else CASES[1::3])
def test_optimum_and_verdict_are_those_of_an_independent_search_in_rationals(spec, kind, terminal, task):
    machine = RewardMachine.sequence(task, kind=kind, terminal_reward=float(terminal))
    problem = compile(world_of(spec), machine)
    moves, first = naive_point.moves(spec, task.split("-"), kind, terminal, Move)
    for gamma in (0.5, 0.9):
        truth, ours = Truth(moves, [first], gamma), guarantee(problem, gamma)
        assert problem.shortest == (truth.shortest,)
        ((_, verdict),) = truth.verdicts
        assert ours.verdict == verdict
        best, s = solve(problem, gamma), problem.start
        assert abs(Fraction(float(best.value[s, 0])) - truth.value[first]) <= best.error[s, 0] + Fraction(1, 10**12)


def test_the_verdicts_that_were_compared_are_not_all_the_same():
    def verdict(spec, kind, terminal, task, gamma):
        machine = RewardMachine.sequence(task, kind=kind, terminal_reward=float(terminal))
        return guarantee(compile(world_of(spec), machine), gamma).verdict.split(" (")[0]

    found = {verdict(spec, *case, gamma) for spec in SPECS.values() for case in CASES for gamma in (0.5, 0.9)}
    assert {"shortest", "never finishes"} < found


def test_moves_that_near_one_of_several_discs_are_marked(spec):
    terrain = compile(world_of(spec), fastrm.task("a")).terrain
    cells, discs = cells_of(world_of(spec)), [disc for disc in spec["discs"] if disc[0] == "a"]
    marks = terrain.closer_any("a")
    for s in range(0, len(cells), 7):
        for a, there in enumerate(terrain.next_s[s]):
            alone = [{**spec, "discs": [disc]} for disc in discs]
            d = naive_point.distance
            assert marks[s, a] == any(d(one, cells[there], "a") < d(one, cells[s], "a") for one in alone)


def test_half_a_million_cells_are_a_table_like_any_other():
    world = PointMass.generate(seed=3)
    problem = compile(world, fastrm.task("a-b-c", kind="numeric"))
    assert world.n_cells == len(problem.tables.next_s) == 499_849 and problem.n_actions == 9
    assert problem.shortest == (31,) and len(world.to_json()) < 200
    verdict = guarantee(problem, 0.97)
    assert verdict.verdict == "shortest" and len(verdict.witness.path) == 32
    assert verdict.witness.path[0] == (50, 50, 0, 0)
    assert str(problem).startswith("<Problem a-b-c numeric on <point 1a1b1c seed 3>: 499849 cells, 3 machine states")


# --- making one -------------------------------------------------------------------------------------------------------


def test_a_seed_makes_the_same_world_everywhere():
    world = PointMass.generate(seed=3)
    assert [tuple(disc) for disc in world.discs] == [("a", 15, 42, 6), ("b", 48, 71, 6), ("c", 16, 64, 6)]
    walled = PointMass.generate(seed=3, walls=2)
    assert walled.discs == world.discs and [tuple(block) for block in walled.walls] == [
        (50, 20, 53, 34), (44, 89, 79, 92),
    ]  # fmt: skip
    assert PointMass.generate(3, "2a1b", 31) == PointMass.generate(3, "2a1b", 31) != PointMass.generate(4, "2a1b", 31)


@pytest.mark.parametrize(("setup", "side", "walls"), [("1a1b1c", 101, 0), ("3a2b", 31, 4), ("1a", 21, 6)])
def test_generated_discs_lie_apart_and_within_reach(setup, side, walls):
    for seed in range(8):
        world = PointMass.generate(seed, setup, side, walls)
        assert world.start == (side // 2, side // 2) and world.velocity == (0, 0) and len(world.walls) == walls
        for one, two in itertools.combinations(world.discs, 2):
            assert (one.x - two.x) ** 2 + (one.y - two.y) ** 2 > (one.radius + two.radius) ** 2
        for disc in world.discs:
            places = world.reach(disc)
            assert places.sum() > 4 and not places[world.start] and (world.is_open & world.within_reach)[places].all()
            assert disc.radius <= min(disc.x, disc.y) and max(disc.x, disc.y) < side - disc.radius
        assert np.array_equal(world.within_reach, world.is_open)


def test_a_world_is_read_back_from_text_and_file(tmp_path):
    for world in (PointMass.generate(1, "2a1b", 31, 3), *map(world_of, SPECS.values())):
        text, path = write_world(world), tmp_path / "x.json"
        again = read_world(text, "x")
        assert isinstance(again, PointMass) and again == world and hash(again) == hash(world)
        assert again.to_json() == text and len(text) < 500
        world.save(path)
        assert PointMass.load(path) == load_world(path) == find_grid(path) == world
        assert np.array_equal(again.table.next_s, world.table.next_s) and again.table == world.table


def test_a_setup_names_a_world():
    assert find_grid("point 2a1b side 21 walls 2", seed=5) == PointMass.generate(5, "2a1b", 21, 2)
    assert find_grid("point 2a1b  walls 2 side 21", seed=5).source == "<point 2a1b side 21 walls 2 seed 5>"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PointMass([]), "discs: must be a list of 1 to 64 of (name, x, y, radius)"),
        (lambda: PointMass([("a", 3, 3)]), "discs: must be a list of 1 to 64 of (name, x, y, radius)"),
        (lambda: PointMass([("a", 3, 101, 2)]), "disc 0 ('a', 3, 101, 2): x and y must be whole numbers from 0 to 100"),
        (lambda: PointMass([("a", 3, 1.5, 2)]), "disc 0 ('a', 3, 1.5, 2): x and y must be whole numbers"),
        (lambda: PointMass([("when", 3, 1, 2)]), "disc 0: name 'when': must be a name such as a or gold, and no word"),
        (lambda: PointMass([("a b", 3, 1, 2)]), "disc 0: name 'a b': must be a name such as a or gold"),
        (lambda: PointMass([("a", 3, 3, 1)], side=4), "side=4: must be a whole number from 5 to 401"),
        (lambda: PointMass([("a", 3, 3, 1)], side=401, fastest=10), "make 70913241 cells; at most 10000000 are possi"),
        (lambda: PointMass([("a", 3, 3, 1)], fastest=0), "fastest=0: must be a whole number from 1 to 10"),
        (lambda: PointMass([("a", 3, 3, 1)], side=9), "start=(50, 50): must be two whole numbers from 0 to 8"),
        (lambda: PointMass([("a", 3, 3, 1)], velocity=(4, 0)), "velocity=(4, 0): must be two whole numbers from -3"),
        (lambda: PointMass([("a", 3, 3, 1)], walls=[(4, 0, 2, 9)]), "wall 0 (4, 0, 2, 9): must be left, bottom, right"),
        (lambda: PointMass([("a", 3, 3, 1)], walls=[(40, 40, 60, 60)]), "start=(50, 50): lies in a wall; move one"),
        (lambda: PointMass([("a", 3, 3, 1)], walls=[(0, 9, 100, 9)]), "disc 0 (a): walls cut it off from the start"),
        (lambda: PointMass.parse("{"), "<text>: not JSON"),
        (lambda: PointMass.parse("[]"), '<text>: expected {"point mass": {"discs": ...}} and no keys but side, fast'),
        (lambda: PointMass.parse('{"point mass": {"discs": [], "colour": 1}}'), "no keys but side, fastest, start"),
        (lambda: PointMass.parse('{"point mass": {"discs": [["a", 1, NaN, 2]]}}'), "disc 0 ('a', 1, nan, 2): x and y"),
        (lambda: PointMass.parse('{"point mass": {"discs": 5}}'), "discs: must be a list of 1 to 64"),
        (lambda: PointMass.generate(0, "40a", 21), "<point 40a side 21 seed 0>: no room for disc"),
        (lambda: PointMass.generate(0, "1a", 21, 60), "no room for wall"),
        (lambda: PointMass.generate(-1), "seed=-1: must be a whole number from 0"),
        (lambda: PointMass.generate(0, "a"), "setup 'a': expected counts and object letters"),
        (lambda: find_grid("point 1a1b sides 21"), "map 'point 1a1b sides 21': expected point and a setup such as"),
        (lambda: find_grid("point 1a1b side"), "map 'point 1a1b side': expected point and a setup such as 1a1b1c"),
        (lambda: find_grid("point"), "map 'point': setup '': expected counts and object letters"),
        (lambda: find_grid("point 1a side 3"), "side=3: must be a whole number from 5 to 401"),
        (lambda: find_grid("point 1a", size=9), "size is for maps; write point 1a1b1c side 51 in the setup"),
        (lambda: PointMass.load("no.json"), "no.json: cannot be read"),
        (lambda: PointMass.generate(0, side=21).number(2, 21), "must be x and y from 0 to 20, and a velocity from -3"),
    ],
)  # fmt: skip
def test_what_is_no_point_mass_is_refused_in_one_line(build, message):
    with pytest.raises(fastrm.FastrmError) as caught:
        build()
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def problem():
    return compile(PointMass.generate(3, "1a1b", 11), fastrm.task("a-b"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": (2, 40)}, "cell (2, 40, 0, 0): must be x and y from 0 to 10"),
        ({"start": 99999}, "start=99999: must be 'anywhere', or one or several cells 0 to 5928"),
        ({"start": []}, "start=[]: must be 'anywhere', or cells such as (50, 50)"),
        ({"start": np.array([2, 40])}, "must be x and y from 0 to 10"),
        ({"start": 1.5}, "start=1.5: must be 'anywhere', or a cell such as (50, 50)"),
        ({"features": {"fuel": lambda cell: 1}}, "features, labels: are for maps; on a point mass machines read discs"),
        ({"metric": "straight"}, "metric='straight': must be one of manhattan, geodesic"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(problem, settings, message):
    with pytest.raises(fastrm.FastrmError) as caught:
        compile(problem.world, problem.machines[0], **settings)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_offset_is_refused_as_a_disc_has_many_cells(problem):
    with pytest.raises(fastrm.MachineError, match=r"uses d_only\(a\), and there are 245 cells with a: rewards of the"):
        compile(problem.world, fastrm.task("a-b", kind="offset"))


# --- using one --------------------------------------------------------------------------------------------------------


def test_episodes_begin_where_they_are_told(problem):
    world, machine = problem.world, problem.machines[0]
    assert compile(world, machine, start=(2, 3)).starts == ((2, 3, 0, 0),)
    assert compile(world, machine, start=[(2, 3, 1, -2), world.number(1, 1)]).starts == ((1, 1, 0, 0), (2, 3, 1, -2))
    anywhere = compile(world, machine, start="anywhere")
    free = world.is_open & ~np.logical_or.reduce([world.reach(disc) for disc in world.discs])
    assert sorted(anywhere.starts) == [(x, y, 0, 0) for x, y in np.argwhere(free).tolist()]


def test_learners_follow_paths_of_the_lattice(problem):
    numeric = compile(problem.world, fastrm.task("a-b", kind="numeric"))
    for algo in either(("qrm", "crm", "hrm"), ("crm",)):
        learned = train(numeric, algo, steps=150_000, gamma=0.95, episode_limit=100, q_init=0.0)
        cells, actions = learned.greedy_path, learned.path_actions(numeric)
        assert learned.greedy_length >= problem.shortest[0] and cells[0] == (5, 5, 0, 0)
        spec = {"side": 11, "fastest": 3, "walls": []}
        assert [naive_point.push(spec, cell, a) for cell, a in zip(cells, actions, strict=False)] == list(cells[1:])


def test_a_run_is_saved_with_its_seed_of_a_world_and_not_with_its_table(problem, tmp_path):
    learned = train(problem, "crm", steps=20_000, gamma=0.95, episode_limit=100)
    learned.save(tmp_path / "run.npz")
    again = load_run(tmp_path / "run.npz")
    assert again.q.tobytes() == learned.q.tobytes() and again.greedy_path == learned.greedy_path
    assert again.problem.world == problem.world and len(json.dumps(again.problem.describe())) < 2000
    assert type(again.problem) is type(problem) and again.problem.starts == problem.starts


def test_an_experiment_runs_and_replays_generated_and_saved_worlds(tmp_path):
    PointMass.generate(7, "1a1b", 11).save(tmp_path / "own.json")
    experiment = Experiment(
        name="points", setups=("point 1a1b side 9", "1a1b"), maps=2, size=15, map_files=(str(tmp_path / "own.json"),),
        tasks=("a-b",), methods=("crm-num", "qrm-bool"), seeds=2, steps=3000,
        learner={"tick": 1000, "episode_limit": 100},
    )  # fmt: skip
    results = run(experiment, tmp_path / "x.h5", workers=1)
    assert results.complete and set(results["error"].tolist()) == {""} and results.runs == 5 * 2 * 2
    assert results.plan.kinds == ("tabular",) * 5 and not results.plan.has_means
    for row in range(0, results.runs, 3):
        assert results.replay(row).score.tobytes() == results["score"][row].tobytes()
    assert load(tmp_path / "x.h5").plan == results.plan and max(len(text) for *_, text in results.plan.grids) < 250
    assert [setup for setup, *_ in results.plan.grids] == ["point 1a1b side 9"] * 2 + ["1a1b"] * 2 + ["own"]
    assert results.plan.largest_grids == {"tabular": 4}  # whose text is not the longest


def test_two_spellings_of_a_setup_are_one():
    settings = {"name": "x", "tasks": ("a",), "methods": ("crm-bool",), "steps": 100}
    with pytest.raises(fastrm.ConfigError, match="mean the same"):
        Experiment(setups=("point 1a side 9 walls 1", "point 1a walls 1 side 9"), **settings)
    with pytest.raises(MapError, match="map 'point 1a wall 1': expected point and a setup"):
        Experiment(setups=("point 1a wall 1",), **settings)
    assert Plan.of(Experiment(setups=("point 1a side 9",), **settings)).run_id(0) == "ee41d2ebdcd3457c"


def test_names_of_actions_say_where_they_push():
    signs = {"left": (-1, 0), "right": (1, 0), "up": (0, 1), "down": (0, -1), "none": (0, 0)}
    for name, force in zip(compile(world_of(SPECS["open"]), fastrm.task("a")).actions, FORCES, strict=True):
        assert tuple(np.sum([signs[word] for word in name.split()], axis=0)) == force
