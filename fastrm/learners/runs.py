"""The result of a run: curves, learned values, and what the greedy policy does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, printable, shown
from fastrm.learners import registry
from fastrm.problems import Episode, Problem, TabularEpisode, TabularProblem, check_tabular, find_actions
from fastrm.schedules import final
from fastrm.worlds import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What one run learned and how.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
    >>> run = fastrm.train(problem, "crm", steps=50_000, tick=10_000)
    >>> run.step.tolist(), run.solved
    ([10000, 20000, 30000, 40000, 50000], True)
    """

    algo: str
    """The learner."""
    seed: int
    """The seed it was given."""
    shaping: bool
    """Whether rewards were shaped by potentials of the machine."""
    config: LearnerConfig
    """The settings it learned with."""
    steps: int
    """Steps made."""
    step: Array
    """Steps made at every tick, [tick]."""
    score: Array
    """Mean score of the last episodes, in units of the best policy acting alike, NaN before the first ended, [tick]."""
    reward: Array
    """Sum of the machine's own rewards so far, [tick]."""
    completions: Array
    """Episodes that completed the task so far, [tick]."""
    episodes: Array
    """Episodes that ended so far, [tick]."""
    states: tuple[tuple[int, str], ...]
    """Machine and name of every machine state, as in `Problem.states`; none of an agenda too large to list them."""
    q: Array
    """Learned values: [cell, machine state, action], for HRM [cell, option, action], for coupled [cell, column,
    action]; on Water world weights, [row, machine state, action], row 0 unused."""
    more: Mapping[str, Array]
    """What else was learned, by name: for HRM ``controller``, [cell, option], and the ``first_option`` of a state; for
    coupled the ``stage`` of each column, the ``cell`` where it was completed last, and the number of ``plans``; on
    Water world the ``tiles`` of the rows."""
    greedy_paths: tuple[tuple[Cell, ...], ...]
    """Cells visited by the greedy policy from the (first) start if nothing slips, per task; cut off when the task is
    not completed."""
    greedy_lengths: tuple[float | None, ...]
    """Steps the greedy policy takes to complete each task if nothing slips, the mean over starts where several are;
    None where it does not, from some start."""
    shortest: tuple[float, ...]
    """Length of a shortest path, per task, the mean over starts where several are; NaN where none is known."""
    unit: tuple[float, ...]
    """What a score of 1 means, per task: expected task reward per step of the best policy, or total own reward where
    episodes are scored by that."""
    episode_log: tuple[Array, Array] | None = None
    """On request: what every episode was paid, and its length."""
    problem: Problem | None = None
    """What it learned about."""
    known_actions: tuple[tuple[int, ...] | None, ...] = ()
    """Actions of the greedy policy per task, where they were noted; `path_actions` finds the others."""

    def __repr__(self) -> str:
        last = f", score {self.score[-1]:.3f}" if self.score.size else ""
        name = self.algo + ("-rs" if self.shaping else "")
        greedy = "None" if self.greedy_length is None else f"{self.greedy_length:.6g}"
        shortest = "not known" if isnan(self.shortest[0]) else f"{self.shortest[0]:.6g} steps"
        return f"<Run {name} seed {self.seed}: greedy {greedy}, shortest {shortest}{last}>"

    def _repr_html_(self) -> str:
        """Show figures and learning curve in a notebook."""
        from fastrm.pages import run_card

        return run_card(self)

    def plot(self, problem: Problem | None = None) -> Figure:
        """Draw the learning curve, or with its problem what was learned; needs matplotlib."""
        from fastrm.plots import draw_learning, draw_run

        return draw_run(self) if problem is None else draw_learning(problem, self)

    @property
    def controller(self) -> Array | None:
        """HRM: the controller's values, [cell, option]."""
        return self.more.get("controller")

    @property
    def last_epsilon(self) -> float:
        """The epsilon of the last step."""
        return final(self.config.epsilon, max(1, self.steps))

    def next_action(self, problem: TabularProblem, cell: Cell | int, state: int | str | tuple[int, str]) -> int:
        """Return what the greedy policy does in a cell and a machine state.

        For HRM that is what the option does that is best there.

        Parameters
        ----------
        problem : Problem
            What the run learned about.
        cell : (int, int) or int
            Row and column of a cell that the agent can be in, or its number.
        state : int, str or (int, str)
            A machine state: its number, its name, or with several tasks machine and name as in `Problem.states`.

        Returns
        -------
        int
            The number of the action.

        Raises
        ------
        ConfigError
            When there is no such cell or state, the run learned about another problem, or the learner keeps no values
            per machine state.

        Examples
        --------
        >>> import fastrm
        >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
        >>> run = fastrm.train(problem, "crm", steps=50_000)
        >>> run.next_action(problem, (4, 4), "u0") == run.path_actions(problem)[0]
        True
        """
        check_acts_by_state(self.algo)
        for each in (problem, self.problem or problem):
            check_tabular(each)
        sizes = len(problem.terrain.cells), problem.n_actions
        if (self.q.shape[0], self.q.shape[2]) != sizes or self.states != problem.states:
            raise ConfigError(
                f"problem: the run learned about {self.q.shape[0]} cells, {self.q.shape[2]} actions and the states "
                f"{_names(self.states)}, and this problem has {sizes[0]}, {sizes[1]} and {_names(problem.states)}"
            )
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            check_whole("cell", cell, 0, sizes[0] - 1)
            s = int(cell)
        else:
            s = problem.number_of(cell, "cell")
        return _last_best(self.q[s, self._column(s, _number_of_state(self.states, state))])

    def act(self, episode: Episode) -> int:
        """Return what the greedy policy does next in an episode, on a map or a table."""
        if not isinstance(episode, Episode):
            raise ConfigError(f"episode={shown(episode)}: must be an episode, such as problem.episode()")
        here = cast("TabularEpisode", episode)
        return self.next_action(check_tabular(episode.problem), here.s, here.u)

    def path_actions(self, problem: Problem, task: int = 0) -> list[int]:
        """Return the actions of the greedy path in a task; cells alone do not tell where several lead to the same."""
        if self.known_actions and (known := self.known_actions[task]) is not None:
            return list(known)
        problem = check_tabular(problem)
        path = self.greedy_paths[task]
        if not acts_by_state(self.algo):
            return find_actions(problem, path, task)
        s, u, column, actions = problem.number_of(path[0]), int(problem.tables.first_u[task]), -1, []
        for cell in path[1:]:
            column = self._column(s, u) if column < 0 else column
            leads_there = problem.tables.next_s[s] == problem.number_of(cell)
            actions.append(_last_best(np.where(leads_there, self.q[s, column], -np.inf)))
            taken = problem.step(s, u, actions[-1])
            column = column if taken.u == u else -1  # an option is kept until its state is left
            s, u = taken.s, taken.u
            if not taken.is_live:
                break
        return actions

    def _column(self, s: int, u: int) -> int:
        """Return the column of values that acts in a cell and state: that of the state, or of the best option."""
        if self.controller is None:
            return u
        first = self.more["first_option"]
        return int(first[u]) + _last_best(self.controller[s, int(first[u]) : int(first[u + 1])])

    @property
    def greedy_actions(self) -> tuple[tuple[int, ...], ...]:
        """Actions of the greedy policy in every task, from the (first) start."""
        tasks = range(len(self.greedy_paths))
        return tuple(tuple(self.path_actions(cast("Problem", self.problem), task)) for task in tasks)

    @property
    def greedy_length(self) -> float | None:
        """Steps the greedy policy takes to complete the (first) task, None if it does not."""
        return self.greedy_lengths[0]

    @property
    def greedy_path(self) -> tuple[Cell, ...]:
        """Cells visited by the greedy policy in the (first) task, from the (first) start."""
        return self.greedy_paths[0]

    @property
    def solved(self) -> bool:
        """Whether the greedy policy takes a shortest path in every task, from every start.

        False for agendas of more than 16 stages, of which no shortest path is known.
        """
        return self.greedy_lengths == self.shortest


def acts_by_state(algo: str) -> bool:
    """Return whether what a learner does depends on cell and machine state alone, or on the option that is best there.

    >>> [acts_by_state(name) for name in ("crm", "hrm", "coupled")]
    [True, True, False]
    """
    return algo == "hrm" or registry.find(algo).per_state


def check_acts_by_state(algo: str) -> None:
    """Raise ConfigError unless a learner chooses actions by cell and machine state."""
    if not acts_by_state(algo):
        raise ConfigError(
            f"{algo} keeps no values per machine state, so it tells no move for one; take another learner, such as crm"
        )


def _number_of_state(states: Sequence[tuple[int, str]], wanted: object) -> int:
    """Return the number of a machine state, given by it, by a name that no other has, or by machine and name."""
    names = [name for _, name in states]
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool) and 0 <= wanted < len(states):
        return int(wanted)
    if isinstance(wanted, str) and names.count(wanted) == 1:
        return names.index(wanted)
    if isinstance(wanted, tuple) and wanted in states:
        return states.index(wanted)
    raise ConfigError(
        f"state={shown(wanted)}: must be a whole number from 0 to {len(states) - 1}, or one of {_names(states)}"
    )


def _names(states: Sequence[tuple[int, str]]) -> str:
    """List machine states by name, those of several machines by machine and name; of many the first."""
    names = [name for _, name in states]
    told = [name if names.count(name) == 1 else repr(state) for state, name in zip(states[:12], names, strict=False)]
    return printable(", ".join([*told, "..."] if len(states) > 12 else told))


def _last_best(values: Array) -> int:
    """Return the best index; ties go to the last, as in roll-outs."""
    return len(values) - 1 - int(values[::-1].argmax())
