"""HRM: options for the edges of a machine, and a controller that chooses among them.

There is one option per pair (u, u') of machine states that an edge joins, u != u'; a switch of the profile decides
about those to failures. It goes on while the machine stays in u. Every step updates the values of all options as if
each had been in force, with the machine's reward, plus r_max when u' was reached and r_min when the machine went
elsewhere::

    Q_o(s, a) <- Q_o(s, a) + alpha (r_o + gamma max_b Q_o(s', b) - Q_o(s, a))       no bootstrap when the option ends

When the option in force ends after n steps, having earned G, the controller learns::

    C(s, o) <- C(s, o) + controller_alpha (G + gamma^n max_o' C(s', o') - C(s, o))  o' over the options that leave u'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import BLOCK, Hierarchy, Options, Setting, Span, State
from fastrm.kernels.exact import rollout
from fastrm.kernels.learners import hrm
from fastrm.learners.crm import by_column, columns_of, width_of
from fastrm.learners.registry import Values, View
from fastrm.problems import TabularProblem, check_tabular


class Hrm:
    """Options and a controller."""

    name = "hrm"
    semantics = 3
    per_state = False
    settings = (
        "alpha", "q_init", "r_max", "r_min", "controller_alpha", "self_loop_options",
        "option_survives_limit", "prune", "merge_terminals", "failure_options",
    )  # fmt: skip

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values of the options, and the options with the controller's values."""
        options = build_options(problem, reward, config)
        n_o, n_cols = len(options.owner), options.reward.shape[1]
        own = Hierarchy(
            options=options,
            controller=np.full((n, len(problem.tables.next_s), n_o), float(config.q_init)),
            width=width_of(n_cols),
        )
        return columns_of(problem, float(config.q_init), n, n_o, n_cols), own

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        hrm.run(setting, state, span)

    def view(self, problem: TabularProblem, state: State) -> View:
        """Return the values of options, and the controller's."""
        own: Hierarchy = state.own
        q = by_column(problem, state.q, len(own.options.owner))
        return View(q, first=own.options.first, controller=own.controller)

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return run i's values of options, and the controller's.

        Options ``first_option[u]`` to ``first_option[u + 1] - 1`` leave machine state u.
        """
        q, _, first, controller, _ = self.view(problem, state)
        return Values(q[i].copy(), {"controller": controller[i].copy(), "first_option": first})

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with options and a controller that were learned."""
        own: Hierarchy = state.own
        self.view(problem, state).q[i] = values.q
        own.controller[i] = values.more["controller"]

    def follow(self, problem: TabularProblem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Follow the best option from where it begins until its machine state is left."""
        more = values.more
        length, outcome = rollout.follow(problem.tables, values.q, more["first_option"], more["controller"], s, u, path)
        return int(length), int(outcome)


def option_pairs(problem: TabularProblem, self_loops: bool = False) -> list[tuple[int, int, str]]:
    """Return machine number, state column and goal of every option, ordered by state, then by edge.

    The goal is the name of a state; all terminals of a machine are named ``""`` where the profile merges them. Unless
    the profile has ``failure_options``, an edge to a failure makes an option only in a state that would have none.
    """
    check_tabular(problem)
    profile, pairs = problem.profile, []
    for column, (number, name) in enumerate(problem.states):
        machine = problem.machines[number]
        edges = [edge for edge in machine.edges if edge.source == name and (edge.target != name or self_loops)]
        if not profile.failure_options:
            edges = [edge for edge in edges if edge.target not in machine.failure] or edges  # a state needs an option
        merged = machine.terminals if profile.merge_terminals else ()
        goals = dict.fromkeys("" if edge.target in merged else edge.target for edge in edges)
        pairs += [(number, column, goal) for goal in goals]
    return pairs


def build_options(problem: TabularProblem, rewards: Array, config: LearnerConfig) -> Options:
    """Tabulate when every option goes on or ends, and what it earns."""
    tables, pairs = problem.tables, option_pairs(problem, config.self_loop_options)
    n_o = len(pairs)
    owner = np.array([column for _, column, _ in pairs], dtype=np.uint32)
    goes_on = tables.delta[:, owner] == owner
    reached = np.zeros(goes_on.shape, dtype=np.bool_)
    for o, (number, column, goal) in enumerate(pairs):
        if goal in problem.machines[number].states:
            reached[:, o] = tables.delta[:, column] == problem.states.index((number, goal))
        elif goal:
            reached[:, o] = problem.ending[:, column] == 1 + problem.machines[number].terminals.index(goal)
        else:
            reached[:, o] = problem.ending[:, column] != 0
    n_cols = (n_o + BLOCK) // BLOCK * BLOCK
    delta = np.full((len(tables.reward), n_cols), n_o, dtype=np.uint32)
    delta[:, :n_o] = np.where(goes_on, np.arange(n_o), n_o)
    reward = aligned_full(delta.shape)
    paid = rewards[:, owner]
    reward[:, :n_o] = np.where(goes_on, paid, paid + np.where(reached, config.r_max, config.r_min))
    image = np.zeros(delta.shape, dtype=np.uint8)
    image[:, :n_o] = tables.image[:, owner]
    options = Options(
        first=np.searchsorted(owner, np.arange(tables.n_u + 1)).astype(np.uint64),
        owner=owner,
        delta=delta,
        reward=reward,
        image=image,
    )
    for array in options:
        array.flags.writeable = False
    return options
