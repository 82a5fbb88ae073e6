"""Rewards as they are written: rationals from their expressions, where a float is not what was meant.

What floats hold is printed as it was written, but for rewards that need arithmetic on other than whole numbers, such as
0.1 * 3. These are evaluated again, in rationals, where somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from fastrm.arrays import Array
from fastrm.config import Profile
from fastrm.kernels.contracts import Tables
from fastrm.machines import RewardMachine
from fastrm.machines.language import Edge, Expression, Feature, as_written, evaluate_exactly, leaves, may_round
from fastrm.problems.compatibility import leaves_read
from fastrm.problems.events import Leaf, read_events
from fastrm.problems.steps_to_go import steps_to_go
from fastrm.problems.tabulate import Evaluator
from fastrm.problems.terrain import Terrain


class WrittenRewards:
    """What every event pays in every state, in rationals, potentials aside."""

    def __init__(
        self,
        machines: Sequence[RewardMachine],
        terrain: Terrain,
        profile: Profile,
        tables: Tables,
        plain: Array,
        example: Array,
        steps: Array,
    ) -> None:
        """`steps` are the steps to go of every pair; the rest is as in a `Problem`."""
        self._plain = plain
        self._states: dict[int, tuple[Evaluator, list[Edge]]] = {}
        if not any(may_round(edge.reward) for machine in machines for edge in machine.edges):
            return
        events = read_events(terrain, leaves_read(machines), tables.event, example)
        first = 0
        for machine, to_go in zip(machines, steps_to_go(steps, machines), strict=True):
            evaluator = Evaluator(machine, events, terrain, profile, to_go)
            for v, edges in enumerate(evaluator.edges_by_state()):
                if any(may_round(edge.reward) for edge in edges):
                    self._states[first + v] = evaluator, edges
            first += len(machine.states)

    def __call__(self, event: int, u: int) -> Fraction:
        """Return what an event pays in a state."""
        for edge in self._rounded.get(u, ()):
            if edge.is_open[event]:
                return edge.paid(event)
        return as_written(self._plain[event, u])

    @cached_property
    def rounding(self) -> Array | None:
        """By how much each float of `plain` is off, [n_e, n_cols], rounded up; None where none is."""
        off = np.zeros_like(self._plain)
        for u, edges in self._rounded.items():
            for edge in edges:
                where = np.flatnonzero(edge.is_open)
                _, example, group = np.unique(edge.read[:, where], axis=1, return_index=True, return_inverse=True)
                gaps = [abs(edge.paid(e) - Fraction(float(self._plain[e, u]))) for e in where[example].tolist()]
                off[where, u] = np.array([float(gap) for gap in gaps])[group.reshape(-1)]
        return off * (1 + 1e-9) if off.any() else None

    @cached_property
    def _rounded(self) -> dict[int, list[_RoundedEdge]]:
        """The edges of every state whose rewards may be rounded, each with the events on which it pays."""
        found: dict[int, list[_RoundedEdge]] = {}
        for u, (evaluator, edges) in self._states.items():
            paying = list(evaluator.open_edges(edges))
            ends = [edge for edge in edges if edge.target in evaluator.machine.terminals]
            if ends:  # falling off pays what the last of them pays
                paying.append((ends[-1], evaluator.gap))
            found[u] = [
                _RoundedEdge(edge.reward, evaluator.features(edge), is_open, self._plain[:, u])
                for edge, is_open in paying
                if may_round(edge.reward) and is_open.any()
            ]
        return found


class _RoundedEdge:
    """One reward that floats may not hold: what it reads on every event, and what it pays."""

    def __init__(self, reward: Expression, columns: Mapping[Leaf, Array], is_open: Array, floats: Array) -> None:
        self.reward, self.is_open, self.floats = reward, is_open, floats
        self.features = [leaf for leaf in dict.fromkeys(leaves(reward)) if isinstance(leaf, Feature)]
        self.read = np.array([columns[leaf] for leaf in self.features]).reshape(-1, is_open.size).astype(np.int64)
        self._known: dict[tuple[int, ...], Fraction] = {}

    def paid(self, event: int) -> Fraction:
        """Evaluate the reward; where it divides by what is 0 exactly, but not in floats, the float counts."""
        values = tuple(self.read[:, event].tolist())
        if values not in self._known:
            try:
                exact = evaluate_exactly(self.reward, dict(zip(self.features, values, strict=True)))
            except ZeroDivisionError:
                exact = as_written(self.floats[event])
            self._known[values] = exact
        return self._known[values]
