"""Compiling: every table entry against the oracle, every refusal against its message."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from fastrm import ConfigError, FastrmWarning, GridMap, MachineError, RewardMachine, compile, task
from fastrm.kernels.contracts import FAILURE, LIVE, SUCCESS
from fastrm.machines import KINDS
from fastrm.machines.language import FEATURES, FeatureKind, parse_guard
from fastrm.problems import Terrain
from fastrm.problems.events import _Classes

import naive
from machine_specs import machine_text, sequence_spec

ROOM = GridMap.parse("""
XXXXXXX
XA  b X
X X a X
X X  nX
X a   X
XXXXXXX
""")
OUTCOMES = {LIVE: None, SUCCESS: "success", FAILURE: "failure"}


def assert_tables_equal_oracle(grid, specs, profile="clean", metric="manhattan"):
    """Look every (cell, action, state) up in the tables and work it out anew from the definitions."""
    machines = [RewardMachine.parse(machine_text(spec)) for spec in specs]
    problem = compile(grid, machines, profile=profile, metric=metric)
    tables, cells = problem.tables, [tuple(cell) for cell in problem.terrain.cells.tolist()]
    world = naive.World(grid.render(), metric)
    switches = naive.CLEAN if profile == "clean" else {**naive.ICARTE2022, "merge_terminals": False}
    oracles = [naive.Machine(i, spec, world, switches, 0.9) for i, spec in enumerate(specs)]
    assert cells[tables.starts[0]] == world.start
    for s, cell in enumerate(cells):
        for a in range(4):
            there = world.move(cell, a)
            assert cells[tables.next_s[s, a]] == there
            e = tables.event[s, a]
            for v, (number, name) in enumerate(problem.states):
                (_, target), reward, outcome = oracles[number].step((number, name), cell, there)
                assert tables.reward[e, v] == reward
                assert OUTCOMES[tables.outcome[e, v]] == outcome
                v_next = tables.delta[e, v]
                assert v_next == (tables.n_u if outcome else problem.states.index((number, target)))
                assert (
                    outcome is None
                    or target == naive.FELL_OFF
                    or (machines[number].terminals[problem.ending[e, v] - 1] == target)
                )
            image = set(tables.delta[e, : tables.n_u].tolist())
            assert bool(tables.partial[e]) == (not image >= set(range(tables.n_u)))
            assert set(np.flatnonzero(tables.image[e]).tolist()) == image
            assert (e < tables.n_quiet) == (tables.delta[e, : tables.n_u].tolist() == list(range(tables.n_u)))
    assert not tables.reward[:, tables.n_u :].any()
    assert (tables.delta[:, tables.n_u :] == tables.n_u).all()
    return problem


@pytest.mark.parametrize("metric", ["manhattan", "geodesic"])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind_equal_the_oracle(kind, metric):
    for closer in ("nearest", "any"):
        for distance in ("after", "before"):
            spec = sequence_spec("a-b-a", kind, closer=closer, distance=distance)
            assert_tables_equal_oracle(ROOM, [spec], metric=metric)


def test_tables_of_several_machines_equal_the_oracle():
    specs = [sequence_spec("a-b", "boolean"), sequence_spec("b", "numeric"), sequence_spec("n-a", "numeric-boolean")]
    assert_tables_equal_oracle(ROOM, specs)


def test_failures_comparisons_and_double_edges_equal_the_oracle():
    near = ("<=", ("d", "a"), ("num", 1))
    spec = {
        "states": ["u0", "u1"], "start": "u0", "success": ["done"], "failure": ["lost"], "score": "task",
        "edges": [
            ("u0", ("prop", "n"), "lost", ("num", -1)),
            ("u0", ("and", ("not", ("prop", "n")), near), "u1", ("-", ("num", 10), ("*", ("num", 2), ("d", "b")))),
            ("u0", "otherwise", "u0", ("num", 0)),
            ("u1", ("prop", "b"), "done", ("num", 5)),
            ("u1", ("and", ("not", ("prop", "b")), ("<", ("d", "a"), ("d", "b"))), "u1", ("num", 0.25)),
            ("u1", "otherwise", "u1", ("neg", ("min", ("d", "a"), ("d", "b")))),
        ],
    }  # fmt: skip
    assert_tables_equal_oracle(ROOM, [spec])


OFFICE_LIKE = {
    "states": ["0", "1"], "start": "0", "success": ["2"], "failure": [], "score": "own",
    "edges": [
        ("0", ("and", ("not", ("prop", "a")), ("not", ("prop", "n"))), "0", ("num", 0)),
        ("0", ("and", ("prop", "a"), ("not", ("prop", "n"))), "1", ("num", 0)),
        ("1", ("and", ("not", ("prop", "b")), ("not", ("prop", "n"))), "1", ("num", 0)),
        ("1", ("and", ("prop", "b"), ("not", ("prop", "n"))), "2", ("num", 1)),
    ],
}  # fmt: skip


def test_a_machine_that_opens_no_edge_is_refused_in_clean_with_the_event_named():
    machine = RewardMachine.parse(machine_text(OFFICE_LIKE), "office.rm")
    with pytest.raises(
        MachineError, match=r"office\.rm:\d+: state 0 has no open edge for the move \w+ from \(.*\), onto n; add"
    ):
        compile(ROOM, machine)


def test_falling_off_ends_the_episode_in_icarte2022_and_pays_the_edge_to_the_terminal():
    problem = assert_tables_equal_oracle(ROOM, [OFFICE_LIKE], profile="icarte2022")
    tables = problem.tables
    fell = np.argwhere(problem.ending == -1)
    assert {v for _, v in fell.tolist()} == {0, 1}
    assert all(tables.reward[e, v] == v for e, v in fell.tolist())  # 0 from state 0, the quirk's 1 from state 1
    assert all(tables.outcome[e, v] == FAILURE for e, v in fell.tolist())


def test_overlapping_edges_are_refused_with_both_edges_and_the_valuation():
    text = "start u0\nsuccess end\nu0 -> end when a\nu0 -> u0 when d(a) <= 1\nu0 -> u0 otherwise\n"
    with pytest.raises(
        MachineError,
        match=r"x\.rm:4: in state u0 the edges u0 -> end \(when a\) \(line 3\) and u0 -> u0 \(when d\(a\) <= 1\) are "
        r"both open for the move \w+ from \(.*\), onto a, where d\(a\) = 0; make",
    ):
        compile(ROOM, RewardMachine.parse(text, "x.rm"))


def test_a_gap_is_refused_with_the_valuation():
    text = "start u0\nsuccess end\nu0 -> end when a\nu0 -> u0 when !a & d(a) > 1\n"
    with pytest.raises(
        MachineError,
        match=r"x\.rm:3: state u0 has no open edge for the move .*, where d\(a\) = 1; add an 'otherwise' edge",
    ):
        compile(ROOM, RewardMachine.parse(text, "x.rm"))


def test_an_unknown_symbol_is_refused_with_what_the_map_offers_and_a_near_miss():
    text = "start u0\nsuccess end\nu0 -> end when B\nu0 -> u0 otherwise\n"
    with pytest.raises(
        MachineError, match=r"x\.rm:3: edge u0 -> end uses 'B'; this map offers a, b, n \(did you mean b\?\); the task"
    ):
        compile(ROOM, RewardMachine.parse(text, "x.rm"))


def test_a_distance_to_a_type_the_map_does_not_have_is_refused():
    with pytest.raises(MachineError, match=r"uses d\(z\); this map offers a, b, n"):
        compile(ROOM, RewardMachine.sequence("z", kind="numeric"))


WALLED = GridMap.parse("XXXXXX\nXA XaX\nXb XXX\nXXXXXX\n")


@pytest.mark.parametrize("metric", ["manhattan", "geodesic"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_task_whose_target_is_walled_off_is_refused(kind, metric):
    with pytest.raises(
        MachineError, match=r"(edge u1 ->|potential u1) .* walls cut every a of this map off from the start"
    ):
        compile(WALLED, RewardMachine.sequence("b-a", kind=kind), metric=metric)


def test_a_task_that_failures_make_impossible_is_refused():
    corridor = GridMap.parse("XXXXXX\nXAnbXX\nXXXXXX\n")
    text = "start u0\nsuccess end\nfailure lost\nu0 -> end when b\nu0 -> lost when n\nu0 -> u0 otherwise\n"
    with pytest.raises(MachineError, match=r"no path on .* leads to a success state"):
        compile(corridor, RewardMachine.parse(text))


@pytest.mark.parametrize("metric", ["manhattan", "geodesic"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("XXXXXX\nXAXanX\nXXXXXX\n", "no move leaves it"),
        ("XXXXXXX\nXA XanX\nXXXXXXX\n", "only 2 cells can be reached, and no object"),
    ],
)
def test_a_start_that_is_walled_in_is_named_and_no_object_is_blamed(text, reach, kind, metric):
    with pytest.raises(MachineError) as refused:
        compile(GridMap.parse(text, "m.txt"), task("a" if kind == "offset" else "a !n", kind=kind), metric=metric)
    said = str(refused.value)
    assert (
        f"the start cell, row 1, column 1, is walled in: {reach}; open a way in the map" in said and "'n'" not in said
    )


def test_what_a_task_avoids_is_not_blamed_for_what_it_misses():
    with pytest.raises(MachineError, match=r"uses 'a'; walls cut every a of this map off"):
        compile(GridMap.parse("XXXXXXX\nXAb XaX\nXXXXXXX\n"), task("(b-a) !n"))


def test_a_move_onto_nothing_is_described_as_one():
    text = "start u0\nsuccess end\nu0 -> end when a\nu0 -> u0 when b\n"
    with pytest.raises(MachineError) as refused:
        compile(ROOM, RewardMachine.parse(text))
    move = "the move up from (1, 1) against a wall, onto a cell without a or b"
    assert f"state u0 has no open edge for {move}; add an 'otherwise' edge" in str(refused.value)


def test_a_symbol_that_never_shows_is_only_a_warning():
    text = "start u0\nsuccess end\nu0 -> end when a & !m\nu0 -> u0 otherwise\n"
    with pytest.warns(FastrmWarning, match="reads 'm', which never holds on the map <text>; this map offers a, b, n"):
        compile(ROOM, RewardMachine.parse(text))


def test_start_and_wall_tiles_are_not_propositions():
    for name in ("A", "X"):
        text = f"start u0\nsuccess end\nu0 -> end when {name}\nu0 -> u0 otherwise\n"
        with pytest.raises(MachineError, match="cannot be completed"):
            compile(ROOM, RewardMachine.parse(text))


def test_a_reward_that_is_not_finite_is_refused():
    text = "start u0\nsuccess end\nu0 -> end when a reward 1/d(a)\nu0 -> u0 otherwise\n"
    with pytest.raises(
        MachineError,
        match=r"x\.rm:3: edge u0 -> end \(when a\) pays no finite reward for .*, onto a, where d\(a\) = 0; change",
    ):
        compile(ROOM, RewardMachine.parse(text, "x.rm"))


@pytest.mark.parametrize(
    ("row", "measure"),
    [
        (FeatureKind("near", True, True, "after", "near", "x is a step away"), lambda t, x: t.distance(x) < 2),
        (FeatureKind("row", False, False, "before", "row", "the row it left"), lambda t: t.cells[:, 0]),
        (FeatureKind("up", True, False, "move", "up", "it tried to go up"), lambda t: 0 * t.next_s + [1, 0, 0, 0]),
    ],
)  # fmt: skip
def test_a_row_and_a_method_of_terrain_are_a_feature(monkeypatch, row, measure):
    monkeypatch.setitem(FEATURES, row.name, row)
    monkeypatch.setattr(Terrain, row.measure, measure, raising=False)
    written = row.written.replace("x", "b")
    guard = written if row.is_truth else f"{written} == 1"
    text = f"start u0\nsuccess end\nu0 -> end when {guard} & a1 reward 1\nu0 -> u0 otherwise reward -1\n"
    problem = compile(ROOM, RewardMachine.parse(text))
    tables, terrain = problem.tables, problem.terrain
    value = measure(terrain, *["b"] * row.objects)
    of_moves = {"after": value[tables.next_s], "before": value[:, None], "move": value}[row.known]
    expected = np.where(terrain.holds("a1")[tables.next_s] & (of_moves == 1), 1.0, -1.0)
    assert (tables.reward[tables.event, 0] == expected).all() and len(set(expected.ravel())) == 2
    with pytest.raises(MachineError, match=f"unknown function .*there are .*{row.name}"):
        parse_guard("nothing(a)")


def test_unknown_profiles_and_metrics_are_refused():
    with pytest.raises(ConfigError, match=r"profile='claen': must be one of clean, icarte2022 \(did you mean clean"):
        compile(ROOM, RewardMachine.sequence("a"), profile="claen")
    with pytest.raises(ConfigError, match="metric='euclid'"):
        compile(ROOM, RewardMachine.sequence("a"), metric="euclid")
    with pytest.raises(MachineError, match="no machine"):
        compile(ROOM, [])


def test_cells_that_cannot_be_reached_are_left_out():
    problem = compile(WALLED, RewardMachine.sequence("b"))
    assert len(problem.terrain.cells) == 4


def test_shortest_lengths_are_right():
    problem = compile(ROOM, [RewardMachine.sequence("a"), RewardMachine.sequence("a-b-n")])
    assert problem.shortest == (4, 8)


def test_tables_are_read_only():
    problem = compile(ROOM, RewardMachine.sequence("a"))
    with pytest.raises(ValueError, match="read-only"):
        problem.tables.reward[0, 0] = 1.0


def test_classes_survive_keys_that_overflow():
    """Thirty columns of radix 1000 do not fit into an integer; the partition must be refined on the way."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(500, 30))
    classes = _Classes(500)
    for column in rows.T:
        classes.split(column, 1000)
    ids, example = classes.dense_with_example()
    expected = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    assert len(set(zip(ids.tolist(), expected.tolist(), strict=True))) == len(set(ids.tolist())) == len(example)
    assert (ids[example] == np.arange(len(example))).all()


def test_the_machines_of_the_reference_compile_on_its_maps_in_both_profiles(reference: Path):
    maps = [GridMap.load(path) for path in sorted(reference.glob("maps/*.txt"))]
    tasks = [RewardMachine.load(path) for path in sorted(reference.glob("machines/craft/*.txt"))]
    assert (len(maps), len(tasks)) == (6, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for grid in maps:
            for profile in ("clean", "icarte2022"):
                for task in tasks:
                    assert compile(grid, task, profile=profile).shortest[0] > 0
                assert compile(grid, tasks, profile=profile).tables.n_u == 40


@pytest.mark.parametrize("kind", ["potential", "local-potential", "distance-to-go"])
def test_moves_between_cells_that_count_alike_are_one_event(kind):
    """So large tables have few events: what a potential pays depends on its values alone, not on where they are."""
    grid = GridMap.generate("1a1b", size=13, seed=1)
    problem = compile(grid, RewardMachine.sequence("a-b", kind=kind))
    tables = problem.tables
    assert len(tables.reward) < tables.next_s.size / 2
    for gamma in (0.5, 0.9):
        at = problem.at(gamma)
        for s, a in np.ndindex(tables.next_s.shape):
            there, event = int(tables.next_s[s, a]), int(tables.event[s, a])
            for u in range(tables.n_u):
                after = int(tables.delta[event, u])
                moved = 0.0 if at.potential is None else gamma * at.potential[there, after] - at.potential[s, u]
                assert at.tables.reward[event, u] == problem.plain[event, u] + moved
                if kind == "distance-to-go":
                    assert problem.plain[event, u] == (0 if after == 2 else -problem.steps_to_go[there, after])
