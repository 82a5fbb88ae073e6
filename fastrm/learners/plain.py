"""Learners in plain Python, for prototypes: an object with `begin`, `act` and `learn`, a thousand times slower.

Every run gets a copy of the object and a `Trial`: the problem, the settings, a table, and the run's own generator. The
episode, the log and the draws are those of kernels, in their order: the action, the slip, what the learner draws while
it learns, and the next start. So a learner that draws as QRM does learns the same table to the last bit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig, Profile
from fastrm.errors import ConfigError, shown
from fastrm.kernels import episode
from fastrm.kernels.contracts import Setting, Span, State
from fastrm.kernels.exact import rollout
from fastrm.learners.registry import COMMON, Values
from fastrm.problems import TabularProblem

WORD, HALF_WORD = 2**64 - 1, 2**32 - 1
SLOWNESS = 1000
"""How many times slower these learners are than kernels, about; batches and pieces of runs are smaller by this."""
_end_episode, _record = (getattr(part, "py_func", part) for part in (episode.end_episode, episode.record))


class Move(NamedTuple):
    """What a learner learns from: one move of the run, and what it means in every machine state."""

    s: int
    """The cell before it."""
    u: int
    """The machine state before it, its number in `Problem.states`."""
    a: int
    """The action that was chosen; where moves slip, the move may have gone elsewhere."""
    reward: float
    """What to learn from: the machine's reward, shaped if the run is."""
    s_next: int
    """The cell after it."""
    u_next: int
    """The machine state after it; the number of states, a column of zeros in `Trial.q`, in every terminal."""
    terminated: bool
    """Whether the machine reached a terminal."""
    truncated: bool
    """Whether the step limit ends the episode here."""
    rewards: Array
    """What the same move pays in every machine state, [state]."""
    successors: Array
    """The machine state that it leads to from every machine state, [state]."""

    @property
    def counterfactuals(self) -> list[tuple[int, float, int]]:
        """Every machine state, what the move pays there, and where it leads: what CRM learns from, in its order."""
        return list(zip(range(len(self.rewards)), self.rewards.tolist(), self.successors.tolist(), strict=True))


class PlainLearner(Protocol):
    """What a learner in plain Python has. Optional: `settings` and `semantics` as in `Learner`, and `greedy`.

    ``greedy(s, u)`` is the action that was learned to be best. Without it, that is the best of ``Trial.q[s, u]``.
    """

    name: str
    """What people type."""

    def begin(self, trial: Trial) -> None:
        """Prepare for a run, before its first step."""

    def act(self, s: int, u: int) -> int:
        """Return the action to take in a cell and a machine state."""

    def learn(self, move: Move) -> None:
        """Learn from a move."""


class Trial:
    """One run in progress, as a learner in plain Python sees it."""

    def __init__(self, learner: Any, problem: TabularProblem, reward: Array, config: LearnerConfig, q: Array) -> None:
        self.problem, self.config = problem, config
        self.q = q
        """Values by cell, machine state and action: ``q_init``, and 0 in terminals. What a run learned is read here."""
        self.alpha = self.epsilon = self.gamma = 0.0
        """The rates of the current step."""
        self._learner, self._reward, self._words, self._begun = learner, reward, (0, 0), False
        self._s = self._u = self._t = 0
        self._earned = 0.0

    def draw(self) -> int:
        """Return the next 64-bit number of the run's generator, xoroshiro128++."""
        one, two = self._words
        total, mixed = one + two & WORD, one ^ two
        self._words = (one << 49 | one >> 15) & WORD ^ mixed ^ mixed << 21 & WORD, (mixed << 28 | mixed >> 36) & WORD
        return (total << 17 | total >> 47) + one & WORD

    def random(self) -> float:
        """Return a number from 0 to below 1, by one draw."""
        return (self.draw() >> 11) / 2.0**53

    def choose(self, values: Sequence[float] | Array, epsilon: float | None = None) -> int:
        """Choose an action epsilon-greedily, ties broken uniformly, by one draw: as the learners of fastrm do."""
        number, known = self.draw(), list(values)
        best, candidates = max(known), list(range(len(known)))
        if number >> 32 >= math.floor((self.epsilon if epsilon is None else epsilon) * 2**32):
            candidates = [a for a in candidates if known[a] == best]
        return candidates[(number & HALF_WORD) * len(candidates) >> 32]

    def _enter(self, me: Any, setting: Setting) -> None:
        """Take over where the run is; let the learner prepare for it, once."""
        self._words = int(me["rng0"]), int(me["rng1"])
        self._s, self._u, self._t, self._earned = int(me["s"]), int(me["u"]), int(me["t"]), float(me["earned"])
        rule = setting.rule
        self.alpha, self.epsilon, self.gamma = float(rule.alpha), int(rule.explore_below) / 2**32, float(rule.gamma)
        if not self._begun:
            self._begun = True
            self._learner.begin(self)

    def _leave(self, me: Any) -> None:
        """Write back where the run is."""
        me["rng0"], me["rng1"] = self._words
        me["s"], me["u"], me["t"], me["earned"] = self._s, self._u, self._t, self._earned

    def _step(self, setting: Setting, state: State, i: int) -> None:
        """Make one step."""
        s, u, n_u, problem = self._s, self._u, setting.tables.n_u, self.problem
        a = self._action(self._learner.act(s, u))
        taken = problem.step(s, u, self._slide(setting, s, a))
        self._s, self._u, self._t, self._earned = taken.s, taken.u, self._t + 1, self._earned + taken.reward
        terminated = taken.u == n_u
        truncated = not terminated and self._t == setting.rule.limit
        rewards, successors = self._reward[taken.event, :n_u], setting.tables.delta[taken.event, :n_u]
        self._learner.learn(
            Move(s, u, a, float(rewards[u]), taken.s, taken.u, terminated, bool(truncated), rewards, successors)
        )
        if terminated or truncated:
            me, tasks = state.agents[i], setting.tasks
            _end_episode(me, self._t, self._earned, taken.outcome, tasks, state.log, i)
            starts = setting.tables.starts
            number = self.draw() if starts.size > 1 else 0
            self._s = int(starts[(number & HALF_WORD) * starts.size >> 32])
            self._u, self._t, self._earned = int(tasks[int(me["episodes"]) % tasks.size]["first_u"]), 0, 0.0

    def _action(self, a: object) -> int:
        """Return an action; raise ConfigError unless it is one."""
        if not isinstance(a, int | np.integer) or isinstance(a, bool) or not 0 <= a < self.problem.n_actions:
            raise ConfigError(
                f"learner {shown(self._learner.name)}: act returned {shown(a)}; it must be a whole number from 0 to "
                f"{self.problem.n_actions - 1}"
            )
        return int(a)

    def _slide(self, setting: Setting, s: int, a: int) -> int:
        """Return the move that an action turns into, by one draw where it may slip or has several outcomes."""
        if setting.chance is not None:
            number, above = self.draw(), setting.chance[s * self.problem.room + a]
            way = number >> 33
            bits = way if number & HALF_WORD < 2**31 else HALF_WORD - way
            return a * len(above) + int((above[:-1] <= bits).sum())
        if setting.slip is None:
            return a
        number, n_a = self.draw(), self.problem.n_actions
        turn = 1 if number & HALF_WORD < 2**31 else n_a - 1
        return (a + turn) % n_a if number >> 32 < setting.slip else a


class PlainPolicy:
    """The adapter of a learner that says what is best by `greedy`; what it learned cannot be put back."""

    per_state = True
    slowness = SLOWNESS

    def __init__(self, prototype: Any) -> None:
        self.prototype, self.name = prototype, prototype.name
        self.semantics: int = getattr(prototype, "semantics", 1)
        shared = [field.name for kind in (LearnerConfig, Profile) for field in fields(kind) if field.name not in COMMON]
        members = {name: getattr(prototype, name, None) for name in dir(prototype) if not name.startswith("_")}
        own = [
            k for k, v in members.items() if isinstance(v, bool | int | float | str) and k not in ("name", "semantics")
        ]
        if clash := [name for name in own if name in (*shared, *COMMON)]:
            raise ConfigError(
                f"learner {shown(self.name)}: its attribute {clash[0]} has the name of a setting; read "
                f"trial.config.{clash[0]}, or rename it"
            )
        self.settings: tuple[str, ...] = tuple(getattr(prototype, "settings", (*shared, *own)))

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values, and a trial with a copy of the learner for every run."""
        tables = problem.tables
        q = np.full((n, len(tables.next_s), tables.n_u + 1, problem.n_actions), float(config.q_init))
        q[:, :, tables.n_u] = 0.0
        return q, [Trial(copy.deepcopy(self.prototype), problem, reward, config, table) for table in q]

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Make the steps of one run after the other."""
        for i, trial in enumerate(state.own):
            me = state.agents[i]
            trial._enter(me, setting)
            for k in range(span.n_ticks):
                for _ in range(span.tick):
                    trial._step(setting, state, i)
                trial._leave(me)
                _record(me, state.log, span, k, i)

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return 1 for the action that run i has learned to be best, else 0."""
        trial, n_u = state.own[i], problem.tables.n_u
        q = np.zeros((len(problem.tables.next_s), n_u, problem.n_actions))
        for s, u in np.ndindex(q.shape[:2]):
            q[s, u, trial._action(trial._learner.greedy(s, u))] = 1.0
        return Values(q)

    def follow(self, problem: TabularProblem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Follow the best action of every cell and machine state."""
        length, outcome = rollout.follow(problem.tables, values.q, None, None, s, u, path)
        return int(length), int(outcome)


class PlainTable(PlainPolicy):
    """The adapter of a learner that keeps its values in `Trial.q`."""

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return run i's table without terminals."""
        return Values(state.q[i, :, : problem.tables.n_u].copy())

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with a table that was learned."""
        state.q[i, :, : problem.tables.n_u] = values.q


def adapt(prototype: Any) -> PlainPolicy:
    """Return a learner in plain Python as the registry keeps it."""
    return PlainPolicy(prototype) if hasattr(prototype, "greedy") else PlainTable(prototype)
