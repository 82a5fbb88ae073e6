"""Double Q-learning: two tables, so that a value that is too large by chance is not chosen for it.

Actions are chosen epsilon-greedily on A + B. After every step from (s, u) by a to (s', u') that paid r, a coin decides
which table learns; say A::

    a*            = argmax_b A(s', u', b), ties broken uniformly
    A(s, u, a)   <- A(s, u, a) + alpha (r + gamma B(s', u', a*) - A(s, u, a))

with both 0 in every terminal. One draw is coin and tie-break: its upper half below one half means A, its lower half
takes one of the candidates. What was learned is reported as the mean of A and B. Laid out ``q[run, table, u, s, a]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import Setting, Span, State
from fastrm.kernels.learners import double_q
from fastrm.learners.qrm import Qrm
from fastrm.learners.registry import Values, View
from fastrm.problems import TabularProblem


class DoubleQ(Qrm):
    """Two of QRM's tables."""

    name = "double-q"
    semantics = 1

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values of both tables; terminals are worth 0."""
        tables = problem.tables
        q = aligned_full((n, 2, tables.n_u + 1, len(tables.next_s), problem.room), float(config.q_init))
        q[:, :, tables.n_u] = 0.0
        q[..., problem.n_actions :] = -np.inf
        return q, ()

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        double_q.run(setting, state, span)

    def view(self, problem: TabularProblem, state: State) -> View:
        """Return both tables without terminals."""
        both = state.q[:, :, : problem.tables.n_u, :, : problem.n_actions].swapaxes(2, 3)
        return View(both[:, 0], twin=both[:, 1])

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return the mean of run i's tables, and both."""
        first, second = (table[i].copy() for table in self.view(problem, state)[:2])
        return Values((first + second) / 2, {"first": first, "second": second})

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with two tables that were learned, or twice with the one of another learner."""
        for table, name in zip(state.q[i], ("first", "second"), strict=True):
            table[: problem.tables.n_u, :, : problem.n_actions] = values.more.get(name, values.q).swapaxes(0, 1)


LEARNER = DoubleQ()
