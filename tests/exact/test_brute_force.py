"""Every exact answer on random tables against the truth in rationals: 200 problems, 5 000 with FASTRM_FULL=1.

Worlds have 2 to 8 cells, 2 to 16 actions, labels of cells or of moves, and one to three starts; machines have one to
three states, constant rewards of both signs, and one or two terminals of each kind.
"""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest

import fastrm
from fastrm.exact import critical_reward

from brute_force import SUCCESS, Truth, cross, read_number
from sizes import either

NAMES = "abc"
PALETTES = {
    "boolean": (["0"], ["1"], ["0"]),
    "steps": (["0", "0.1"], ["1"], ["0"]),
    "tempting": (["0", "2"], ["7"], ["0", "2"]),
    "costs": (["-1", "-0.3", "-1/3"], ["0", "1", "-2"], ["0", "-10"]),
    "bribes": (["0", "-1", "-1", "0.5"], ["1", "2"], ["3", "1"]),
    "ties": (["0", "1"], ["1", "10"], ["10"]),
    "both signs": (
        ["0", "0.1", "-0.1", "1", "-2", "3", "0.7", "1/3"],
        ["1", "5", "-3", "0", "40", "1000"],
        ["-5", "9"],
    ),
}
"""What a machine may pay on the way, for success and for failure."""
LONG = 1500
"""Steps after which few episodes go on."""


def random_world(rng):
    """Return where every action leads, the labels of cells or of moves, and the starts."""
    n_s, n_a = rng.randint(2, 8), rng.randint(2, 16)
    if rng.random() < 0.5:  # anywhere; else to a neighbour or nowhere, which makes longer paths
        next_s = [[rng.randrange(n_s) for _ in range(n_a)] for _ in range(n_s)]
    else:
        next_s = [[(s + rng.choice([-1, 0, 0, 1])) % n_s for _ in range(n_a)] for s in range(n_s)]
    starts = sorted(rng.sample(range(n_s), rng.randint(1, min(3, n_s))))
    within, size = set(), 0
    while len(within) != size or not size:
        size, within = len(within), within | set(starts) | {there for s in within for there in next_s[s]}
    by_move = rng.random() < 0.5
    moves = [(s, a) for s in sorted(within) for a in range(n_a)]
    places = moves if by_move else sorted({next_s[s][a] for s, a in moves})
    labels = {}
    for name in NAMES:
        for place in rng.sample(places, min(len(places), rng.randint(1, 4 if by_move else 2))):
            labels.setdefault(place, set()).add(name)
    return next_s, labels, starts


def random_machine(rng):
    """Return a machine as `brute_force.cross` takes it."""
    states = ["u0", "u1", "u2"][: rng.randint(1, 3)]
    success, failure = ["done", "won"][: rng.randint(1, 2)], ["lost", "void"][: rng.choice([0, 0, 1, 2])]
    paid = rng.choice([*PALETTES.values(), PALETTES["both signs"]])
    edges = {}
    for u, onward in itertools.pairwise([*states, success[0]]):
        anywhere = [*states, *success, *failure]
        names = rng.sample(NAMES, rng.randint(1, 3))
        otherwise = u if rng.random() < 0.7 else rng.choice(anywhere)
        targets = [onward, *(rng.choice(anywhere) for _ in names[1:]), otherwise]
        edges[u] = [
            (name, target, rng.choice(paid[(target in success) + 2 * (target in failure)]))
            for name, target in zip([*names, None], targets, strict=True)
        ]
    return {
        "states": states,
        "success": success,
        "failure": failure,
        "edges": edges,
        "score": rng.choice(["task", "task", "task", "own"]),
    }


def text_of(machine):
    """Write a machine for the package: a name counts where no name before it holds."""
    used = {target for edges in machine["edges"].values() for _, target, _ in edges}
    lines = [f"states {' '.join(machine['states'])}", "start u0"]
    for kind in ("success", "failure"):
        lines += [f"{kind} {name}" for name in machine[kind] if name in used]
    lines.append(f"score {machine['score']}")
    for u, edges in machine["edges"].items():
        for k, (name, target, paid) in enumerate(edges):
            guard = " & ".join([f"{name}", *(f"!{other}" for other, _, _ in edges[:k])])
            lines.append(f"{u} -> {target} {'otherwise' if name is None else 'when ' + guard} reward {paid}")
    return "\n".join(lines)


def random_problems(wanted):
    """Yield compiled problems, their discounts, and the truth about each of their one or two machines."""
    rng, found = random.Random(28), 0
    while found < wanted:
        next_s, labels, starts = random_world(rng)
        machines = [random_machine(rng) for _ in range(rng.choice([1, 1, 1, 2]))]
        gamma = rng.choice([0.3, 0.5, 0.7, 0.9, 0.9, 0.95, 0.99])
        try:
            world = fastrm.TableWorld(next_s, labels, starts)
            problem = fastrm.compile(world, [fastrm.RewardMachine.parse(text_of(machine)) for machine in machines])
        except fastrm.FastrmError:  # a task that cannot be completed, or a state that cannot be reached
            continue
        found += 1
        truths = [Truth(cross(next_s, labels, m), [(s, m["states"][0]) for s in starts], gamma) for m in machines]
        yield problem, gamma, machines, truths


class Comparison:
    """Counts the numbers that were compared, by what they are."""

    def __init__(self):
        self.counts = Counter()

    def equal(self, what, ours, truth):
        self.counts[what] += 1
        assert ours == truth, (what, ours, truth)

    def near(self, what, ours, truth, bound):
        self.counts[what] += 1
        assert abs(Fraction(ours) - Fraction(truth)) <= bound, (what, ours, truth)


def compare_optimum(seen, best, truth, columns):
    """Values are within their proven errors, and optimal actions exactly known where play can lead."""
    for (s, u), value in truth.value.items():
        column = columns[u]
        seen.near("value", best.value[s, column], value, Fraction(best.error[s, column]))
        mask = sum(1 << a for a in truth.optimal[s, u])
        if (s, u) in truth.reached:
            seen.equal("optimal actions", int(best.optimal[s, column]), mask)
            seen.equal("policy", int(best.policy[s, column]), truth.policy[s, u])
        else:
            seen.equal("optimal actions", int(best.optimal[s, column]) & mask, mask)
    seen.equal("shortest", best.shortest, float(truth.shortest))
    length = truth.length
    seen.equal("length", best.length, None if length is None else float(length))


def compare_verdict(seen, answer, truth):
    """Of several starts the worst counts; where none is worse than another, any of them."""
    start = answer.witness.path[0], truth.starts[0][1]
    how_bad, verdict = truth.verdicts[truth.starts.index(start)]
    seen.equal("verdict", (answer.verdict, max(truth.verdicts)[0]), (verdict, how_bad))
    seen.equal("is shortest", (answer.is_shortest, answer.shortest), (how_bad == 0, truth.steps_to_go[start]))
    fewest = truth.optimal_length(start)
    seen.equal("optimal length", (answer.length, answer.some_are_shortest), (fewest, fewest == answer.shortest))
    for name, ours, value in (
        ("optimal return", answer.witness.optimal_return, truth.value[start]),
        ("shortest return", answer.witness.shortest_return, truth.shortest_return(start)),
    ):
        seen.near(name, ours, value, 1e-11 * (1 + abs(value)))


def compare_thresholds(seen, answer, truth, machine):
    critical = truth.critical_reward()
    solution = answer.solution
    seen.equal("R*", critical_reward(solution.problem, solution.gamma, solution.machine), critical)
    seen.equal("R*", answer.critical_reward, float(critical))
    paid = {True: set(), False: set()}
    for edges in machine["edges"].values():
        for _, target, reward in edges:
            paid[target in machine["success"]].add(read_number(reward))
    on_the_way, at_the_end = paid[False] - {0}, paid[True]
    if len(on_the_way) != 1 or len(at_the_end) != 1 or min(on_the_way) < 0:
        seen.equal("r*", answer.critical_step_reward, None)
        return
    (step,), (terminal,) = on_the_way, at_the_end
    if critical <= 0:
        seen.equal("r*", answer.critical_step_reward, math.inf if terminal > critical else None)
        return
    seen.near("r*", answer.critical_step_reward, max(terminal, 0) * step / critical, Fraction(1e-13) * step)
    if terminal > 0:  # and so it is: a little less is safe, a little more is not
        for factor, is_safe in ((Fraction(999_999, 10**6), True), (1, False), (Fraction(1_000_001, 10**6), False)):
            scale = factor * terminal / critical
            other = truth.changed(lambda move, k=scale: move.paid if move.outcome == SUCCESS else k * move.paid)
            seen.equal("r*", max(other.verdicts)[0] == 0, is_safe)


def compare_play(seen, best, truth, epsilon, horizon, own):
    """What exploring policies earn, with a horizon and without, and the ceiling of the score."""
    horizons = horizon, 150, LONG
    *some, endless = truth.play(truth.policy, epsilon, horizons, own)
    for horizon, play in zip(horizons, some, strict=False):
        seen.near("reward per step", best.arps(epsilon, horizon), play.arps, 1e-9 * (1 + abs(play.arps)))
        seen.near("success", best.success_probability(epsilon, horizon), play.success, 1e-12)
        if not own:
            seen.near("ceiling", best.ceiling(epsilon, horizon), truth.ceiling(epsilon, horizon), 1e-12)
    if endless.left < 1e-15:  # else the sums go on for long
        seen.near("reward per step", best.arps(epsilon), endless.arps, 1e-9 * (1 + abs(endless.arps)))
        seen.near("success", best.success_probability(epsilon), endless.success, 1e-12)
        steps = Fraction(endless.steps) / Fraction(endless.success) if endless.success else 0
        ours = best.expected_length(epsilon)
        seen.near("expected length", 0 if ours == math.inf else ours, steps, 1e-9 * steps)


def compare_units(seen, problem, truths, gamma, epsilon):
    """The unit of the score is about a policy for the task alone, or for the rewards by which it is scored."""
    owns = [machine.score == "own" for machine in problem.machines]
    plays = [
        truth.play(truth.policy if own else truth.task_policy, epsilon, [LONG], own)[0]
        for truth, own in zip(truths, owns, strict=True)
    ]
    if max(play.left for play in plays) < 1e-15:
        for ours, play in zip(fastrm.optimal_arps(problem, gamma, epsilon), plays, strict=True):
            seen.near("optimal reward per step", ours, play.arps, 1e-9 * (1 + abs(play.arps)))


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_every_exact_answer_on_random_tables_is_the_truth_in_rationals():
    seen, verdicts, rng, wanted = Comparison(), Counter(), random.Random(1), either(5000, 200)
    for problem, gamma, machines, truths in random_problems(wanted):
        epsilons = 0.0, rng.choice([0.1, 0.3, 1.0])
        for k, (machine, truth) in enumerate(zip(machines, truths, strict=True)):
            columns = {name: column for column, (owner, name) in enumerate(problem.states) if owner == k}
            answer = fastrm.guarantee(problem, gamma, k)
            compare_optimum(seen, answer.solution, truth, columns)
            compare_verdict(seen, answer, truth)
            compare_thresholds(seen, answer, truth, machine)
            for epsilon in epsilons:
                compare_play(
                    seen, answer.solution, truth, epsilon, rng.choice([1, 2, 5, 17]), machine["score"] == "own"
                )
            verdicts[answer.verdict.split(" (")[0]] += 1
        for epsilon in epsilons:
            compare_units(seen, problem, truths, gamma, epsilon)
    print(f"\n{sum(seen.counts.values())} values: {dict(seen.counts)}; {dict(verdicts)}")
    assert len(verdicts) == 5 and min(verdicts.values()) > wanted / 50, verdicts
    assert len(seen.counts) == 17 and min(seen.counts.values()) > wanted, seen.counts
