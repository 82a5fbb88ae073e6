"""Learning a machine while acting: equal to the twin to the bit, right where it says so, and wrong where walks lack."""

import os
from dataclasses import replace

import numpy as np
import pytest

import fastrm
from fastrm.errors import ConfigError, MachineError
from fastrm.inference import read_learned
from fastrm.learners import Batch, train_many
from fastrm.problems import by_labels

import naive_learn
from small_problems import of_each_kind

FULL = bool(os.environ.get("FASTRM_FULL"))
MAP = "XXXXXXXXX\nXa  A  cX\nX  X    X\nX  X b  X\nXb     aX\nXXXXXXXXX"
COSTLY = """
start u0
success done
failure lost
u0 -> u1 when a reward 0.5
u0 -> lost when c reward -1
u0 -> u0 otherwise reward -0.1
u1 -> done when b reward 1
u1 -> u0 when a
u1 -> u1 otherwise reward -0.1
"""
TRIALS = {
    "{a,b}-c": ("{a,b}-c", {}),
    "no walks": ("a-b-a-c", {"walk": 0.0}),
    "walks alone": ("a-b-c", {"walk": 1.0}),
    "short episodes": ("a-b", {"episode_limit": 23, "epsilon": 0.4, "alpha": 0.3, "gamma": 0.99, "q_init": 0.5}),
    "all moves count": (COSTLY, {"compress": False, "episode_limit": 40}),
    "several starts": ("b-c", {"starts": [(1, 1), (1, 4), (4, 7)]}),
}


def make(task, starts=None):
    machine = fastrm.RewardMachine.parse(task) if "\n" in task else fastrm.task(task)
    return fastrm.compile(fastrm.GridMap.parse(MAP), machine, start=starts)


def twin_of(problem, seed, **settings):
    """Return the oracle of a problem, whose labels and true machine are read off it move by move."""
    world = by_labels(problem)
    tables, truth = world.tables, world.machines[0]
    moves = [
        [(int(tables.next_s[s, a]), int(tables.label[s, a])) for a in range(problem.n_actions)]
        for s in range(len(tables.next_s))
    ]
    outputs = [tuple(output) for output in world.outputs]
    machine = [
        {
            x: (int(truth.delta[x, u]) if not outputs[truth.output[x, u]][1] else 0, outputs[truth.output[x, u]])
            for x in range(world.on_map)
        }
        for u in range(truth.delta.shape[1])
    ]
    if "episode_limit" in settings:
        settings["limit"] = settings.pop("episode_limit")
    return naive_learn.Student(moves, problem.tables.starts.tolist(), machine, seed, **settings)


@pytest.mark.parametrize("name", TRIALS)
@pytest.mark.parametrize("seed", range(10 if FULL else 2))
def test_runs_equal_the_twin_to_the_bit(name, seed):
    task, settings = TRIALS[name]
    settings, steps = dict(settings), 20_000 if FULL else 4_000
    problem = make(task, settings.pop("starts", None))
    twin = twin_of(problem, seed, **settings).run(steps)
    batch = Batch(problem, "learn-merge", steps=steps, seeds=[seed], optimum=[1.0], tick=1000, **settings)
    batch.advance(1234)  # pieces of any size
    batch.advance(steps)
    student, world = batch.state.own[0], by_labels(problem)
    assert [tuple(row[:4]) for row in student.log] == twin.log
    assert len(student.log) > 1
    n_v = student.machine.delta.shape[1]
    for v, state in enumerate(twin.guess):
        for x in range(world.on_map):
            v_next, output = state.get(x, (v, (0.0, 0)))
            assert tuple(world.outputs[student.machine.output[x, v]]) == output
            assert output[1] or student.machine.delta[x, v] == v_next
    values = np.array([
        [[twin.q[s, v, a] for v in range(n_v)] for a in twin.actions] for s in twin.cells
    ])  # fmt: skip
    assert np.array_equal(student.q[:, : problem.n_actions, :n_v], values)
    assert {(s, a) for s, a in np.argwhere(student.notes.seen).tolist()} == twin.seen
    run = batch.result(0)
    policy = twin.plan(0.0)
    assert np.array_equal(run.q, [[[policy[s, v, a] for a in twin.actions] for v in range(n_v)] for s in twin.cells])
    assert int(run.episodes[-1]) == twin.episodes
    recent = twin.scores[-100:]
    assert run.score[-1] == (sum(recent) / len(recent) if recent else run.score[-1])


def everything_of(run):
    return [run.q, *run.more.values(), run.score, run.reward, run.episodes, run.completions]


def test_runs_side_by_side_are_those_made_alone():
    problem = make("{a,b}-c")
    many = {n: train_many(problem, "learn-merge", steps=20_000, seeds=range(n)) for n in (1, 3, 6)}
    for seed in range(6):
        alone = fastrm.train(problem, "learn-merge", steps=20_000, seed=seed)
        for runs in many.values():
            for one, other in zip(
                everything_of(alone), everything_of(runs[seed]) if seed < len(runs) else (), strict=False
            ):
                assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("task", ["a-b", "a-b-c", "{a,b}-c", "a-b-a-c"])
def test_with_walks_every_run_ends_with_the_right_machine(task):
    problem = make(task)
    for seed in range(10):
        found = fastrm.learn(problem, steps=50_000, seed=seed)
        assert found.equivalent_on_map and found.regret == 0 and found.witness is None
        assert found.run.solved
        assert [row.equivalent for row in found.log] == sorted(row.equivalent for row in found.log)
        again = fastrm.equivalent(problem, found.machine)
        assert (again.on_map, again.everywhere) == (found.equivalent_on_map, found.equivalent)


def test_without_walks_a_wrong_machine_can_last_while_nothing_more_can_be_earned():
    """The greedy policy completes every episode, and its machine is wrong: a walk proves it, and it costs steps."""
    problem = fastrm.compile(fastrm.GridMap.generate("1a1b1c", size=15, seed=3), fastrm.task("{a,b}-c"))
    found = fastrm.learn(problem, steps=50_000, seed=2, walk=0)
    assert not found.equivalent_on_map and found.regret > 0
    assert found.run.greedy_length == 36 and problem.shortest == (22,)
    assert fastrm.equivalent(problem, found.machine).witness == found.witness
    late = found.run.completions[-1] - found.run.completions[-2], found.run.episodes[-1] - found.run.episodes[-2]
    assert late[0] == late[1]
    assert fastrm.learn(problem, steps=50_000, seed=2).equivalent


def test_the_policy_acts_by_the_machine_that_was_learned():
    problem = make("{a,b}-c")
    run = fastrm.learn(problem, steps=50_000).run
    episode = problem.episode()
    for action in run.greedy_actions[0]:
        episode.step(action)
    assert episode.success and episode.steps == run.greedy_length == problem.shortest[0]
    assert run.evaluate().success == 1 and run.evaluate(200, epsilon=0.2).success == 1
    assert [moment.cell for moment in run.walk()] == list(run.greedy_path)
    assert run.act((problem.starts[0], "u0")) == run.greedy_actions[0][0]
    cell = run.greedy_path[-2]
    assert run.act((cell, problem.states[-1][1])) == run.greedy_actions[0][-1]


def test_a_saved_run_is_read_again_and_goes_on_with_what_it_knew(tmp_path):
    problem = make("{a,b}-c")
    source = fastrm.train(problem, "learn-merge", steps=8_000, seed=1)
    source.save(tmp_path / "agent.npz")
    found = fastrm.load_run(tmp_path / "agent.npz")
    assert all(np.array_equal(*pair) for pair in zip(everything_of(source), everything_of(found), strict=True))
    assert found.greedy_actions == source.greedy_actions
    later = read_learned(fastrm.train(problem, "learn-merge", steps=20_000, warm_start=found))
    before = read_learned(source).log
    assert later.equivalent and later.log[: len(before)] == before


def test_traces_of_another_problem_are_not_gone_on_with():
    source = fastrm.train(make("a-b-c"), "learn-merge", steps=8_000, seed=1)
    with pytest.raises(ConfigError, match=r"^warm_start: its traces are of another problem.*begin with a run on this"):
        fastrm.train(make("c-a-b"), "learn-merge", steps=8_000, warm_start=source)


ODD = {
    "none": lambda x: x.reshape(-1)[:0], "low": lambda x: x - 10**6, "high": lambda x: x + 10**16,
    "flat": lambda x: np.array(-1), "text": lambda x: x.astype(str),
}  # fmt: skip


@pytest.mark.parametrize("name", ["delta", "output", "child", "answer", "seen", "log", "proven"])
@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_machine_or_tree_is_not_begun_with(name, odd):
    problem = make("{a,b}-c")
    source = fastrm.train(problem, "learn-merge", steps=8_000, seed=1)
    given = replace(source, more={**source.more, name: ODD[odd](source.more[name])})
    with pytest.raises(ConfigError, match=r"warm_start: .*: must be") as refusal:
        fastrm.train(problem, "learn-merge", steps=10, warm_start=given)
    assert "\n" not in str(refusal.value)


def test_a_tree_with_a_loop_is_not_begun_with():
    problem = make("{a,b}-c")
    source = fastrm.train(problem, "learn-merge", steps=8_000, seed=1)
    child = np.where(source.more["child"] > 0, 0, source.more["child"])
    with pytest.raises(ConfigError, match="child: is no tree of traces"):
        fastrm.train(problem, "learn-merge", steps=10, warm_start=replace(source, more={**source.more, "child": child}))


def test_the_smallest_machine_is_learned_too():
    pytest.importorskip("pysat")
    found = fastrm.learn(make("{a,b}-c"), steps=20_000, engine="smallest")
    assert found.equivalent and len(found.machine.states) == 4 and found.run.more["proven"]


def test_a_run_that_learned_no_machine_is_refused():
    run = fastrm.train(make("a-b"), "crm", steps=1000)
    with pytest.raises(ConfigError, match="crm learned no machine"):
        read_learned(run)
    with pytest.raises(ConfigError, match="run=None: must be a Run"):
        read_learned(None)


KINDS = of_each_kind()


@pytest.mark.parametrize(
    ("problem", "settings", "message"),
    [
        (KINDS["water"][0], {}, "learn: not on"),
        (KINDS["agenda"][0], {}, "learn: not on"),
        (fastrm.compile(fastrm.GridMap.parse(MAP), fastrm.task("a", kind="numeric")), {}, r"reads d\(a\), and labels"),
        (fastrm.compile(fastrm.GridMap.parse(MAP), [fastrm.task("a"), fastrm.task("b")]), {}, "has 2 machines"),
        (fastrm.compile(fastrm.GridMap.parse(MAP), fastrm.task("a"), slip=0.1), {}, "are not certain"),
        (make(COSTLY), {}, "moves without a label pay or change the machine; give compress=False"),
        (make("a"), {"engine": "sat"}, "engine='sat': must be one of merge, smallest"),
        (make("a"), {"walk": 1.5}, "walk=1.5: must be a number from 0 to 1"),
        (make("a"), {"max_states": 0}, "max_states=0: must be a whole number"),
        (make("{a,b}-c"), {"max_states": 2}, "max_states=2: merging needs more"),
        (make("a"), {"shaping": True}, "learns from what the machine pays"),
        (make("a"), {"epsilom": 0.5}, r"epsilom: no such setting \(did you mean epsilon\?\)"),
        ("map", {}, "must be a Problem"),
    ],
    ids=["water", "agenda", "numeric", "several", "slip", "costly", "engine", "walk", "none", "small", "shaped",
         "unknown", "no problem"],
)  # fmt: skip
def test_what_cannot_be_learned_is_refused_in_one_line(problem, settings, message):
    with pytest.raises((ConfigError, MachineError), match=message) as refusal:
        fastrm.learn(problem, steps=20_000, **settings)
    assert "\n" not in str(refusal.value)
