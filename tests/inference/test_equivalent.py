"""The verdict on a machine: exact on the map and everywhere, with a witness that no walk undercuts."""

import os
import random

import pytest

import fastrm
from fastrm.errors import ConfigError, MachineError
from fastrm.problems import by_labels

import naive_inference as naive
from random_traces import by_label, play, random_machine
from small_problems import of_each_kind

FULL = bool(os.environ.get("FASTRM_FULL"))
pytestmark = pytest.mark.filterwarnings("ignore:.*never holds on the map:fastrm.FastrmWarning")
OPEN = "XXXXXXX\nXa   bX\nX     X\nX  A  X\nX     X\nXc   aX\nXXXXXXX"
WALLED = "XXXXXXXX\nXa  X cX\nX   XXXX\nXA  b  X\nXXXXXXXX"


def written(machine, letters="abc"):
    """Return a machine of `naive_inference` as a reward machine, by writing it."""
    lines, ends = ["start u0", "success done", "failure failed"], ["", "done", "failed"]
    for v, state in enumerate(machine):
        for x in letters:
            if x in state:
                v_next, (reward, end) = state[x]
                lines.append(f"u{v} -> {ends[end] or f'u{v_next}'} when {x} reward {reward:g}")
        lines.append(f"u{v} -> u{v} otherwise")
    return lines


def random_pair(seed, source):
    """Return a problem and a machine that may be wrong, both also as `naive_inference` has them."""
    rng = random.Random(seed)
    while True:
        truth = random_machine(rng, most=3)
        other = [dict(state) for state in truth]
        if rng.random() < 0.7:
            v, x = rng.randrange(len(other)), rng.choice("abc")
            other[v][x] = random_machine(rng, most=len(truth))[0][x]
            other[v][x] = (other[v][x][0] % len(truth), other[v][x][1])
        try:
            machines = [fastrm.RewardMachine.parse("\n".join(written(machine))) for machine in (truth, other)]
            return fastrm.compile(fastrm.GridMap.parse(source), machines[0]), machines[1], truth, other
        except MachineError:
            continue


def moves_of(problem):
    """Return for every cell the cell and the label that each action leads to."""
    terrain = problem.terrain
    return [
        [(int(terrain.next_s[s, a]), "".join(terrain.labels(s, a))) for a in range(problem.n_actions)]
        for s in range(len(terrain.cells))
    ]


@pytest.mark.parametrize("seed", range(200 if FULL else 40))
def test_the_verdict_is_equality_of_automata_where_every_label_can_be_reached(seed):
    problem, machine, truth, other = random_pair(seed, OPEN)
    found = fastrm.equivalent(problem, machine)
    assert found.everywhere == naive.equal(truth, other, "abc")
    # a machine can reach a difference only along labels that do not end the episode: the map is open
    assert found.on_map == found.everywhere
    assert (found.witness is None) == found.on_map


@pytest.mark.parametrize("seed", range(200 if FULL else 40))
@pytest.mark.parametrize("source", [OPEN, WALLED])
def test_no_walk_shows_a_difference_sooner_than_the_witness(seed, source):
    problem, machine, truth, other = random_pair(seed, source)
    found = fastrm.equivalent(problem, machine)
    most = 8 if FULL else 6
    fewest = naive.shortest_difference(moves_of(problem), [problem.start], truth, other, most)
    length = len(found.witness.actions) if found.witness and found.witness.actions else None
    assert fewest == (length if length is not None and length <= most else None)


@pytest.mark.parametrize("seed", range(30))
def test_a_witness_is_a_walk_that_pays_what_it_says(seed):
    problem, machine, *_ = random_pair(seed, OPEN)
    witness = fastrm.equivalent(problem, machine).witness
    if witness is None:
        return
    for source, rewards, end in (
        (problem, witness.rewards, witness.end),
        (fastrm.compile(problem.grid, machine), witness.other_rewards, witness.other_end),
    ):
        episode = source.episode(start=witness.start)
        for action, label, reward in zip(witness.actions, witness.labels, rewards, strict=True):
            episode.step(source.actions.index(action))
            assert (episode.label, episode.reward) == (label, reward)
        assert episode.terminated == (end is not None) and episode.success == (end == "success")
    assert (witness.rewards[-1], witness.end) != (witness.other_rewards[-1], witness.other_end)
    assert witness.rewards[:-1] == witness.other_rewards[:-1]


def test_a_label_that_nobody_can_reach_leaves_a_machine_equivalent_on_the_map_alone():
    problem = fastrm.compile(fastrm.GridMap.parse(WALLED), fastrm.task("a-b"))
    stricter = fastrm.RewardMachine.from_ltlf("F(a & F b) & G !c")
    found = fastrm.equivalent(problem, stricter)
    assert (found.on_map, found.everywhere) == (True, False)
    assert found.witness.labels == ("c",) and found.witness.actions is None
    assert found.witness.end is None and found.witness.other_end == "failure"
    reached = fastrm.compile(fastrm.GridMap.parse(OPEN), fastrm.task("a-b"))
    assert not fastrm.equivalent(reached, stricter).on_map


def test_machines_with_other_states_and_their_start_elsewhere_are_equivalent():
    problem = fastrm.compile(fastrm.GridMap.parse(OPEN), fastrm.task("a-b"))
    text = """
states late early other
start early
success done
early -> late when a
early -> other when c
early -> early otherwise
other -> late when a
other -> early when b
other -> other otherwise
late -> done when b reward 1
late -> late otherwise
"""
    found = fastrm.equivalent(problem, fastrm.RewardMachine.parse(text))
    assert (found.on_map, found.everywhere, found.witness, found.regret) == (True, True, None, 0.0)


def test_regret_is_the_discounted_reward_lost():
    """The other machine says that b alone pays, so its policy goes to b at once and then waits for nothing."""
    problem = fastrm.compile(fastrm.GridMap.parse(OPEN), fastrm.task("c"))
    found = fastrm.equivalent(problem, fastrm.task("b"))
    best = fastrm.solve(problem)
    assert found.regret == pytest.approx(best.start_value) == pytest.approx(0.9 ** (best.length - 1))
    detour = fastrm.equivalent(problem, fastrm.task("b-c"))
    longer = fastrm.compile(problem.grid, fastrm.task("b-c")).shortest[0]
    assert detour.regret == pytest.approx(0.9 ** (best.length - 1) - 0.9 ** (longer - 1))


def test_every_label_and_the_truth_by_it_are_those_of_the_compiled_problem():
    for text in (OPEN, WALLED):
        problem = fastrm.compile(fastrm.GridMap.parse(text), fastrm.task("{a,b}-b"))
        world = by_labels(problem)
        truth, tables = world.machines[0], problem.tables
        for s, a in ((s, a) for s in range(len(tables.next_s)) for a in range(4)):
            label = int(world.tables.label[s, a])
            assert world.labels[label] == tuple(sorted(problem.terrain.labels(s, a)))
            for u in range(tables.n_u):
                taken = problem.step(s, u, a)
                output = world.outputs[int(truth.output[label, u])]
                assert (output.reward, output.end) == (taken.reward, taken.outcome)
                assert taken.outcome or truth.delta[label, u] == taken.u


def test_the_machine_inferred_from_enough_traces_is_equivalent():
    problem, _, truth, _ = random_pair(7, OPEN)
    rng = random.Random(7)
    machine = fastrm.infer([play(rng, truth) for _ in range(400)])
    assert fastrm.equivalent(problem, machine).everywhere == naive.equal(truth, by_label(machine), "abc") is True


def test_worlds_without_a_layout_and_several_starts_are_searched_too():
    world = fastrm.TableWorld([[1, 0], [2, 0], [3, 0], [3, 3]], {2: "a", 3: "b"})
    problem = fastrm.compile(world, fastrm.task("b"), start=[0])
    found = fastrm.equivalent(problem, fastrm.task("a"))
    assert found.witness.labels == ("", "a") and not found.on_map
    several = fastrm.compile(world, fastrm.task("b"), start=[0, 1])
    assert fastrm.equivalent(several, fastrm.task("a")).witness.labels == ("a",)


KINDS = of_each_kind()


def on_open(task, kind):
    return fastrm.compile(fastrm.GridMap.parse(OPEN), fastrm.task(task, kind=kind))


@pytest.mark.parametrize(
    ("problem", "machine", "message"),
    [
        (KINDS["water"][0], "a", "equivalent: not on"),
        (KINDS["agenda"][0], "a", "equivalent: not on"),
        (on_open("a", "numeric"), "a", r"edge u0 -> u0 \(otherwise\) reads d\(a\)"),
        (on_open("a", "numeric-boolean"), "a", r"reads closer\(a\)"),
        (on_open("a", "potential"), "a", "has a potential"),
        (fastrm.compile(fastrm.GridMap.parse(OPEN), [fastrm.task("a"), fastrm.task("b")]), "a", "has 2 machines"),
        (fastrm.compile(fastrm.GridMap.parse(OPEN), fastrm.task("a"), slip=0.1), "a", "are not certain"),
        (on_open("a", "boolean"), "{a,b,c,d,e,f,g,h,i,j,k}", "too many to list"),
    ],
    ids=["water", "agenda", "numeric", "numeric-boolean", "potential", "several", "slip", "large"],
)  # fmt: skip
def test_what_labels_do_not_tell_is_refused_in_one_line(problem, machine, message):
    with pytest.raises((ConfigError, MachineError), match=message) as refusal:
        fastrm.equivalent(problem, fastrm.task(machine))
    assert "\n" not in str(refusal.value)
    with pytest.raises(ConfigError):
        fastrm.equivalent("no problem", fastrm.task("a"))
