"""Steps to go: the fewest steps from every cell and machine state to a success, whatever a machine pays.

They are found on the product of map and machine, so they lead through all that is left of a task, around walls and past
what must be avoided, and they do not depend on how distances are measured. Where nothing can succeed any more, and in a
failure, they count as the square of the longest way plus one: with rewards of minus the steps to go, nothing that can
be earned on the way makes up for that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastrm.arrays import Array
from fastrm.kernels import search
from fastrm.kernels.contracts import FAR, MASK, Tables
from fastrm.machines import RewardMachine


def every_action(tables: Tables) -> Array:
    """Mark all actions of every pair, a bit each, [n_s, n_u]."""
    n_s, n_a = tables.next_s.shape
    return np.full((n_s, tables.n_u), 2**n_a - 1, dtype=MASK)


def distances(tables: Tables, mask: Array | None = None, any_end: bool = False) -> Array:
    """Return the fewest steps from every pair to a success (or any end), by the marked actions or by all.

    int32 [n_s, n_cols], `FAR` where there is no way.
    """
    if mask is None:
        mask = every_action(tables)
    n_s, n_u = mask.shape
    distance = np.empty((n_s, tables.reward.shape[1]), dtype=np.int32)
    scratch = (np.empty(n, dtype=np.int64) for n in (n_s + 1, tables.next_s.size, n_s * n_u))
    search.steps_to_go(tables, mask, any_end, distance, *scratch)
    return distance


def steps_to_go(steps: Array, machines: Sequence[RewardMachine]) -> list[Array]:
    """Return for every machine its part of `distances` as float64 [n_s, states + terminals], successes worth 0."""
    found, first = [], 0
    for machine in machines:
        mine = steps[:, first : first + len(machine.states)].astype(np.float64)
        hopeless = mine >= FAR
        longest = mine[~hopeless].max(initial=1.0)
        mine[hopeless] = longest**2 + 1
        ends = np.zeros((len(mine), len(machine.terminals)))
        ends[:, len(machine.success) :] = longest**2 + 1
        found.append(np.hstack([mine, ends]))
        first += len(machine.states)
    return found


def potentials(machines: Sequence[RewardMachine], to_go: Sequence[Array], n_cols: int) -> Array:
    """Return Phi = -c times the steps to go of every cell and state, float64 [n_s, n_cols]; 0 at every end."""
    phi, first = np.zeros((len(to_go[0]), n_cols)), 0
    for machine, steps in zip(machines, to_go, strict=True):
        n = len(machine.states)
        phi[:, first : first + n] = -(machine.potential * steps[:, :n]) + 0.0
        first += n
    return phi


def pay_potential(plain: Array, phi: Array, tables: Tables, example: Array, gamma: float, out: Array) -> None:
    """Write rewards plus ``gamma Phi(s', u') - Phi(s, u)`` into `out`; events are moves between two cells."""
    here, there = example // tables.next_s.shape[1], tables.next_s.ravel()[example]
    out[...] = plain + (gamma * np.take_along_axis(phi[there], tables.delta.astype(np.int64), axis=1) - phi[here])
    out[:, tables.n_u :] = 0.0
