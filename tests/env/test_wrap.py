"""Any environment with a machine: the ground moves of a map wrapped are the environment that fastrm makes of it."""

import os
import warnings
from functools import cache

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

import fastrm
from fastrm import ConfigError, FastrmError, FastrmWarning, GridMap, MachineError, RewardMachine
from fastrm.env import RewardMachineEnv, machine_monitor, shape_rewards, wrap, wrap_vector
from fastrm.problems.tabular import steps_to_go

from ground import Ground

STEPS = 100_000 if os.environ.get("FASTRM_FULL") else 500
SEVERAL, SINGLE = "2a2b2c", "1a1b1c"
GUARDED = """start u
success done
failure lost
u -> v when d(a) <= 2 & !c reward 2 - d(a) / 4
u -> u otherwise reward min(d(a), d(b)) - d_before(b)
v -> done when b | b2 reward 10
v -> lost when c & !closer(a)
v -> v otherwise reward -0.5
"""
COUNTING = """start u
success done
failure late
clock t 0..9
count n 0..2 saturate
u -> u when a do n += 1
u -> v when b & n >= 2 reward t do t = 0
u -> u otherwise reward -0.1
v -> done when c & t <= 8 reward 1
v -> late when t > 8
v -> v otherwise reward -0.1
"""
KINDS = ("boolean", "numeric-boolean", "numeric", "potential", "local-potential", "distance-to-go")
CASES = [
    *((SEVERAL, task, kind, {}) for task in ("a-b-c", "{a,b}-c", "a|b !c") for kind in KINDS),
    (SEVERAL, "a-b-c", "numeric-boolean", {"closer": "any"}), (SEVERAL, "a-b", "numeric", {"distance": "before"}),
    (SINGLE, "a-b-c", "offset", {}), (SINGLE, "a-b-c", "offset", {"offset": "legs"}), (SEVERAL, GUARDED, "", {}),
    (SEVERAL, COUNTING, "", {}), (SEVERAL, "a-b within 10", "numeric-boolean", {}),
]  # fmt: skip


def machine_of(task, kind, settings):
    return fastrm.task(task, kind=kind, **settings) if kind else RewardMachine.parse(task)


@cache
def text_of(setup):
    return GridMap.generate(setup, size=7, seed=3).render()


def wrapped(setup, machine, limit=60, **settings):
    """Return the ground moves of a map with a machine, and the problem that fastrm compiles of both."""
    problem, ground = fastrm.compile(GridMap.parse(text_of(setup)), machine), Ground(text_of(setup), limit)
    number = {tuple(cell): s for s, cell in enumerate(problem.terrain.cells.tolist())}
    (steps,) = steps_to_go(problem.steps_to_go, problem.machines)

    def labels(here, action, there):
        return [name for name in ground.labels(here, action, there) or () if name in env.monitors.propositions]

    def to_go(here, action, there):
        return steps[number[int(there[0]), int(there[1])]]

    env = wrap(ground, machine, labels, {**ground.features(), "to_go": to_go}, **settings)
    return env, problem


@pytest.mark.parametrize(("setup", "task", "kind", "settings"), CASES)
def test_ground_moves_wrapped_are_the_environment_of_the_map(setup, task, kind, settings):
    env, problem = wrapped(setup, machine_of(task, kind, settings))
    ours, random = RewardMachineEnv(problem, episode_limit=60, counterfactuals=True), np.random.default_rng(0)
    ours.reset(seed=0), env.reset(seed=0)
    for _ in range(STEPS):
        action = int(random.integers(4))
        (seen, *there), (other, *here) = ours.step(action), env.step(action)
        assert here[:3] == there[:3]
        told, said = there[3], here[3]
        assert said["rm_state"] == told["rm_state"] and said["success"] == told["success"]
        assert env.unwrapped.cell == told["cell"] and (len(said["labels"]) > 0) <= (len(told["labels"]) > 0)
        for name, column in told["counterfactuals"].items():
            assert np.array_equal(said["counterfactuals"][name], column), name
        assert (other[2:] == (np.arange(len(problem.states)) == seen[1])).all()
        if there[1] or there[2]:
            ours.reset(), env.reset()


def test_gymnasium_s_own_checks_pass_without_a_warning():
    for observe in ("onehot", "dict"):
        env, _ = wrapped(SEVERAL, fastrm.task("a-b", kind="numeric"), observe=observe)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")
            check_env(env, skip_render_check=True)


def test_an_environment_that_ends_by_itself_ends_the_episode_in_every_machine_state():
    env = gymnasium.make("CartPole-v1")
    env = wrap(env, fastrm.task("a-b"), lambda *move: ())
    env.reset(seed=0)
    over = False
    while not over:
        _, reward, over, _, info = env.step(1)
        assert reward == 0.0 and info["env_reward"] == 1.0 and not info["success"]
        assert (info["counterfactuals"]["terminated"] == over).all()


def test_an_observation_in_another_machine_state_has_its_one_hot():
    env, _ = wrapped(SEVERAL, fastrm.task("a-b"))
    seen, _ = env.reset()
    assert env.in_state(seen[:2], 1).tolist() == [*seen[:2], 0, 1] and env.in_state(seen[:2], 2)[2:].sum() == 0
    with pytest.raises(ConfigError, match="state=3: must be a whole number from 0 to 2"):
        env.in_state(seen, 3)


@pytest.mark.parametrize("kind", ["boolean", "numeric-boolean", "numeric", "local-potential"])
def test_a_vector_environment_wrapped_gives_the_transitions_of_single_ones(kind):
    machine, n = fastrm.task("a-b", kind=kind), 5
    ground = [Ground(text_of(SEVERAL), 30) for _ in range(n)]
    features = ground[0].features()

    def labels(here, action, there):
        held = [ground[0].labels(None, None, cell) or () for cell in there]
        return {name: np.array([name in one for one in held]) for name in "ab"}

    def d(here, action, there, x):
        return [features["d"](None, None, cell, x) for cell in there]

    def span(here, action, there):
        return np.full(n, features["span"](None, None, None))

    envs = SyncVectorEnv([lambda k=k: ground[k] for k in range(n)], autoreset_mode="Disabled")
    envs, random = wrap_vector(envs, machine, labels, {"d": d, "span": span}), np.random.default_rng(0)
    ones = [wrapped(SEVERAL, machine, limit=30)[0] for _ in range(n)]
    first, _ = envs.reset(seed=0)
    assert np.array_equal(first, [one.reset(seed=k)[0] for k, one in enumerate(ones)])
    ended = 0
    for _ in range(200):
        actions = random.integers(4, size=n)
        seen, *others, info = envs.step(actions)
        for k, one in enumerate(ones):
            expected, *rest, told = one.step(int(actions[k]))
            assert [column[k] for column in others] == rest and info["success"][k] == told["success"]
            for name, column in told["counterfactuals"].items():
                assert np.array_equal(info["counterfactuals"][name][k], column)
            if rest[1] or rest[2]:
                ended += 1
                assert info["_final_obs"][k] and np.array_equal(info["final_obs"][k], expected)
                expected = one.reset()[0]
            assert np.array_equal(seen[k], expected)
    assert ended > 20


def test_a_monitor_pays_what_the_environment_pays():
    env, _ = wrapped(SEVERAL, RewardMachine.parse(GUARDED))
    monitor, distance = machine_monitor(RewardMachine.parse(GUARDED)), env.unwrapped.features()["d"]
    assert monitor.features == ("d(a)", "d(b)") and monitor.reads_start and monitor.states == ("u", "v")
    random, ends = np.random.default_rng(0), set()
    for _ in range(30):
        seen, _ = env.reset()
        over = False
        assert monitor.start({f"d({x})": distance(None, None, seen, x) for x in "ab"}) == "u"
        while not over:
            seen, reward, terminated, over, info = env.step(int(random.integers(4)))
            values = {f"d({x})": distance(None, None, seen, x) for x in "ab"}
            assert monitor.step(info["labels"], values)[:2] == (reward, info["rm_state"])
            assert np.array_equal(monitor.counterfactuals["reward"], info["counterfactuals"]["reward"])
            over = over or terminated
        ends.add(info["rm_state"])
    assert ends == {"(terminal)", "u", "v"} - ({"u", "v"} - ends)
    with pytest.raises(ConfigError, match="no episode is on; call start"):
        machine_monitor(fastrm.task("a")).step("a")


@pytest.mark.parametrize("kind", ["boolean", "numeric"])
def test_shaped_rewards_are_those_that_learners_shape(kind):
    machine = fastrm.task("a-b", kind=kind)
    env, problem = wrapped(SEVERAL, machine)
    phi = machine.potentials(0.9)
    ours = shape_rewards(RewardMachineEnv(problem, episode_limit=60, counterfactuals=True), 0.9)
    shaped, random = shape_rewards(env, 0.9), np.random.default_rng(1)
    ours.reset(seed=0), shaped.reset()
    before = "u0"
    for _ in range(300):
        action = int(random.integers(4))
        here, there = ours.step(action), shaped.step(action)
        assert here[1] == there[1]
        after = here[4]["rm_state"]
        plain = problem.tables.reward[env.monitors.n_u and ours.unwrapped._agents.event[0]]
        value = phi.get(after, 0.0)
        assert here[1] == plain[int(before[1:])] + 0.9 * value - phi[before]
        for name in ("reward", "next_state"):
            assert np.array_equal(here[4]["counterfactuals"][name], there[4]["counterfactuals"][name])
        before = after
        if here[2] or here[3]:
            ours.reset(), shaped.reset()
            before = "u0"


def test_a_label_that_the_machine_does_not_read_warns_once():
    env = wrap(Ground(text_of(SEVERAL)), fastrm.task("a-b"), lambda *move: "glod")
    env.reset()
    with pytest.warns(FastrmWarning, match=r"labels: 'glod': the machine a-b boolean does not read it; it reads a, b"):
        env.step(0)
    env.step(0)


class Pictures(gymnasium.Env):
    observation_space, action_space = spaces.Box(0, 255, (4, 4, 3), np.uint8), spaces.Discrete(2)


def nothing(*move):
    return None


NUMERIC = fastrm.task("a-b", kind="numeric")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: wrap(g, NUMERIC, nothing), r"features: the machine reads d\(a\); give {'d': f}, with f\(obs.*'a'\)"),
        (lambda g: wrap(g, fastrm.task("a-b", kind="offset"), nothing, {"d": len}), r"reads span.*{'span': f}"),
        (lambda g: wrap(g, fastrm.task("a-b", kind="potential"), nothing), "reads to_go, .* only a map tells"),
        (lambda g: wrap(g, fastrm.task("a-b", kind="distance-to-go"), nothing), "reads to_go, .* only a map tells"),
        (lambda g: wrap(Pictures(), fastrm.task("a"), nothing), r"observations Box\(0, 255.*: a one-hot goes behind"),
        (lambda g: wrap(object(), fastrm.task("a"), nothing), "must be a gymnasium.Env, with reset"),
        (lambda g: wrap(g, "a-b", nothing), "machine='a-b': must be a RewardMachine; write fastrm.task"),
        (lambda g: wrap(g, fastrm.task("a"), "a"), "labels='a': must be a function"),
        (lambda g: wrap(g, NUMERIC, nothing, {"d": 3}), "features={'d': 3}: must be a table of functions"),
        (lambda g: wrap(g, fastrm.task("a"), nothing, observe="both"), "observe='both': must be one of onehot, dict"),
        (lambda g: wrap(g, fastrm.task("a"), nothing).step(0), "no episode is on; call reset"),
        (lambda g: step(wrap(g, fastrm.task("a"), lambda *move: 3)), "labels gave 3; it must give a name"),
        (lambda g: step(wrap(g, NUMERIC, nothing, {"d": lambda *m: np.nan})), r"features: d\(a\) is nan after a move"),
        (lambda g: step(wrap(g, NUMERIC, nothing, {"d": lambda *m: 10**400})), r"features: d\(a\) is 10+.* after"),
        (lambda g: step(wrap(g, NUMERIC, nothing, {"d": lambda *m: "x"})), r"features: d\(a\) is 'x' after a move"),
        (lambda g: wrap_vector(g, NUMERIC, nothing), "must be a gymnasium.vector.VectorEnv; use wrap"),
        (
            lambda g: wrap_vector(SyncVectorEnv([lambda: g]), fastrm.task("a"), nothing),
            "begins episodes again by itself, unaware of the machine; make it with autoreset_mode='Disabled'",
        ),
        (lambda g: shape_rewards(g), "has no machine; give it one with fastrm.env.wrap first"),
        (lambda g: machine_monitor(NUMERIC).start({"d(c)": 3}), r"features: 'd\(c\)': the machine does not read it"),
        (lambda g: start(machine_monitor(NUMERIC)).step("a", {"d(a)": 3}), r"features: d\(b\) is None after a move"),
        (lambda g: machine_monitor(NUMERIC).counterfactuals, "no move was made yet"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(call, message):
    with pytest.raises(FastrmError, match=message) as error:
        call(Ground(text_of(SEVERAL)))
    assert "\n" not in str(error.value)


def step(env):
    env.reset()
    return env.step(0)


def start(monitor):
    monitor.start()
    return monitor


def test_edges_that_are_open_together_and_rewards_that_are_no_numbers_are_named():
    both = RewardMachine.parse("start u\nsuccess e\nu -> e when a\nu -> u when true")
    with pytest.raises(MachineError, match=r"both open for a move with a = True; make the guards exclude each other"):
        step(wrap(Ground(text_of(SEVERAL)), both, lambda *move: "a"))
    none = RewardMachine.parse("start u\nsuccess e\nu -> e when a\nu -> u when b")
    with pytest.raises(MachineError, match=r"state u has no open edge for a move with a = False, b = False"):
        step(wrap(Ground(text_of(SEVERAL)), none, nothing))
    infinite = RewardMachine.parse("start u\nsuccess e\nu -> e when a reward 1 / (d(a) - d(a))\nu -> u otherwise")
    with pytest.raises(MachineError, match=r"<text>:3: edge u -> e pays no finite reward for a move with d\(a\) = 1.0"):
        step(wrap(Ground(text_of(SEVERAL)), infinite, lambda *move: "a", {"d": lambda *move: 1}))
