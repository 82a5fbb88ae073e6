"""QRM: Q-learning on the cross product of cells and machine states.

After every step from (s, u) by a to (s', u') that paid r, one update::

    Q(s, u, a) <- Q(s, u, a) + alpha (r + gamma max_b Q(s', u', b) - Q(s, u, a))

with Q = 0 in every terminal. Laid out ``q[run, u, s, a]``: the four values of a choice lie side by side, and as long as
the machine rests a row is found without a multiplication.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import Setting, Span, State
from fastrm.kernels.exact import rollout
from fastrm.kernels.learners import qrm
from fastrm.learners.registry import Values, View
from fastrm.problems import TabularProblem


class Qrm:
    """Cross-product Q-learning."""

    name = "qrm"
    semantics = 2
    per_state = True
    settings: tuple[str, ...] = ("alpha", "q_init", "qrm_bootstraps_at_limit")
    kernel = staticmethod(qrm.run)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values; terminals are worth 0."""
        tables = problem.tables
        q = aligned_full((n, tables.n_u + 1, len(tables.next_s), problem.room), float(config.q_init))
        q[:, tables.n_u] = 0.0
        q[..., problem.n_actions :] = -np.inf
        return q, ()

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        self.kernel(setting, state, span)

    def view(self, problem: TabularProblem, state: State) -> View:
        """Return the tables without terminals."""
        return View(by_cell(problem, state.q))

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return run i's table."""
        return Values(self.view(problem, state).q[i].copy())

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with a table that was learned."""
        self.view(problem, state).q[i] = values.q

    def follow(self, problem: TabularProblem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Follow the best action of every cell and machine state."""
        length, outcome = rollout.follow(problem.tables, values.q, None, None, s, u, path)
        return int(length), int(outcome)


def by_cell(problem: TabularProblem, table: Array) -> Array:
    """Return a table ``[..., u, s, a]`` as [..., cell, machine state, action], a view without terminals."""
    return table[..., : problem.tables.n_u, :, : problem.n_actions].swapaxes(-3, -2)
