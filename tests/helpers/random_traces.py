"""Random machines by label, as `naive_inference` has them, and traces of them."""

from fastrm.inference import Trace
from fastrm.machines.language import write

import naive_inference as naive


def random_machine(rng, letters="abc", most=5, ending=0.15):
    """Return states as `naive_inference` has them, of which every label has an entry in every state."""
    n = rng.randint(1, most)
    paid = [0.0, 0.0, 1.0, 0.5]
    return [
        {x: (rng.randrange(n), (rng.choice(paid), rng.choice([1, 2]) if rng.random() < ending else 0)) for x in letters}
        for _ in range(n)
    ]


def play(rng, machine, letters="abc", longest=12):
    """Return a random trace of a machine: labels, rewards and end, as fastrm takes it."""
    labels, rewards, end, v = [], [], 0, 0
    for _ in range(rng.randint(1, longest)):
        labels.append(rng.choice(letters))
        v, (reward, end) = naive.step(machine, v, labels[-1])
        rewards.append(reward)
        if end:
            break
    return Trace(labels, rewards, [None, "success", "failure"][end])


def pairs(trace):
    """Return a trace as `naive_inference` has it."""
    ends = [0] * (len(trace.labels) - 1) + [[None, "success", "failure"].index(trace.end)]
    return list(zip(trace.labels, zip(trace.rewards, ends, strict=True), strict=True))


def by_label(machine, letters="abc"):
    """Return a reward machine as `naive_inference` has it, by reading its guards."""
    number = {name: v for v, name in enumerate(machine.states)}
    ends = dict.fromkeys(machine.success, 1) | dict.fromkeys(machine.failure, 2)
    found = [{} for _ in machine.states]
    for edge in machine.edges:
        guard = write(edge.guard)
        read = {"otherwise": ["", *letters], "false": []}.get(guard, guard.split(" | "))
        for x in read:
            after = number.get(edge.target, 0), (edge.reward.value, ends.get(edge.target, 0))
            found[number[edge.source]].setdefault(x, after)
    return found
