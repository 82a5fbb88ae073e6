"""A machine by numbers as a `RewardMachine` that people read, draw and compile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastrm.kernels.contracts import FAILURE, SUCCESS, Mealy
from fastrm.machines import RewardMachine
from fastrm.machines.language import Chain, Edge, Expression, Guard, Number, Otherwise, Proposition, Truth, Unary
from fastrm.problems import Label, Output

DONE, FAILED = "done", "failed"
SOURCE = "<learned>"


def write_learned(machine: Mealy, labels: Sequence[Label], outputs: Sequence[Output], name: str = "") -> RewardMachine:
    """Return a machine with an edge for every pair of states and reward, and `otherwise` where nothing happens.

    A reward machine has an end, and its states lead there. Where no trace showed a way, an edge that is never open
    does; so the machine can be written, drawn and compared, and only compiling finds its task impossible.
    """
    n_v = machine.delta.shape[1]
    states = [f"u{v}" for v in range(n_v)]
    edges: list[Edge] = []
    ways: dict[str, set[str]] = {state: set() for state in states}
    for v, state in enumerate(states):
        groups: dict[tuple[str, float], list[int]] = {}
        for x in range(len(labels)):
            paid, end = outputs[int(machine.output[x, v])]
            target = {SUCCESS: DONE, FAILURE: FAILED}.get(end, states[int(machine.delta[x, v])])
            if (target, paid) != (state, 0.0):
                groups.setdefault((target, paid), []).append(x)
                ways[state].add(target)
        for (target, paid), read in groups.items():
            edges.append(Edge(state, target, _any_of([_guard(labels[x], labels) for x in read]), _number(paid)))
        edges.append(Edge(state, state, Otherwise(), Number(0.0)))
    ends = {DONE, FAILED} & {edge.target for edge in edges}
    lost = _without_end(ways, ends)
    edges = [
        *(Edge(state, DONE, Truth(False), Number(0.0)) for state in states if state in lost),
        *edges,
    ]
    order = {state: k for k, state in enumerate(states)}
    return RewardMachine(
        start=states[0],
        states=tuple(states),
        edges=tuple(sorted(edges, key=lambda edge: order[edge.source])),
        success=(DONE,),
        failure=(FAILED,) if FAILED in ends else (),
        name=name,
        source=SOURCE,
    )


def _without_end(ways: dict[str, set[str]], ends: set[str]) -> set[str]:
    """Return the states from which no end is known, of which success is one; the start if success is not."""
    found = {DONE, FAILED} & ends
    while more := {state for state, after in ways.items() if state not in found and after & found}:
        found |= more
    lost = {*ways} - found
    return lost if DONE in ends or lost else {next(iter(ways))}


def _guard(label: Label, labels: Sequence[Label]) -> Guard:
    """Return what is open for a label and for no other of those known."""
    others = sorted({name for other in labels if {*label} < {*other} for name in other} - {*label})
    parts: list[Expression] = [*map(Proposition, label), *(Unary("!", Proposition(name)) for name in others)]
    return parts[0] if len(parts) == 1 else Chain("&", tuple(parts)) if parts else Truth(True)


def _any_of(guards: list[Guard]) -> Guard:
    """Return what is open where one of some guards is."""
    return guards[0] if len(guards) == 1 else Chain("|", tuple(guards))  # type: ignore[arg-type]


def _number(paid: float) -> Number:
    """Return a reward as machines write it."""
    return Number(float(np.float64(paid)))
