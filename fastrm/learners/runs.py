"""The result of a run: curves, learned values, and what the greedy policy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number, check_whole
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError
from fastrm.learners import registry
from fastrm.problems import Episode, Moment, Problem, TabularProblem, check_tabular, list_states, slide
from fastrm.schedules import final
from fastrm.worlds import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Actor = Callable[[tuple[int, ...], dict[str, Any]], Array]
"""A greedy policy: the values of all actions in an `Episode.place`, and what it keeps along an episode."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """How a greedy policy did in some episodes; see `Run.evaluate`."""

    completed: Array
    """Whether each episode completed the task, bool [episode]."""
    lengths: Array
    """Steps of each episode, int64 [episode]."""
    returns: Array
    """Sum of the machine's own rewards in each episode, undiscounted, float64 [episode]."""
    is_exact: bool
    """Whether nothing was drawn: there is then one episode for every start."""

    @property
    def success(self) -> float:
        """Share of the episodes that completed the task."""
        return float(self.completed.mean())

    @property
    def length(self) -> tuple[float, float, float]:
        """Quartiles of the steps of episodes that completed the task, NaN if none did: 25, 50 and 75 %."""
        return _quartiles(self.lengths[self.completed])

    @property
    def total(self) -> tuple[float, float, float]:
        """Quartiles of the returns of all episodes: 25, 50 and 75 %."""
        return _quartiles(self.returns)

    def __repr__(self) -> str:
        both = self.length, self.total
        spreads = [f"{mid:.6g} ({low:.6g} to {high:.6g})" if not isnan(low) else "-" for low, mid, high in both]
        episodes = "1 episode" if len(self.lengths) == 1 else f"{len(self.lengths)} episodes"
        return f"<Evaluation of {episodes}: success {self.success:.3g}, length {spreads[0]}, return {spreads[1]}>"


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
    greedy_curve: Array | None = None
    """On request: steps of the greedy policy at every tick, summed over tasks, of each the mean over starts; NaN where
    it does not complete them all, [tick]."""
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
        self._check_fits(problem)
        s, u = problem.number_of_any(cell), problem.number_of_state(state)
        return _last_best(self.q[s, self._column(s, u)])

    def _check_fits(self, problem: TabularProblem) -> None:
        """Raise ConfigError unless a problem has the cells, actions and states that the run learned about."""
        sizes = len(problem.terrain.cells), problem.n_actions
        if (self.q.shape[0], self.q.shape[2]) != sizes or self.states != problem.states:
            raise ConfigError(
                f"problem: the run learned about {self.q.shape[0]} cells, {self.q.shape[2]} actions and the states "
                f"{list_states(self.states)}, and this problem has {sizes[0]}, {sizes[1]} and "
                f"{list_states(problem.states)}"
            )

    def act(self, state: Episode | Sequence[object] | Array) -> int:
        """Return what the greedy policy does in a state.

        Parameters
        ----------
        state : sequence or Episode
            An episode in progress, or what an environment observes that shows states: on maps and tables a cell and a
            machine state, each as in `next_action`; on Water world the states of both axes, the time and the machine
            state; with an agenda too large to list its states a cell and the list of targets that are left.

        Raises
        ------
        ConfigError
            Unless it is a state of the problem that the run learned about.

        Examples
        --------
        >>> import fastrm
        >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
        >>> run = fastrm.train(problem, "crm", steps=50_000)
        >>> run.act(((4, 4), "u0")) == run.greedy_actions[0][0]
        True
        """
        return _last_best(self.values(state))

    def policy(self) -> Callable[[Episode | Sequence[object] | Array], int]:
        """Return the greedy policy as a function of a state; see `act`."""
        return self.act

    def values(self, state: Episode | Sequence[object] | Array) -> Array:
        """Return the learned value of every action in a state, given as for `act`.

        Of HRM they are those of the best option there, of `coupled` those of the column that a plan from there pursues.
        """
        problem = self._its_problem()
        if isinstance(state, Episode):
            if state.problem.states != problem.states or state.problem.source != problem.source:
                raise ConfigError(
                    f"state: an episode on {state.problem.source}; the run learned about {problem.source}"
                )
            place = state.place
        else:
            place = problem.place_of(state)
        return np.array(self._actor(place, {}))

    def evaluate(
        self,
        episodes: int = 100,
        *,
        epsilon: float = 0.0,
        start: Cell | int | None = None,
        task: int = 0,
        seed: int = 0,
    ) -> Evaluation:
        """Play episodes by the greedy policy, each at most as long as the episodes it learned from.

        Where nothing is left to chance (certain moves, `epsilon` 0) one episode from every start tells all, and the
        answer is exact.

        Parameters
        ----------
        episodes : int
            Episodes to play where something is left to chance.
        epsilon : float
            Probability of a random action.
        start : cell, optional
            Where episodes begin, (row, column) or the number of a cell; by default in the starts of the problem.
        task : int
            Which machine is played.
        seed : int
            Seed of all that is drawn.

        Raises
        ------
        ConfigError
            When an argument is out of range.

        Examples
        --------
        >>> import fastrm
        >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
        >>> run = fastrm.train(problem, "crm", steps=50_000)
        >>> run.evaluate()
        <Evaluation of 1 episode: success 1, length 11 (11 to 11), return 1 (1 to 1)>
        >>> run.evaluate(200, epsilon=0.1).success
        1.0
        """
        problem = self._its_problem()
        check_whole("episodes", episodes, 1, 10**7)
        check_number("epsilon", epsilon, 0, 1)
        check_whole("seed", seed, 0, 2**64 - 1)
        is_exact, random = epsilon == 0 and problem.is_certain, np.random.default_rng(seed)
        starts = problem.start_numbers if start is None else [problem.number_of_any(start)]
        is_exact = is_exact and starts is not None
        if not is_exact:
            fixed = list(starts or ()) * episodes
            starts = [problem.draw_start(random) for _ in range(episodes)] if start is None else fixed
        played = [self._play(task, first, epsilon, random) for first in starts or ()]
        return Evaluation(
            completed=np.array([moments[-1].success for moments in played]),
            lengths=np.array([len(moments) - 1 for moments in played]),
            returns=np.array([moments[-1].paid for moments in played]),
            is_exact=is_exact,
        )

    def walk(self, start: Cell | int | None = None, task: int = 0) -> tuple[Moment, ...]:
        """Return every step of the greedy policy: place, machine state, label and what was paid; no move slips.

        It begins in `start`, a cell or its number, by default the (first) start of the problem.
        """
        first = None if start is None else self._its_problem().number_of_any(start)
        return tuple(self._play(task, first, 0.0, None))

    def save(self, path: str | Path) -> None:
        """Write the run with its problem to a file that `fastrm.load_run` reads; it holds no code.

        Raises
        ------
        ConfigError
            When the run knows no problem, or its learner cannot begin with what was learned.
        StoreError
            When the file cannot be written.
        """
        from fastrm.learners.saving import save_run

        save_run(self, path)

    def _its_problem(self) -> Problem:
        """Return what it learned about."""
        if self.problem is None:
            raise ConfigError("this run does not know its problem; train it with fastrm.train")
        return self.problem

    @cached_property
    def _actor(self) -> Actor:
        """The greedy policy: a function of a place and of what it keeps along an episode."""
        problem = self._its_problem()
        learner: Any = registry.find(self.algo, problem.kind)
        if hasattr(learner, "actor"):
            actor: Actor = learner.actor(problem, self)
            return actor
        check_acts_by_state(self.algo)
        self._check_fits(check_tabular(problem))
        return self._act_by_column

    def _act_by_column(self, place: tuple[int, ...], memory: dict[str, Any]) -> Array:
        """Return the values of a cell and machine state; an option is kept until its state is left."""
        s, u = place
        if memory.get("state") != u:
            memory |= {"state": u, "column": self._column(s, u)}
        values: Array = self.q[s, memory["column"]]
        return values

    def _play(
        self,
        task: int,
        start: int | None,
        epsilon: float,
        random: np.random.Generator | None,
        actions: list[int] | None = None,
    ) -> list[Moment]:
        """Play an episode, by default from the (first) start; nothing is left to chance without `random`.

        `actions` is extended.
        """
        problem, actor, memory = self._its_problem(), self._actor, dict[str, Any]()
        check_whole("task", task, 0, len(problem.machines) - 1)
        here = (problem if random else problem.likely).episode(task, start)
        moments = [Moment(here.cell, here.place[-1], "", 0.0)]
        while not here.terminated and here.steps < self.config.episode_limit:
            action = _last_best(actor(here.place, memory))
            if random is not None and epsilon and random.random() < epsilon:
                action = int(random.integers(problem.n_actions))
            if actions is not None:
                actions.append(action)
            here.step(action if random is None else int(slide(problem, here.place[0], np.array(action), random)))
            paid = moments[-1].paid + here.reward
            moments.append(Moment(here.cell, here.place[-1], here.label, paid, here.success, here.end))
        return moments

    def path_actions(self, problem: Problem, task: int = 0) -> list[int]:
        """Return the actions of the greedy path in a task; cells alone do not tell where several lead to the same."""
        if self.known_actions and (known := self.known_actions[task]) is not None:
            return list(known)
        actions: list[int] = []
        (self if self.problem else replace(self, problem=problem))._play(task, None, 0.0, None, actions)
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
    def steps_to_shortest(self) -> float:
        """Steps at the first tick at which the greedy policy took a shortest path; NaN if it never did or none looked.

        Train with ``greedy=True`` to have it.
        """
        is_shortest = self._is_shortest()
        return float(self.step[is_shortest.argmax()]) if is_shortest.any() else np.nan

    @property
    def steps_to_lasting_shortest(self) -> float:
        """Steps at the first tick from which every greedy path was a shortest one; NaN if the last one was not."""
        others = np.flatnonzero(~self._is_shortest())
        since = 0 if not others.size else int(others[-1]) + 1
        return float(self.step[since]) if since < len(self.step) else np.nan

    def _is_shortest(self) -> Array:
        """Return whether the greedy policy took a shortest path, by tick."""
        if self.greedy_curve is None:
            return np.zeros(len(self.step), dtype=np.bool_)
        shortest: Array = self.greedy_curve == sum(self.shortest)
        return shortest

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


def acts_by_state(algo: str, kind: str = "tabular") -> bool:
    """Return whether what a learner does depends on cell and machine state alone, or on the option that is best there.

    >>> [acts_by_state(name) for name in ("crm", "hrm", "coupled")]
    [True, True, False]
    """
    return algo == "hrm" or registry.find(algo, kind).per_state


def check_acts_by_state(algo: str) -> None:
    """Raise ConfigError unless a learner chooses actions by cell and machine state."""
    if not acts_by_state(algo):
        raise ConfigError(
            f"{algo} keeps no values per machine state, so it tells no move for one; take another learner, such as crm"
        )


def _last_best(values: Array) -> int:
    """Return the best index; ties go to the last, as in roll-outs."""
    return len(values) - 1 - int(values[::-1].argmax())


def _quartiles(numbers: Array) -> tuple[float, float, float]:
    """Return the 25th, 50th and 75th percentile, NaN of nothing."""
    if not numbers.size:
        return np.nan, np.nan, np.nan
    low, middle, high = np.percentile(numbers, (25, 50, 75)).tolist()
    return low, middle, high
