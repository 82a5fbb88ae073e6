"""CRM: Q-learning with counterfactual experiences.

After every step from s by a to s' one update for each machine state v, in increasing order and in place, with the
successor v' and the reward r(v) that this move has in v::

    Q(s, v, a) <- Q(s, v, a) + alpha (r(v) + gamma max_b Q(s', v', b) - Q(s, v, a))

The arithmetic is that of `kernels.td`, which HRM and coupled share. Laid out ``q[run, s, a, v]``: on a move that
changes no machine state the sweep is vector arithmetic on rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import BLOCK, State, Sweep
from fastrm.kernels.learners import crm
from fastrm.learners.qrm import Qrm
from fastrm.learners.registry import View
from fastrm.problems import CellProblem, TabularProblem


class Crm(Qrm):
    """Counterfactual experiences; acts by its values as QRM does, in a table of another layout."""

    name = "crm"
    semantics = 2
    settings: tuple[str, ...] = ("alpha", "q_init", "prune")
    kernel = staticmethod(crm.run)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values, terminals and padding worth 0."""
        n_cols = reward.shape[1]
        q = columns_of(problem, float(config.q_init), n, problem.tables.n_u, n_cols)
        return q, Sweep(width=width_of(n_cols))

    def view(self, problem: TabularProblem, state: State) -> View:
        """Return the tables without terminals and padding."""
        return View(by_column(problem, state.q, problem.tables.n_u))


def columns_of(problem: CellProblem, value: float, n: int, used: int, n_cols: int) -> Array:
    """Return ``q[run, s, a, column]`` for sweeps: the columns from `used` on are worth 0."""
    q = aligned_full((n, len(problem.tables.next_s), problem.room, n_cols), float(value))
    q[..., used:] = 0.0
    q[:, :, problem.n_actions :] = -np.inf
    return q


def width_of(n_cols: int) -> int | None:
    """Return the width of a row as kernels want it: None for one block."""
    return n_cols if n_cols > BLOCK else None


def by_column(problem: CellProblem, q: Array, used: int) -> Array:
    """Return the values of all runs as [run, cell, column, action], a view without the columns from `used` on."""
    return q.swapaxes(2, 3)[:, :, :used, : problem.n_actions]
