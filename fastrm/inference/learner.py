"""Learning the machine while acting: CRM by a guess, which is inferred again from the traces that contradict it.

The first guess has one state and pays nothing. Every move updates all states of the guess by its own rewards. When a
move contradicts the guess, the trace of the episode so far joins the prefix tree; the next guess is what an engine
makes of the tree, and its values are the best ones over the moves made so far, moves never made being worth
``q_init``. With probability ``walk`` an episode heads for labels met before instead of following the policy. What a
run ends with is the plan by its last guess, moves never made being worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, aligned_full, freeze, read_only
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError
from fastrm.inference.engines import find_smallest, merge_states
from fastrm.inference.tree import Tree
from fastrm.inference.verdict import best_values, evaluate, find_difference, lost_by
from fastrm.kernels.contracts import BLOCK, LEARNING, LIVE, MASK, Guess, Mealy, Notes, Setting, Span, State, Trails
from fastrm.kernels.inference import plan
from fastrm.kernels.learners import learn
from fastrm.learners.registry import Values
from fastrm.problems import LabelledWorld, TabularProblem, by_labels

TRACE_ROOM = 256


class Hypothesis(NamedTuple):
    """One machine that a run believed in."""

    steps: int
    """Steps made when it was inferred."""
    episodes: int
    """Episodes ended by then."""
    states: int
    """Its states."""
    nodes: int
    """Nodes of the prefix tree that it was inferred from."""
    equivalent: bool
    """Whether it was right on the map."""
    regret: float
    """What acting best for it would have lost; see `fastrm.inference.Equivalence`."""

    @classmethod
    def read(cls, row: Sequence[float]) -> Hypothesis:
        """Return a row of numbers, as `Run.more` keeps it, as a hypothesis."""
        steps, episodes, states, nodes, equivalent, regret = row
        return cls(int(steps), int(episodes), int(states), int(nodes), bool(equivalent), regret)


@dataclass(frozen=True)
class Scenery:
    """What all runs of a batch read: the problem by labels."""

    world: LabelledWorld
    trails: Trails
    best: float
    """Discounted reward of the best policy, the mean over starts."""

    def judge(self, machine: Mealy, gamma: float) -> tuple[bool, float]:
        """Return whether a machine is right on the map, and its regret; the learner does not see this."""
        is_right = find_difference(self.world.tables, self.world.machines[0], machine)[0] is None
        return is_right, 0.0 if is_right else lost_by(self.best, evaluate(self.world, machine, gamma))


@dataclass
class Student:
    """What one run has guessed, remembered and learned so far."""

    scenery: Scenery
    config: LearnerConfig
    room: int
    tree: Tree
    machine: Mealy
    guess: Guess
    notes: Notes
    q: Array
    engine: Callable[[Tree, int], tuple[Mealy, bool]]
    proven: bool = True
    """Whether no machine of fewer states explains the traces."""
    log: list[Hypothesis] = field(default_factory=list)

    @classmethod
    def begin(cls, problem: TabularProblem, scenery: Scenery, config: LearnerConfig, engine: Any) -> Student:
        """Return a run that believes in a machine of one state that pays nothing."""
        n_l, n_s = scenery.world.on_map, len(problem.tables.next_s)
        machine = Mealy(*(read_only(np.zeros((n_l, 1), dtype=np.uint32)) for _ in range(2)))
        notes = Notes(
            at=np.zeros(1, dtype=LEARNING),
            seen=np.zeros((n_s, problem.room), dtype=np.uint8),
            met=np.zeros(n_l, dtype=np.uint32),
            is_met=np.zeros(n_l, dtype=np.uint8),
            toward=np.zeros((n_l, n_s), dtype=MASK),
            labels=np.zeros(TRACE_ROOM, dtype=np.uint32),
            outputs=np.zeros(TRACE_ROOM, dtype=np.uint32),
        )
        tree = Tree(n_l, scenery.world.tables.end)
        guess = _lay_out(scenery, machine)
        student = cls(scenery, config, problem.room, tree, machine, guess, notes, np.empty(0), engine)
        student._believe(machine, 0)
        student.q[:, : problem.n_actions, :1] = float(config.q_init)
        return student

    def advance(self, setting: Setting, state: State, i: int, steps: int) -> None:
        """Make some steps of run i."""
        left = steps
        while left:
            made, why = learn.act(
                setting,
                self.scenery.trails,
                self.guess,
                state.agents,
                state.log,
                i,
                self.notes,
                self.q.reshape(-1),
                left,
            )
            left -= made
            if why == learn.FULL:
                twice = (np.concatenate([array, np.zeros_like(array)]) for array in self.notes[-2:])
                self.notes = self.notes._replace(**dict(zip(("labels", "outputs"), twice, strict=True)))
            elif why != learn.DONE:
                if why == learn.WRONG:
                    self._revise(int(state.agents["episodes"][i]))
                self._look_for_ways()

    def _revise(self, episodes: int) -> None:
        """Infer the next machine from all traces that contradicted one, and plan by it."""
        at = self.notes.at[0]
        labels, outputs = (array[: int(at["n"])] for array in self.notes[-2:])
        if self.tree.add(labels, outputs) < len(labels):
            # episodes of one machine never contradict each other, so these are not the machine's
            raise ConfigError(
                "warm_start: its traces are of another problem, which pays otherwise after the same labels; begin with "
                "a run on this problem"
            )
        machine, self.proven = self.engine(self.tree, self.config.max_states)
        at["v"] = 0
        for x in labels.tolist():
            at["v"] = machine.delta[x, int(at["v"])]
        self._believe(machine, episodes)
        self._plan()

    def _plan(self) -> None:
        """Overwrite the values with the best ones over the moves made."""
        tables, seen = self.scenery.world.tables, read_only(self.notes.seen)
        value = np.empty((len(tables.next_s), self.machine.delta.shape[1]))
        gamma, unseen = float(self.config.gamma), float(self.config.q_init)
        plan.solve(tables, self.machine, seen, unseen, gamma, value)
        plan.fill(tables, self.machine, seen, unseen, gamma, value, self.q)

    def _believe(self, machine: Mealy, episodes: int) -> None:
        """Take over a machine, with a table for values by it."""
        verdict, steps = self.scenery.judge(machine, float(self.config.gamma)), int(self.notes.at[0]["steps"])
        self.log.append(Hypothesis(steps, episodes, machine.delta.shape[1], int(self.tree.size), *verdict))
        self.machine, self.guess = machine, _lay_out(self.scenery, machine)
        n_s, n_a = self.scenery.world.tables.next_s.shape
        self.q = aligned_full((n_s, self.room, self.guess.n_cols))
        self.q[:, n_a:] = -np.inf

    def _look_for_ways(self) -> None:
        """Bring the ways to labels up to date, if a move was made for the first time since."""
        at = self.notes.at[0]
        at["episodes"], is_known, at["known"] = 0, at["known"] == at["n_seen"], at["n_seen"]
        if self.config.walk and not is_known:
            n_s = len(self.notes.seen)
            scratch = np.empty(n_s, dtype=np.int32), np.empty(n_s, dtype=np.int64)
            tables = self.scenery.world.tables
            learn.compass(tables, self.scenery.trails, read_only(self.notes.seen), self.notes.toward, *scratch)

    def policy(self) -> Array:
        """Return the plan by the last guess over the moves made, [cell, state, action]."""
        tables, seen = self.scenery.world.tables, read_only(self.notes.seen)
        return best_values(tables, self.machine, seen, 0.0, float(self.config.gamma))

    def write(self) -> dict[str, Array]:
        """Return what is believed and remembered, as arrays of whole numbers."""
        tree, n_a = self.tree, self.scenery.world.tables.next_s.shape[1]
        nodes = (array[: int(tree.size)].astype(np.int32).astype(np.int64) for array in (tree.child, tree.output))
        return {
            **{name: table.astype(np.int64) for name, table in self.machine._asdict().items()},
            **dict(zip(("child", "answer"), nodes, strict=True)),
            "seen": self.notes.seen[:, :n_a].astype(np.int64),
        }

    def read(self, more: Mapping[str, Array]) -> None:
        """Take over what another run believed and remembered.

        Raises
        ------
        ConfigError
            Unless these are a machine, a tree and moves of this problem.
        """
        world, tree = self.scenery.world, self.tree
        (n_s, n_a), n_l, n_o = world.tables.next_s.shape, world.on_map, len(world.outputs)
        delta, output, child, answer, seen = (more[key] for key in ("delta", "output", "child", "answer", "seen"))
        n_v, size = np.shape(delta)[-1] if np.ndim(delta) else 0, len(child) if np.ndim(child) else 0
        _check("delta", delta, (n_l, n_v), 0, n_v - 1)
        _check("output", output, (n_l, n_v), 0, n_o - 1)
        _check("child", child, (size, n_l), -1, size - 1)
        _check("answer", answer, (size, n_l), -1, n_o - 1)
        _check("seen", seen, (n_s, n_a), 0, 1)
        n_log = len(more["log"]) if np.ndim(more["log"]) else 0
        _check("log", more["log"], (n_log, len(Hypothesis._fields)), 0, 2**53)
        _check("proven", more["proven"], (), 0, 1)
        if ((child >= 0) & ((child <= np.arange(size)[:, None]) | (answer < 0))).any() or n_v > self.config.max_states:
            raise ConfigError("warm_start: child: is no tree of traces")
        tree.size, tree.child, tree.output = size, child.astype(np.uint32), answer.astype(np.uint32)
        at, notes = self.notes.at[0], self.notes
        notes.seen[:, :n_a] = seen
        notes.is_met[:] = 0
        notes.is_met[np.unique(world.tables.label[seen > 0])] = 1
        notes.is_met[0] = 0
        met = np.flatnonzero(notes.is_met)
        notes.met[: len(met)] = met
        at["n_met"], at["n_seen"], at["steps"] = len(met), seen.sum(), int(more["log"][-1][0])
        self._believe(machine_of(more), 0)
        self.log = [Hypothesis.read(row) for row in more["log"].tolist()]
        self.proven = bool(more["proven"])
        self._plan()
        self._look_for_ways()


def _check(name: str, array: Array, shape: tuple[int, ...], low: float, high: float) -> None:
    """Raise ConfigError unless `array` has this shape and numbers in this range."""
    is_shaped = np.shape(array) == shape and 0 not in shape and np.asarray(array).dtype.kind in "biuf"
    if not is_shaped or not ((array >= low) & (array <= high)).all():
        raise ConfigError(f"warm_start: {name}: must be {list(shape)} numbers from {low} to {high:g}")


def _lay_out(scenery: Scenery, machine: Mealy) -> Guess:
    """Return a machine as CRM learns by it."""
    world, (n_l, n_v) = scenery.world, machine.delta.shape
    n_cols = (n_v + BLOCK) // BLOCK * BLOCK
    delta, output = np.full((2, n_l, n_cols), n_v, dtype=np.uint32)
    output[:, n_v:], output[:, :n_v] = 0, machine.output
    delta[:, :n_v] = np.where(world.tables.end[machine.output] == LIVE, machine.delta, n_v)
    reward = aligned_full((n_l, n_cols))
    reward[:, :n_v] = world.tables.reward[machine.output]
    is_quiet = not scenery.trails.keeps_all and _is_quiet(machine)
    guess = Guess(
        delta.reshape(-1), output.reshape(-1), reward.reshape(-1), np.zeros(1, np.uint8), n_v, n_cols, is_quiet
    )
    freeze(guess)
    return guess


def _is_quiet(machine: Mealy) -> bool:
    """Return whether moves without a label do nothing."""
    return not machine.output[0].any() and bool((machine.delta[0] == np.arange(machine.delta.shape[1])).all())


def set_scene(problem: TabularProblem, config: LearnerConfig) -> Scenery:
    """Return the problem by labels, as kernels and engines read it.

    Raises
    ------
    ConfigError
        When moves without a label count, and traces leave them out.
    """
    world = by_labels(problem, what="learn")
    truth, tables = world.machines[0], world.tables
    if config.compress and not _is_quiet(truth):
        raise ConfigError(
            f"learn: {problem.names()}: moves without a label pay or change the machine; give compress=False"
        )
    (n_s, n_a), room = tables.next_s.shape, problem.room
    moves = np.zeros((n_s, room), dtype=np.uint64)
    moves[:, :n_a] = tables.label.astype(np.uint64) << np.uint64(32) | tables.next_s * np.uint64(room)
    into = np.argsort(tables.next_s.reshape(-1), kind="stable")
    first_into = np.searchsorted(tables.next_s.reshape(-1)[into], np.arange(n_s + 1))
    trails = Trails(
        moves=moves.reshape(-1),
        reward=tables.reward,
        end=tables.end,
        delta=truth.delta.reshape(-1),
        output=truth.output.reshape(-1),
        n_u=truth.delta.shape[1],
        first_into=first_into.astype(np.int64),
        into=into.astype(np.int64),
        keeps_all=not config.compress,
        walk_below=np.uint64(int(config.walk * 2**32)),
    )
    freeze(trails)
    return Scenery(world, trails, evaluate(world, truth, float(config.gamma)))


class LearnMerge:
    """Learns the machine by merging states."""

    name = "learn-merge"
    semantics = 1
    per_state = False
    kinds = ("boolean",)
    """Kinds of machine that it learns, and none that is shaped."""
    settings = ("alpha", "q_init", "walk", "compress", "max_states")
    any_size = True
    """What it learned may be of any size: a warm start checks more than shapes."""
    engine = staticmethod(merge_states)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return a student for every run; what they learn grows with their machines."""
        if reward is not problem.tables.reward:
            raise ConfigError(f"{self.name}: learns from what the machine pays, not from rewards that could be shaped")
        scenery = set_scene(problem, config)
        return np.empty((n, 0)), [Student.begin(problem, scenery, config, self.engine) for _ in range(n)]

    def grown_bytes(self, problem: TabularProblem, config: LearnerConfig, steps: int) -> int:
        """Return the bytes that a run takes, about, with a machine of sixteen states."""
        return int(8 * len(problem.tables.next_s) * problem.room * 5 * BLOCK)

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Advance one run after the other."""
        for i, student in enumerate(state.own):
            for k in range(span.n_ticks):
                student.advance(setting, state, i, span.tick)
                learn.note(state.agents, state.log, span, k, i)

    def values(self, problem: TabularProblem, state: State, i: int) -> Values:
        """Return the plan of run i, and what it believes and remembers.

        ``delta`` and ``output`` are its machine, by label and state; ``child`` and ``answer`` the prefix tree of its
        traces, -1 where it ends; ``seen`` marks the moves made. ``log`` has a row per `Hypothesis`; ``proven`` is 1
        where the machine is known to have the fewest states.
        """
        student: Student = state.own[i]
        log = np.array([[float(x) for x in row] for row in student.log]).reshape(-1, len(Hypothesis._fields))
        return Values(student.policy(), student.write() | {"log": log, "proven": np.array(int(student.proven))})

    def put(self, problem: TabularProblem, state: State, i: int, values: Values) -> None:
        """Begin with a machine, its traces and the moves that another run made; its log goes on."""
        state.own[i].read(values.more)

    def actor(self, problem: TabularProblem, run: Any) -> GuessActor:
        """Return the greedy policy of a run."""
        return GuessActor(problem, run.q, run.more)

    def follow(self, problem: TabularProblem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Follow the plan, the machine believed in reading the labels."""
        world = by_labels(problem)
        machine = machine_of(values.more)
        length, end, _ = plan.follow(world.tables, world.machines[0], machine, values.q, 0.0, np.uint64(s), path)
        return int(length), int(end)


class LearnSmallest(LearnMerge):
    """Learns the machine by asking a solver for the smallest one; needs the extra ``sat``."""

    name = "learn-smallest"
    engine = staticmethod(find_smallest)


def machine_of(more: Mapping[str, Array]) -> Mealy:
    """Return the machine that a run believes in, by label."""
    return Mealy(*(read_only(np.ascontiguousarray(more[name], dtype=np.uint32)) for name in ("delta", "output")))


class GuessActor:
    """The greedy policy of a run: the plan in the state of the machine believed in, which reads labels on the way.

    `memory` keeps the cell, the state and the move before. Asked first in the middle of an episode, it begins in the
    state that goes with the true machine's on some walk.
    """

    def __init__(self, problem: TabularProblem, q: Array, more: Mapping[str, Array]) -> None:
        self.world, self.machine, self.q = by_labels(problem), machine_of(more), q

    def __call__(self, place: tuple[int, ...], memory: dict[str, Any]) -> Array:
        """Return the values of all actions in a cell, the first time with a state of the true machine."""
        s = place[0]
        if "v" not in memory:
            memory["v"] = self._state_with(place[1])
        else:
            memory["v"] = int(self.machine.delta[self._label(memory, s), memory["v"]])
        values: Array = self.q[s, memory["v"]]
        memory |= {"s": s, "a": values.size - 1 - int(values[::-1].argmax())}
        return values

    def _label(self, memory: dict[str, Any], s: int) -> int:
        """Return the label of the move that led to a cell: that of the best action, if it leads there."""
        tables, before = self.world.tables, memory["s"]
        ways = np.flatnonzero(tables.next_s[before] == s)
        return int(tables.label[before, memory["a"] if memory["a"] in ways else ways[0]])

    def _state_with(self, u: int) -> int:
        """Return the state of the machine believed in when the true one is in state u, the first that is found."""
        truth, end = self.world.machines[0], self.world.tables.end
        order = [(0, 0)]
        for u_true, v in order:  # grows in the loop
            if u_true == u:
                return v
            for x in range(self.world.on_map):
                if end[truth.output[x, u_true]] == LIVE:
                    pair = int(truth.delta[x, u_true]), int(self.machine.delta[x, v])
                    if pair not in order:
                        order.append(pair)
        return 0
