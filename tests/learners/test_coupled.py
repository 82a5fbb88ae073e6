"""Coupled learning: equal to its oracle to the bit, to CRM with one stage, and right where the theorem says so."""

import random
from dataclasses import replace

import numpy as np
import pytest

from fastrm import ConfigError, GridMap, LearnerConfig, compile, compose, guarantee, solve, task, train, train_many
from fastrm.bench.speed.measure import oracle_spec
from fastrm.kernels.contracts import SUCCESS
from fastrm.learners import Batch, true_columns
from fastrm.learners.coupled import follow_columns
from fastrm.machines import terms as task_terms
from fastrm.problems import find_tour, survey

import naive
from compare import PROFILES, assert_equal

CHANGES = [
    {}, {"slip": 0.3, "limit": 31}, {"alpha": 0.3, "gamma": 0.99, "epsilon": 0.5}, {"q_init": 0.5, "limit": 17},
    {"q_init": 1.0, "plan": "nearest"}, {"per": "type"}, {"per": "type", "plan": "nearest", "limit": 23},
    {"limit": 1},
]  # fmt: skip


def draw_task(rng, n):
    """Return the text of a task of n stages, and its stages: some parts in any order, at times a visit after all.

    A letter may be asked for more than once, so that one visit takes several stages off the agenda.
    """
    letters = rng.choices("abcdefgh"[: n - 1], k=n) if n > 2 and rng.random() < 0.4 else list("abcdefgh"[:n])
    last, parts, stages = letters.pop() if n > 2 and rng.random() < 0.3 else None, [], []
    while letters:
        part = [letters.pop(0) for _ in range(min(len(letters), rng.choice([1, 1, 1, 2, 3])))]
        while letters and "-".join(part) in parts:
            part.append(letters.pop(0))
        if "-".join(part) in parts:
            return draw_task(rng, n)
        parts.append("-".join(part))
        stages += [(letter, list(range(len(stages), len(stages) + i))) for i, letter in enumerate(part)]
    whole = parts[0] if len(parts) == 1 else "{" + ",".join(parts) + "}"
    return (whole, stages) if last is None else (f"{whole}-{last}", [*stages, (last, list(range(n - 1)))])


def oracle_and_batch(rng, n, objects, *, steps, walls=0.0, **changes):
    """Make the oracle and a batch for a task of n stages on a map with so many objects of each type."""
    setup = "".join(f"{objects}{letter}" for letter in "abcdefgh"[:n])
    grid = GridMap.generate(setup, size=9, seed=rng.randrange(10**6), walls=walls)
    text, stages = draw_task(rng, n)
    while task(text).agenda is None:  # the smallest machine of such a task waits for nothing less than all of it
        text, stages = draw_task(rng, n)
    machine, seed, profile = task(text), rng.randrange(2**64), rng.choice(list(PROFILES))
    limit, slip = changes.pop("limit", 150), changes.pop("slip", 0.0)
    problem = compile(grid, machine, profile=profile, slip=slip)
    spec = oracle_spec(machine)
    assert spec["agenda"] == stages or len(spec["agenda"]) < n  # where a later visit serves for an earlier one
    how = {"tick": 37, "window": 5, "optimum": [0.5], **changes}
    oracle = naive.LEARNERS["coupled"](
        grid.render(), [spec], seed, profile=PROFILES[profile], limit=limit, slip=slip, **how
    )  # fmt: skip
    return oracle, Batch(problem, "coupled", steps=steps, seeds=[seed], episodes=True, episode_limit=limit, **how)


@pytest.mark.parametrize("n", range(1, 9))
def test_the_kernel_equals_the_oracle(n):
    rng, steps = random.Random(n), 400
    for changes in CHANGES if n < 6 else CHANGES[n % 2 :: 2]:
        objects = rng.choice([1, 1, 2]) if n < 8 else 1
        oracle, batch = oracle_and_batch(rng, n, objects, steps=steps, walls=rng.choice([0.0, 0.3]), **changes)
        cells = batch.problem.terrain.cells
        for step in range(steps):
            batch.advance(1)
            oracle.step()
            me = batch.state.agents[0]
            assert (tuple(cells[int(me["s"])].tolist()), int(me["u"])) == (oracle.s, oracle.pursued), step
            last = int(batch.state.own.last[0])
            assert (last if last < len(oracle.columns) else "start") == oracle.last
        oracle.states = range(len(oracle.columns))
        assert_equal(oracle, batch)
        assert batch.result(0).more.get("plans", 0) == oracle.plans


def test_runs_side_by_side_equal_runs_alone():
    problem = compile(GridMap.generate("1a2b1c1d", size=11, seed=3), task("{a-b,c,d}"))
    how = {"steps": 30_000, "tick": 500, "optimum": [0.05], "episodes": True}
    for seed, run in enumerate(train_many(problem, "coupled", seeds=range(4), **how)):
        alone = train(problem, "coupled", seed=seed, **how)
        assert run.q.tobytes() == alone.q.tobytes() and run.score.tobytes() == alone.score.tobytes()
        assert {name: run.more[name].tolist() for name in run.more} == {k: v.tolist() for k, v in alone.more.items()}


@pytest.mark.parametrize("slip", [0.0, 0.2])
@pytest.mark.parametrize("profile", PROFILES)
def test_with_one_stage_it_is_crm_to_the_bit(profile, slip):
    problem = compile(GridMap.generate("1a", size=11, seed=4), task("a"), profile=profile, slip=slip)
    how = {"steps": 20_000, "seeds": range(4), "tick": 500, "episode_limit": 60, "episodes": True, "optimum": [0.1]}
    for mine, other in zip(train_many(problem, "coupled", **how), train_many(problem, "crm", **how), strict=True):
        for name in ("q", "score", "reward", "completions", "episodes"):
            assert getattr(mine, name).tobytes() == getattr(other, name).tobytes(), name
        assert np.array_equal(mine.episode_log, other.episode_log) and mine.greedy_paths == other.greedy_paths


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("a|b", {}, r"coupled: a\|b boolean is not known to be an agenda; take a task of visits"),
        ("a-b !c", {}, "is not known to be an agenda"),
        ("{a,b}", {"per": "objct"}, r"per='objct': must be one of object, type \(did you mean object\?\)"),
        ("{a,b}", {"plan": "best"}, "plan='best': must be one of auto, exact, nearest"),
        ("{a,b}", {"shaping": True}, "coupled: learns from what completes a stage"),
        ("13*a", {"plan": "exact"}, "plan='exact': weighs all orders of up to 12 stages, and this task has 13"),
    ],
)
def test_what_it_cannot_learn_is_refused_in_one_line(text, settings, message):
    problem = compile(GridMap.generate("1a1b1c", size=9, seed=1), task(text))
    with pytest.raises(ConfigError, match=message):
        train(problem, "coupled", steps=10, **settings)


def test_rewards_on_the_way_and_several_tasks_are_refused():
    grid = GridMap.generate("1a1b", size=9, seed=1)
    with pytest.raises(ConfigError, match="must pay 1 at its end, and nothing before"):
        train(compile(grid, task("{a,b}", kind="numeric")), "coupled", steps=10)
    with pytest.raises(ConfigError, match="coupled: learns one task, and this problem has 2"):
        train(compile(grid, [task("a"), task("b")]), "coupled", steps=10)


def tours(rng, count, objects, per, draw):
    """Yield the length of the tour by true columns and that of a shortest one, on random maps with walls."""
    for _ in range(count):
        n = rng.randint(1, 8)
        setup = "".join(f"{objects}{letter}" for letter in "abcdefgh"[:n])
        grid = GridMap.generate(
            setup, size=rng.choice([9, 11, 15]), seed=rng.randrange(10**6), walls=rng.choice([0.0, 0.2, 0.35])
        )
        terrain, agenda = survey(grid), task_terms.agenda(draw(rng, n))
        path = np.empty(len(terrain.cells) * n + 2, dtype=np.int64)
        columns = true_columns(terrain, agenda, 0.9, per)
        length, outcome = follow_columns(terrain, agenda, columns, per, int(terrain.starts[0]), path)
        assert outcome == SUCCESS
        yield length, find_tour(terrain, agenda).length


def any_order(rng, n):
    return "{" + ",".join("abcdefgh"[:n]) + "}"


@pytest.mark.parametrize("draw", [any_order, lambda rng, n: draw_task(rng, n)[0]], ids=["any order", "stages"])
@pytest.mark.parametrize("objects", [1, 2])
def test_with_true_columns_the_tour_is_a_shortest_one(objects, draw):
    for length, shortest in tours(random.Random(7), 500, objects, "object", draw):
        assert length == shortest


def test_a_column_per_type_misses_shortest_tours_where_types_have_several_objects():
    found = list(tours(random.Random(7), 200, 2, "type", any_order))
    assert all(length >= shortest for length, shortest in found)
    assert 0.4 < np.mean([length > shortest for length, shortest in found]) < 0.8


def test_columns_serve_other_tasks_without_learning():
    problem = compile(GridMap.generate("1a2b1c1d", size=9, seed=2), task("{a,b,c,d}"))
    run = train(problem, "coupled", steps=400_000, seed=1, epsilon=0.5)
    for text in ("a-c-{b,d}", "{a,b}", "d-c-b-a-b", "2*c"):
        answer = compose(run, text)
        assert answer.shortest == compile(problem.grid, task(text)).shortest[0]
        assert answer.regret == 0 and len(answer.path) == answer.length + 1
    assert compose(train(problem, "coupled", steps=10, epsilon=0.0), "a-b").regret is None


@pytest.mark.parametrize(
    ("algo", "text", "message"),
    [
        ("crm", "a", "must be a run of coupled"),
        ("coupled", "a|b", r"task 'a\|b': must be visits in turn and in any order, such as a-\{b,c\}"),
        ("coupled", "a-x", "task 'a-x': x was not learned; the run knows a, b"),
    ],
)
def test_what_cannot_be_composed_is_refused_in_one_line(algo, text, message):
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), task("{a,b}"))
    with pytest.raises(ConfigError, match=message):
        compose(train(problem, algo, steps=10), text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": None}, r"^run: q: must be an array of numbers, not None$"),
        ({"q": "all"}, "run: q: must be an array of numbers"), ({"q": np.zeros((3, 2, 4))}, r"run: q: has the shape"),
        ({"q": np.full((49, 3, 4), np.nan)}, "run: q: must be finite numbers"),
        ({"q": np.zeros((49, 2, 4))}, r"run: q: has the shape \[49, 2, 4\], and its problem needs \[49, 3, 4\]"),
        ({"more": {}}, "run: lacks 'cell'"), ({"more": {"cell": np.array([0, 1])}}, "run: cell: must be numbers of"),
        ({"more": {"cell": np.array([0, 1, 49])}}, "run: cell: must be numbers of cells, or -1, for 3 columns"),
        ({"config": LearnerConfig(per="type")}, "run: q: has the shape"),
        ({"problem": None}, "must be a run of coupled"),
    ],
)  # fmt: skip
def test_columns_that_are_no_columns_are_refused_in_one_line(changes, message):
    problem = compile(GridMap.generate("2a1b", size=9, seed=1), task("{a,b}"))
    run = train(problem, "coupled", steps=100, optimum=[1.0])
    with pytest.raises(ConfigError, match=message) as caught:
        compose(replace(run, **changes), "a-b")
    assert "\n" not in str(caught.value)


def test_an_agenda_without_machine_states_is_learned_and_nothing_else_is_done_with_it():
    letters = "abcdefghijklmnop"
    grid = GridMap.generate("".join(f"1{x}" for x in letters), size=15, seed=3)
    problem = compile(grid, task("{" + ",".join(letters) + "}"))
    run = train(problem, "coupled", steps=200_000, seed=0)
    assert problem.tour.is_shortest and problem.shortest[0] <= run.greedy_length <= 1.5 * problem.shortest[0]
    assert run.q.shape[1] == 16 and run.unit == (1 / problem.shortest[0],)
    with pytest.raises(ConfigError, match="algo on agendas of more than 1024 machine states='crm': must be"):
        train(problem, "crm", steps=10)
    for ask in (lambda: solve(problem), lambda: guarantee(problem)):
        with pytest.raises(
            ConfigError,
            match="an agenda of 16 stages with more than 1024 machine states, which are not listed",
        ):
            ask()
    with pytest.raises(ConfigError, match="plan='exact': weighs all orders of up to 12 stages"):
        train(problem, "coupled", steps=10, plan="exact")
