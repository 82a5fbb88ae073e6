"""What one does after training: ask, evaluate, walk, save and load, whatever learned and on whatever world."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import fastrm
from fastrm import (
    ConfigError,
    GridMap,
    RewardMachine,
    StoreError,
    TableWorld,
    WaterWorld,
    compile,
    load_run,
    task,
    train,
)
from fastrm.env import RewardMachineEnv

from compare import ANY_MACHINE

GRID = GridMap.generate("2a1b1c", size=11, seed=1, walls=0.1)
MOVES = TableWorld([[1, 1, 0, 0], [2, 0, 1, 1], [2, 2, 2, 2]], {(0, 1): "pick", (1, 0): "end"})
PICK = (
    "start u\nsuccess done\nu -> v when pick reward 1\nu -> u otherwise\n"
    "v -> done when end reward 1\nv -> v otherwise\n"
)
PROBLEMS = {
    "plain": lambda: compile(GRID, task("a-b-c", kind="numeric-boolean")),
    "potential": lambda: compile(GRID, task("a-b", kind="potential"), gamma=0.8),
    "tasks": lambda: compile(
        GRID, [task("a-b"), task("{b,c}")], profile="icarte2022", metric="geodesic", start="anywhere"
    ),
    "slip": lambda: compile(GRID, task("a"), slip=0.1),
    "table": lambda: compile(MOVES, RewardMachine.parse(PICK)),
    "water": lambda: compile(WaterWorld.generate(seed=3, velocity=(30.0, 0.0)), task("a-b")),
    "agenda": lambda: compile(
        GridMap.generate("1a1b1c1d1e1f1g1h1i1j1k", size=13, seed=1), task("{a,b,c,d,e,f,g,h,i,j,k}")
    ),
}
TABULAR = ANY_MACHINE
CASES = [
    *(("plain", algo) for algo in TABULAR),
    ("potential", "crm"), ("tasks", "qrm"), ("tasks", "hrm"), ("slip", "crm"), ("table", "hrm"),
    ("water", "qrm"), ("water", "crm"), ("agenda", "coupled"),
]  # fmt: skip
FIELDS = (
    "algo",
    "seed",
    "shaping",
    "config",
    "steps",
    "states",
    "greedy_paths",
    "greedy_lengths",
    "unit",
    "known_actions",
)


def bytes_of(run):
    arrays = {name: getattr(run, name) for name in ("q", "step", "score", "reward", "completions", "episodes")}
    arrays |= {name: np.asarray(array) for name, array in run.more.items()}
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize(("problem", "algo"), CASES)
def test_a_saved_run_is_read_as_it_was(problem, algo, tmp_path):
    run = train(PROBLEMS[problem](), algo, steps=15_000, seed=3, episodes=algo == "qrm", epsilon=0.2)
    run.save(tmp_path / "agent.npz")
    again = load_run(tmp_path / "agent.npz")
    assert bytes_of(again) == bytes_of(run)
    assert [getattr(again, name) for name in FIELDS] == [getattr(run, name) for name in FIELDS]
    assert np.array_equal(again.shortest, run.shortest, equal_nan=True)
    assert (again.episode_log is None) == (run.episode_log is None)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "agent.npz").read_bytes()


def test_schedules_and_shaping_are_saved(tmp_path):
    run = train(PROBLEMS["plain"](), "crm", steps=15_000, shaping=True, alpha=fastrm.linear(0.5, 0.1, 10_000))
    run.save(tmp_path / "agent.npz")
    again = load_run(tmp_path / "agent.npz")
    assert (again.config, again.shaping) == (run.config, True)


def test_another_process_acts_and_evaluates_alike(tmp_path):
    run = train(PROBLEMS["plain"](), "hrm", steps=15_000)
    run.save(tmp_path / "agent.npz")
    code = (
        "import fastrm, sys; run = fastrm.load_run(sys.argv[1]); print(run.act(((1, 1), 'u1')), run.evaluate(), "
        "run.evaluate(50, epsilon=0.2, seed=4))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "agent.npz")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = run.act(((1, 1), "u1")), run.evaluate(), run.evaluate(50, epsilon=0.2, seed=4)
    assert printed == " ".join(map(str, expected)) + "\n"


def test_a_loaded_run_starts_another_one(tmp_path):
    run = train(PROBLEMS["plain"](), "crm", steps=15_000)
    run.save(tmp_path / "agent.npz")
    warm = train(PROBLEMS["plain"](), "crm", steps=2000, warm_start=load_run(tmp_path / "agent.npz"))
    assert bytes_of(warm) == bytes_of(train(PROBLEMS["plain"](), "crm", steps=2000, warm_start=run))


@pytest.mark.parametrize("algo", TABULAR)
def test_an_agent_acts_on_what_an_environment_observes_and_walks_its_greedy_path(algo):
    problem = PROBLEMS["plain"]()
    run = train(problem, algo, steps=40_000)
    assert run.greedy_length is not None
    environment, policy, actions = RewardMachineEnv(problem), run.policy(), []
    observation, _ = environment.reset(seed=0)
    while len(actions) < run.greedy_length:
        assert run.values(observation)[policy(observation)] == run.values(observation).max()
        actions.append(policy(observation))
        observation, _, terminated, _, info = environment.step(actions[-1])
    if algo != "hrm":  # whose options are kept until their state is left
        assert terminated and info["success"] and tuple(actions) == run.greedy_actions[0]
    assert tuple(moment.cell for moment in run.walk()) == run.greedy_path and run.walk()[-1].success


@pytest.mark.parametrize(("problem", "algo"), [case for case in CASES if case[0] not in ("slip", "agenda")])
def test_without_chance_an_evaluation_is_the_greedy_policy_from_every_start(problem, algo):
    problem = PROBLEMS[problem]()
    run = train(problem, algo, steps=15_000)
    for number in range(len(problem.machines)):
        found = run.evaluate(task=number)
        assert found.is_exact and len(found.lengths) == len(problem.start_cells or [0])
        length = found.lengths.mean() if found.completed.all() else None
        assert length == run.greedy_lengths[number]


def test_chance_is_drawn_from_the_seed_and_random_moves_cost_steps():
    run = train(PROBLEMS["plain"](), "crm", steps=40_000)
    few, again, other = (run.evaluate(300, epsilon=0.3, seed=seed) for seed in (1, 1, 2))
    assert (
        not few.is_exact and np.array_equal(few.lengths, again.lengths) and np.array_equal(few.returns, again.returns)
    )
    assert not np.array_equal(few.lengths, other.lengths)
    assert few.lengths.mean() > run.evaluate().lengths.mean()
    assert few.length[0] <= few.length[1] <= few.length[2] and 0 < few.success <= 1


def test_moves_slip_in_an_evaluation_as_often_as_the_problem_says():
    """A corridor of one row: sideways is a wall, so that n moves take n / (1 - slip) steps on average."""
    corridor = GridMap.parse("XXXXXXXXXXXXX\nXA         aX\nXXXXXXXXXXXXX")
    run = train(compile(corridor, task("a"), slip=0.2), "crm", steps=40_000)
    lengths = run.evaluate(4000, seed=5).lengths
    assert abs(lengths.mean() - 10 / 0.8) < 4 * lengths.std() / np.sqrt(4000)


def test_an_evaluation_begins_where_it_is_told():
    problem = PROBLEMS["plain"]()
    run = train(compile(GRID, task("a-b-c"), start="anywhere"), "crm", steps=400_000)
    for s in range(0, len(problem.terrain.cells), 7):
        cell = problem.terrain.cells_of([s])[0]
        assert run.evaluate(start=cell).lengths[0] == run.evaluate(start=s).lengths[0] == len(run.walk(cell)) - 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.act(3), r"state=3: must be a cell and a machine state, such as \(\(5, 5\), 'u0'\), or an"),
        (lambda run: run.act("u0"), "state='u0': must be a cell"), (lambda run: run.act((1, 2, 3)), "state="),
        (lambda run: run.values(((0, 0), "u0")), r"cell=\(0, 0\): no cell"),
        (lambda run: run.values((0, "u9")), "state='u9': must be"),
        (lambda run: run.evaluate(0), "episodes=0: must be"),
        (lambda run: run.evaluate(epsilon=2), "epsilon=2: must be"),
        (lambda run: run.evaluate(task=1), "task=1: must be"), (lambda run: run.evaluate(seed=-1), "seed=-1: must be"),
        (lambda run: run.evaluate(start=(0, 0)), "no cell"), (lambda run: run.walk(start="A"), "cell='A'"),
        (lambda run: run.save("/nowhere/agent.npz"), "agent.npz: cannot be written: No such file"),
        (lambda run: run.save(3), "3: not a file name"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(call, message):
    run = train(PROBLEMS["plain"](), "crm", steps=100, optimum=[1.0])
    with pytest.raises((ConfigError, StoreError), match=message) as caught:
        call(run)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("algo", ["qrm", "crm"])
@pytest.mark.parametrize("features", ["memory", "sight"])
def test_on_water_world_an_agent_acts_on_states_and_on_episodes(algo, features):
    problem = PROBLEMS["water"]()
    run = train(problem, algo, steps=30_000, features=features)
    environment, policy, episode = RewardMachineEnv(problem, observation="states"), run.policy(), problem.episode()
    observation, _ = environment.reset(seed=0)
    for action in run.greedy_actions[0][:80]:
        assert policy(observation) == policy(episode) == policy([*observation[:3], episode.state]) == action
        assert run.values(observation).tobytes() == run.values(episode).tobytes()
        episode.step(action)
        observation, *_ = environment.step(action)
    few, again = (run.evaluate(3, epsilon=0.5, seed=1) for _ in range(2))
    assert np.array_equal(few.lengths, again.lengths) and len(set(few.returns.tolist() + few.lengths.tolist())) > 1


def test_where_episodes_on_water_begin_anywhere_evaluations_draw_their_starts():
    run = train(compile(WaterWorld.generate(seed=3), task("a"), start="anywhere"), "crm", steps=2000)
    found = run.evaluate(4, seed=1)
    assert not found.is_exact and len(found.lengths) == 4
    assert found.lengths.tolist() == run.evaluate(4, seed=1).lengths.tolist()


@pytest.mark.parametrize("name", ["agenda", "small", "objects"])
def test_a_tour_is_walked_as_it_was_planned_and_can_be_asked_anywhere(name):
    small = compile(GridMap.generate("2a1b2c", size=11, seed=4), task("{a,b-c}"))
    problem = PROBLEMS["agenda"]() if name == "agenda" else small
    run = train(problem, "coupled", steps=300_000, per="object" if name == "objects" else "type")
    walk = run.walk()
    assert run.greedy_length is not None and tuple(moment.cell for moment in walk) == run.greedy_path
    assert walk[-1].success and walk[-1].paid == 1.0 and run.evaluate().lengths[0] == run.greedy_length
    first = (run.greedy_path[0], list(problem.stages) if name == "agenda" else "u0")
    assert run.act(first) == run.act(problem.episode()) == run.greedy_actions[0][0]
    assert run.evaluate(20, epsilon=0.2, seed=1).success > 0.5
    assert len(run.walk(start=run.greedy_path[3])) > 1


def test_the_stages_left_in_every_state_are_those_that_the_machine_still_waits_for():
    machine = task("{a,b-c}")
    assert machine.stages_left == {"u0": 0b111, "u1": 0b110, "u2": 0b101, "u3": 0b100, "u4": 0b001}
    assert task("a|b").stages_left == {}


@pytest.mark.parametrize(("problem", "call", "message"), [
    ("water", lambda run: run.evaluate(start=0), "start=0: is a cell of a map; .* has none"),
    ("water", lambda run: run.act((0, 0)), r"state=\(0, 0\): must be states of both axes, time and machine"),
    ("water", lambda run: run.act((0, 0, 0, 99)), "state=99: must be a whole number from 0 to 1"),
    ("water", lambda run: run.act((0.5, 0, 0, 0)), "x=0.5: must be"),
    ("agenda", lambda run: run.act(((1, 1), "u0")), "state='u0': must be a list of targets that are left"),
    ("agenda", lambda run: run.act(((1, 1), ["z"])), "must be a list of targets that are left"),
    ("agenda", lambda run: run.act(((1, 1), [])), "must be a list of targets that are left"),
    ("agenda", lambda run: run.act(3), "state=3: must be a cell and the targets that are left, such as"),
])  # fmt: skip
def test_states_of_other_kinds_are_refused_in_one_line(problem, call, message):
    run = train(PROBLEMS[problem](), "coupled" if problem == "agenda" else "crm", steps=2000)
    with pytest.raises(ConfigError, match=message) as caught:
        call(run)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "agent.npz"
    train(PROBLEMS["plain"](), "hrm", steps=2000).save(path)
    return path


def edit(path, out, change):
    """Write a copy of a saved run whose arrays, and head as a table, were changed."""
    with zipfile.ZipFile(path) as members:
        arrays = {name[:-4]: np.load(io.BytesIO(members.read(name))) for name in members.namelist()}
    head = json.loads(arrays["head"].tobytes())
    change(arrays, head)
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
    np.savez(out, **arrays)


def put(name, value):
    return lambda arrays, head: arrays.__setitem__(name, value)


def say(*keys):
    def change(arrays, head):
        for key in keys[:-2]:
            head = head[key]
        head[keys[-2]] = keys[-1]

    return change


CHANGES = {
    "no values": lambda arrays, head: arrays.pop("q"),
    "no head entry": lambda arrays, head: head.pop("algo"),
    "other shape": put("q", np.zeros((3, 3, 3))),
    "flat": put("q", np.zeros(3)),
    "texts": put("q", np.array(["a"])),
    "objects": put("q", np.array([{}], dtype=object)),
    "not finite": lambda arrays, head: arrays["q"].__setitem__((0, 0, 0), np.nan),
    "controller": put("more.controller", np.zeros((1, 1))),
    "curve": put("score", np.zeros(2)),
    "no curve": put("step", np.zeros((2, 2))),
    "learner": say("algo", "coupled"),
    "unknown learner": say("algo", "os.system"),
    "format": say("format", "fastrm run 99"),
    "seed": say("seed", -1),
    "steps": say("steps", 0),
    "shaping": say("shaping", "yes"),
    "setting": say("config", "colour", 1),
    "range": say("config", "epsilon", 7),
    "window": say("config", "window", 10**15),
    "world": say("problem", "world", "XXX"),
    "no world": say("problem", "world", 3),
    "machine": say("problem", "machines", [["start u0", "x"]]),
    "machines": say("problem", "machines", 3),
    "profile": say("problem", "profile", {"clean": 1}),
    "slip": say("problem", "settings", "slip", 3),
    "setting of the problem": say("problem", "settings", "walls", 3),
    "start": say("problem", "start", [[0, 0]]),
    "unit": say("unit", ["x"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_edited_file_is_refused_in_one_line(saved, tmp_path, change):
    edit(saved, tmp_path / "bad.npz", change)
    with pytest.raises(
        StoreError, match=r"bad\.npz: (not a run that fastrm saved, or damaged: |learner .os.system. is not known here)"
    ) as caught:
        load_run(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_tiles_that_a_world_does_not_have_are_refused(tmp_path):
    train(PROBLEMS["water"](), "crm", steps=2000).save(tmp_path / "agent.npz")
    for tiles in (lambda old: old + 10**9, lambda old: -old - 1, lambda old: old[:-1], lambda old: old * 1.0):
        edit(
            tmp_path / "agent.npz",
            tmp_path / "bad.npz",
            lambda a, _, t=tiles: a.update({"more.tiles": t(a["more.tiles"])}),
        )
        with pytest.raises(StoreError, match="tiles: must be"):
            load_run(tmp_path / "bad.npz")


def test_any_damage_is_refused_in_one_line(saved, tmp_path):
    whole, random, bad = saved.read_bytes(), np.random.default_rng(1), tmp_path / "bad.npz"
    pieces = [whole[:n] for n in (0, 1, 100, len(whole) // 2, len(whole) - 1)]
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] ^= 1 << int(random.integers(8))
        pieces.append(bytes(damaged))
    refused = 0
    for piece in pieces:
        bad.write_bytes(piece)
        try:
            load_run(bad)
        except StoreError as problem:
            refused += 1
            assert "\n" not in str(problem)
    assert refused >= 30  # some bits, such as the time of a member, mean nothing


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "pickle.npz").write_bytes(b"\x80\x04cos\nsystem\n.")
    for path, message in [
        (tmp_path / "none.npz", "cannot be read: No such file"), (tmp_path, "a folder, pipe or device"),
        (tmp_path / "pickle.npz", "not a run that fastrm saved"), ("", "not a file name"), (None, "not a file name"),
    ]:  # fmt: skip
        with pytest.raises(StoreError, match=message):
            load_run(path)


def test_a_run_that_cannot_be_written_leaves_nothing_behind(saved, tmp_path):
    run = load_run(saved)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder: cannot be written"):
        run.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
