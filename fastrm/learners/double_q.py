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

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import State
from fastrm.kernels.learners import double_q
from fastrm.learners.qrm import Qrm, by_cell
from fastrm.learners.registry import Values, View
from fastrm.problems import TabularProblem


class DoubleQ(Qrm):
    """Two of QRM's tables."""

    name = "double-q"
    semantics = 1
    kernel = staticmethod(double_q.run)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values of both tables; terminals are worth 0."""
        q, own = super().begin(problem, reward, config, 2 * n)
        return q.reshape(n, 2, *q.shape[1:]), own

    def view(self, problem: TabularProblem, state: State) -> View:
        """Return both tables without terminals."""
        both = by_cell(problem, state.q)
        return View(both[:, 0], twin=both[:, 1])

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return the mean of run i's tables, and both."""
        first, second = (table[i].copy() for table in self.view(problem, state)[:2])
        return Values((first + second) / 2, {"first": first, "second": second})

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with two tables that were learned, or twice with the one of another learner."""
        for table, name in zip(self.view(problem, state)[:2], ("first", "second"), strict=True):
            table[i] = values.more.get(name, values.q)
