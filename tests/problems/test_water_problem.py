"""Problems on Water world: fewest steps by search, against brute force and the published tables; machines refused."""

import pytest

import fastrm
from fastrm import FastrmError, RewardMachine, WaterWorld

import naive_water
from machine_specs import machine_text, sequence_spec
from sizes import either
from water_search import fewest_steps
from water_specs import ORDERLY, READING, close_by, spec_of

TABLES = {  # fewest steps of t10: falls pay, falls fail, by velocity at the start; at rest in profile clean
    "M0": ([], [], 42),
    "M1": ([35, 36, 35, 35, 36], [39, 40, 39, 39, 40], 38),
    "M2": ([32, 33, 32, 32, 31], [35, 35, 35, 35, 33], 34),
    "M3": ([26, 26, 26, 26, 27], [39, 39, 39, 39, 40], 38),
    "M4": ([16, 16, 15, 17, 17], [18, 18, 17, 19, 19], 17),
}
VELOCITIES = [(0, 0), (0, 30), (30, 0), (0, -30), (-30, 0)]


@pytest.mark.parametrize("name", either(TABLES, ("M0", "M2", "M4")))
def test_the_fewest_steps_of_the_reference_worlds_are_those_known(reference, name):
    machine = RewardMachine.load(reference / "machines" / "water" / "t10.txt")
    worlds = reference / "water" / "worlds.json"
    paid, strict, clean = TABLES[name]
    problem = fastrm.compile(WaterWorld.load(worlds, name), machine)
    assert problem.shortest == (clean,)
    for velocity, pays, fails in zip(VELOCITIES, paid, strict, strict=False):
        problem = fastrm.compile(WaterWorld.load(worlds, name, velocity), machine, profile="icarte2022")
        assert (problem.soonest_paid, problem.shortest) == ((pays,), (fails,))


@pytest.mark.parametrize(
    "spec, seed, profile",
    [(ORDERLY, 3, "clean"), (READING, 5, "clean"), (sequence_spec("f", "boolean"), 0, "icarte2022")],
)
def test_the_fewest_steps_are_those_of_brute_force(spec, seed, profile, monkeypatch):
    world = close_by(seed)
    fewest = fewest_steps(naive_water.Pool(spec_of(world), profile), spec, 7)
    for room in (10**9, 10_000, 0):  # layers kept for the way back: all, some, none
        monkeypatch.setattr("fastrm.problems.water.ROOM", room)
        problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile)
        assert fewest is not None and problem.shortest == (fewest,)
        walk = problem.walk(problem.reached[0].actions)
        assert (len(walk.rewards), walk.outcome) == (fewest, 1)


LEFT_BEHIND = ("d", "f")
NEARING = ("-", ("d_before", "a"), ("d", "a"))
FAR = ("-", ("d", "b"), ("num", 10))
ENDINGS = [
    (guard, reward, profile)
    for guard, reward in [(("prop", "f"), LEFT_BEHIND), (("prop", "f"), NEARING), (("not", ("prop", "f")), FAR)]
    for profile in ("clean", "icarte2022")
]


@pytest.mark.parametrize(
    "guard, reward, profile",
    either(ENDINGS, [ENDINGS[0], ENDINGS[3], ENDINGS[4]]),  # every guard, and both profiles
)
def test_the_soonest_paid_end_reads_distances_of_the_move_that_ends(guard, reward, profile, monkeypatch):
    monkeypatch.setattr("fastrm.problems.water.WATER_LIMIT", 7)
    edges = [("u", guard, "done", reward), ("u", "otherwise", "u", ("num", 1))]
    spec = {"states": ["u"], "start": "u", "success": ["done"], "failure": [], "score": "task", "edges": edges}
    world = close_by(0)
    problem = fastrm.compile(world, RewardMachine.parse(machine_text(spec)), profile=profile)
    pool = naive_water.Pool(spec_of(world), profile)
    soonest = fewest_steps(pool, spec, 7, lambda _, reward: reward > 0)
    assert problem.soonest_paid == (soonest or 0,)


def test_a_search_that_does_not_fit_in_the_memory_is_refused_in_one_line(monkeypatch):
    problem = fastrm.compile(WaterWorld.generate(1), fastrm.task("a"))
    monkeypatch.setattr("fastrm.problems.water.usable_memory", lambda: 10**8)
    with pytest.raises(FastrmError, match=r"^fewest steps: \d+ x \d+ states of the agent take 0.4 GB to search, .*$"):
        _ = problem.shortest
    monkeypatch.undo()
    monkeypatch.setattr("fastrm.exact.water.usable_memory", lambda: 10**4)
    with pytest.raises(FastrmError, match=r"^values: layers of time take .* GB, and there are 0.0 GB of memory; .*$"):
        fastrm.solve(problem)


def machine(*edges):
    return RewardMachine.parse("states u\nstart u\nsuccess done\n" + "\n".join(f"u -> {edge}" for edge in edges))


REFUSED = [
    (lambda w: fastrm.compile(w, fastrm.task("a-g")), "uses g; this world has balls of the colours a, b, c, d, e, f"),
    (lambda w: fastrm.compile(w, machine("done when d(g) < 3 reward 1", "u otherwise reward 0")), "uses d(g)"),
    (lambda w: fastrm.compile(w, fastrm.task("a", kind="num-bool", closer="any")), "uses closer_any(a); Water world"),
    (lambda w: fastrm.compile(w, fastrm.task("a", kind="dtg")), "uses to_go()"),
    (lambda w: fastrm.compile(w, fastrm.task("a", kind="pot")), "a potential is for maps"),
    (lambda w: fastrm.compile(w, fastrm.task("a", kind="local")), "a potential is for maps"),
    (lambda w: fastrm.compile(w, fastrm.task("a", kind="offset")), "uses d_only(a); Water world has d(x)"),
    (lambda w: fastrm.compile(w, machine("done when d(a) < d(b) reward 1", "u otherwise reward 0")),
     "compares d(a) < d(b); on Water world a guard compares one distance with a number"),
    (lambda w: fastrm.compile(w, machine("done when a reward 1 / d(b)", "u otherwise reward 0")), "divides by"),
    (lambda w: fastrm.compile(w, machine("done when a reward 1", "u when b reward 0")),
     "are both open for a move with the label a, b"),
    (lambda w: fastrm.compile(w, machine("done when a reward 1", "u when d(a) < 5 reward .1", "u otherwise reward 0")),
     "are both open for a move with the label a and d(a) about 0"),
    (lambda w: fastrm.compile(w, fastrm.task("a"), profile="clean + prune"), "must be clean or icarte2022, as a whole"),
    (lambda w: fastrm.compile(w, fastrm.task("a"), slip=0.1), "metric, slip: are for maps"),
    (lambda w: fastrm.compile(w, fastrm.task("a"), start=(3, 4)), "start, gamma: are for maps"),
    (lambda w: fastrm.compile(w, fastrm.task("a"), gamma=0.5), "start, gamma: are for maps"),
    (lambda w: fastrm.compile(w, fastrm.task("{a,b,c,d,e,f,g,h,i,j,k}")),
     "more than 1024 machine states is learned on maps, and <water seed 1> is a water world; take fewer stages"),
    (lambda w: fastrm.compile(w, []), "no machine to compile"),
    (lambda w: fastrm.compile(w, "a-b"), "must be a RewardMachine"),
    (lambda w: fastrm.compile(w, fastrm.task("a")).walk([5]), "must be whole numbers from 0 to 4"),
    (lambda w: fastrm.compile(w, fastrm.task("a")).walk([(0, 1)]), "such as those of run.greedy_actions[0]"),
    (lambda w: fastrm.compile(w, fastrm.task("a")).walk("up"), "must be whole numbers from 0 to 4"),
    (lambda w: fastrm.train(fastrm.compile(w, fastrm.task("a")), feature="sight"), "did you mean features?"),
]  # fmt: skip


@pytest.mark.parametrize("guard", ["d(a) > 0", "d(a) >= 5", "d(a) < 0", "d(a) == 3"])
def test_guards_that_no_ball_in_touch_opens_exclude_its_label(guard):
    edges = "done when a reward 1", f"u when {guard} reward .1", "u otherwise reward 0"
    assert fastrm.compile(WaterWorld.generate(1), machine(*edges)).reads_features


def test_a_task_that_nothing_completes_is_named(monkeypatch):
    monkeypatch.setattr("fastrm.problems.water.WATER_LIMIT", 6)
    with pytest.raises(FastrmError, match="no path on <water seed 1> completes the task within 6 steps"):
        _ = fastrm.compile(WaterWorld.generate(1), fastrm.task("a-b")).shortest


@pytest.mark.parametrize("ask, message", REFUSED, ids=[message[:30] for _, message in REFUSED])
def test_what_cannot_be_asked_is_refused_in_one_line(ask, message):
    with pytest.raises(FastrmError) as caught:
        ask(WaterWorld.generate(1))
    assert message in str(caught.value) and "\n" not in str(caught.value)
