"""A map or a table crossed with machines, as look-up tables, and the facts about it that need no learning.

*Steps to go* are the fewest steps from a cell and machine state to a success, whatever the machine pays: a search on
the product of map and machine, so they lead around walls and past what must be avoided. Where nothing can succeed any
more, and in a failure, they count as the square of the longest path plus one: with rewards of minus the steps to go,
nothing that can be earned on the way makes up for that. Potentials are made of them.

Rewards exist as floats, for kernels, and *as written*, for exact answers: what a float holds is what was written,
except where a reward needs arithmetic on other than whole numbers, such as 0.1 * 3. These are evaluated again, in
rationals, when asked for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, aligned_full, freeze, read_only
from fastrm.checks import check_number
from fastrm.config import Profile, ProfileName
from fastrm.errors import ConfigError, MachineError, place, printable, shown
from fastrm.kernels.contracts import BLOCK, FAR, LIVE, MASK, N_ACTIONS, SUCCESS, Tables
from fastrm.kernels.exact import search
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    TO_GO,
    Edge,
    Expression,
    Feature,
    Number,
    as_written,
    evaluate_exactly,
    leaves,
    may_round,
)
from fastrm.problems.cells import CellProblem, mean_length
from fastrm.problems.events import (
    Events,
    Leaf,
    Part,
    TableEvaluator,
    check_features,
    check_names,
    evaluate_on_cells,
    find_events,
    lay_side_by_side,
    leaves_read,
    read_events,
    why_impossible,
)
from fastrm.problems.problem import Episode, Problem, parts_of, unsupported
from fastrm.problems.terrain import MapFeatures, MapLabels, Metric, Start, Terrain, survey
from fastrm.worlds import Cell, GridMap, TableWorld


def every_action(tables: Tables) -> Array:
    """Mark all actions of every pair, a bit each, [n_s, n_u]."""
    n_s, n_a = (tables.next_s if tables.chance is None else tables.chance).shape[:2]
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


def direct_actions(tables: Tables, distance: Array, any_end: bool = False) -> Array:
    """Mark the actions that begin shortest paths by some `distances`, a bit each, [n_s, n_u]."""
    mask = every_action(tables)
    search.direct_actions(tables, distance, any_end, mask)
    return mask


def pairs_within_reach(tables: Tables, mask: Array, machine: int) -> Array:
    """Return the pairs, as s * n_u + u, that marked actions lead to from the starts of a machine, these first."""
    seen, queue = np.empty(mask.size, dtype=np.uint8), np.empty(mask.size, dtype=np.int64)
    return queue[: search.reach(tables, mask, int(tables.first_u[machine]), seen, queue)]


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


def potentials(machines: Sequence[RewardMachine], terrain: Terrain, to_go: Sequence[Array]) -> Array:
    """Return Phi of every cell and state, float64 [n_s, n_u]. Some Phi are -c times `to_go`."""
    phi, first = np.zeros((len(terrain.cells), sum(len(machine.states) for machine in machines))), 0
    for i, machine in enumerate(machines):
        if machine.potential:
            phi[:, first : first + len(machine.states)] = 0.0 - machine.potential * to_go[i][:, : len(machine.states)]
        for one in machine.state_potentials:
            column = evaluate_on_cells(one.value, terrain)
            if not np.isfinite(column).all():
                problem = f"potential {one.state} is no finite number in some cell; change it so that it is"
                raise MachineError(f"{place(machine.source, one.line)}{problem}")
            phi[:, first + machine.states.index(one.state)] = column
        first += len(machine.states)
    return phi


class WrittenRewards:
    """What every event pays in every state, in rationals, potentials aside."""

    def __init__(self, problem: TabularProblem) -> None:
        self._plain, machines = problem.plain, problem.machines
        self._states: dict[int, tuple[TableEvaluator, list[Edge]]] = {}
        if not any(may_round(edge.reward) for machine in machines for edge in machine.edges):
            return
        events = read_events(problem.terrain, leaves_read(machines), problem.tables.event, problem.example)
        parts = zip(machines, steps_to_go(problem.steps_to_go, machines), strict=True)
        evaluators = [TableEvaluator(machine, events, problem.profile, to_go) for machine, to_go in parts]
        states = [(evaluator, edges) for evaluator in evaluators for edges in evaluator.edges_by_state()]
        self._states = {u: found for u, found in enumerate(states) if any(may_round(edge.reward) for edge in found[1])}

    def __call__(self, event: int, u: int) -> Fraction:
        """Return what an event pays in a state."""
        for edge in self._rounded.get(u, ()):
            if edge.is_open[event]:
                return edge.paid(event)
        return as_written(self._plain[event, u])

    @cached_property
    def rounding(self) -> Array | None:
        """By how much each float of `plain` is off, [n_e, n_cols], rounded up; None where none is."""
        off = np.zeros_like(self._plain)
        for u, edges in self._rounded.items():
            for edge in edges:
                where = np.flatnonzero(edge.is_open)
                _, example, group = np.unique(edge.read[:, where], axis=1, return_index=True, return_inverse=True)
                gaps = [abs(edge.paid(e) - Fraction(float(self._plain[e, u]))) for e in where[example].tolist()]
                off[where, u] = np.array([float(gap) for gap in gaps])[group.reshape(-1)]
        return off * (1 + 1e-9) if off.any() else None

    @cached_property
    def _rounded(self) -> dict[int, list[_RoundedEdge]]:
        """The edges of every state whose rewards may be rounded, each with the events on which it pays."""
        found: dict[int, list[_RoundedEdge]] = {}
        for u, (evaluator, edges) in self._states.items():
            paying = list(evaluator.open_edges(edges))
            ends = [edge for edge in edges if edge.target in evaluator.machine.terminals]
            if ends:  # falling off pays what the last of them pays
                paying.append((ends[-1], evaluator.gap))
            found[u] = [
                _RoundedEdge(edge.reward, evaluator.features(edge), is_open, self._plain[:, u])
                for edge, is_open in paying
                if may_round(edge.reward) and is_open.any()
            ]
        return found


class _RoundedEdge:
    """One reward that floats may not hold: what it reads on every event, and what it pays."""

    def __init__(self, reward: Expression, columns: Mapping[Leaf, Array], is_open: Array, floats: Array) -> None:
        self.reward, self.is_open, self.floats = reward, is_open, floats
        self.features = [leaf for leaf in dict.fromkeys(leaves(reward)) if isinstance(leaf, Feature)]
        self.read = np.array([columns[leaf] for leaf in self.features]).reshape(-1, is_open.size).astype(np.int64)
        self._known: dict[tuple[int, ...], Fraction] = {}

    def paid(self, event: int) -> Fraction:
        """Evaluate the reward; where it divides by what is 0 exactly, but not in floats, the float counts."""
        values = tuple(self.read[:, event].tolist())
        if values not in self._known:
            try:
                exact = evaluate_exactly(self.reward, dict(zip(self.features, values, strict=True)))
            except ZeroDivisionError:
                exact = as_written(self.floats[event])
            self._known[values] = exact
        return self._known[values]


class Step(NamedTuple):
    """What one move led to."""

    s: int
    """The cell reached."""
    u: int
    """The machine state reached, the number of states for every terminal."""
    event: int
    reward: float
    outcome: int

    @property
    def is_live(self) -> bool:
        """Whether the episode goes on."""
        return bool(self.outcome == LIVE)

    @property
    def is_success(self) -> bool:
        """Whether the move completed the task."""
        return bool(self.outcome == SUCCESS)


@dataclass(frozen=True, eq=False)
class TabularProblem(CellProblem):
    """One map crossed with one or more machines, ready for the kernels.

    `fastrm.compile` makes one; learners, solvers and environments take it. Cells are numbered, and so are *events*,
    classes of moves that no guard and no reward tells apart. In the shapes below n_s counts cells, n_e events, n_u
    machine states and n_a actions; n_cols is n_u with room to align rows.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> problem = fastrm.compile(grid, fastrm.task("a-b"))
    >>> problem.shortest, problem.states
    ((11,), ((0, 'u0'), (0, 'u1')))
    """

    ending: Array
    """int16 [n_e, n_u]: 0 while the task goes on, i + 1 in terminal i of the machine, -1 where no edge is open."""
    plain: Array
    """float64 [n_e, n_cols]: what the machines pay without their potentials."""
    example: Array
    """int64 [n_e]: a move of every event, as s * n_m + m, n_m being the moves of a cell."""
    potential: Array | None = None
    """float64 [n_s, n_cols]: Phi of every cell and state, None where no machine has one."""
    outcome_of: Array | None = None
    """int64 [n_s, n_a]: in `likely`, the move of the terrain that an action is; else None."""
    kind, is_quickly_solved = "tabular", True

    @property
    def columns(self) -> int:
        """How many machine states there are."""
        return int(self.tables.n_u)

    @property
    def sizes(self) -> list[tuple[str, object]]:
        """How large its machines are, in names and numbers."""
        return [("machine states", self.columns), ("events", len(self.tables.reward))]

    @property
    def refusal(self) -> str:
        """What to say where something needs another kind of problem."""
        return f"problem: {self.source} is a map or a table; this is for other worlds"

    def episode(self, task: int = 0, start: int | None = None) -> Episode:
        """Begin an episode, in a numbered cell or the (first) start."""
        return TabularEpisode(self, task, start)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, about: those of the tables, the numbered cells, and the steps to go."""
        arrays = (*self.tables, self.terrain.cells, self.terrain.next_s, self.plain, self.ending, self.potential)
        return 3 * sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) // 2

    @cached_property
    def steps_to_go(self) -> Array:
        """Fewest steps to a success, int32 [n_s, n_cols], `FAR` where there is no way."""
        return distances(self.tables)

    def from_start(self, cell: Cell) -> TabularProblem:
        r"""Return the problem whose episodes all begin in one of its starts, for answers about that start alone.

        >>> import fastrm
        >>> grid = fastrm.GridMap.parse("XXXXXXX\nXA A aX\nXXXXXXX")
        >>> problem = fastrm.compile(grid, fastrm.task("a"))
        >>> problem.shortest, [problem.from_start(cell).shortest for cell in problem.starts]
        ((3.0,), [(4,), (2,)])
        """
        if cell not in self.starts:
            raise ConfigError(f"start={shown(cell)}: no episode begins there; the starts are {shown(self.starts)}")
        k = self.starts.index(cell)
        return self.changed(tables=self.tables._replace(starts=self.tables.starts[k : k + 1]))

    @cached_property
    def written(self) -> WrittenRewards:
        """What the machines pay without their potentials, in rationals as written."""
        return WrittenRewards(self)

    def place_of(self, state: object) -> tuple[int, int]:
        """Return the numbers of a cell and a machine state, each given by number or by name."""
        cell, wanted = parts_of(state, "a cell and a machine state", (self.starts[0], self.states[0][1]))
        return self.number_of_any(cell), self.number_of_state(wanted)

    def number_of_state(self, wanted: object) -> int:
        """Return the number of a machine state, given by it, by a name that no other has, or by machine and name."""
        states = self.states
        names = [name for _, name in states]
        if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool) and 0 <= wanted < len(states):
            return int(wanted)
        if isinstance(wanted, str) and names.count(wanted) == 1:
            return names.index(wanted)
        if isinstance(wanted, tuple) and wanted in states:
            return states.index(wanted)
        raise ConfigError(
            f"state={shown(wanted)}: must be a whole number from 0 to {len(states) - 1}, or one of "
            f"{list_states(states)}"
        )

    @cached_property
    def likely(self) -> TabularProblem:
        """The problem in which every action has its likeliest outcome; itself where actions have one outcome."""
        chance, tables = self.tables.chance, self.tables
        if chance is None:
            return self
        likeliest = np.arange(self.n_actions) * chance.shape[2] + chance.argmax(axis=2)  # the first of several
        next_s, event = (np.take_along_axis(table, likeliest, axis=1) for table in (tables.next_s, tables.event))
        moves = _pack_moves(next_s, event, 1)
        certain = tables._replace(next_s=read_only(next_s), event=read_only(event), moves=read_only(moves), chance=None)
        return replace(self, tables=certain, potential=None, outcome_of=likeliest)  # rewards have the potential already

    def step(self, s: int, u: int, a: int) -> Step:
        """Make move `a` from cell number `s` in state column `u`, by the rule of the world in plain Python.

        A move is an action, or in a world by chance the outcome of one that `slide` draws.
        """
        tables = self.tables
        e = int(tables.event[s, a])
        outcome = int(tables.outcome[e, u])
        return Step(int(tables.next_s[s, a]), int(tables.delta[e, u]), e, float(tables.reward[e, u]), outcome)

    def at(self, gamma: float) -> TabularProblem:
        """Return the problem with ``gamma Phi(s', u') - Phi(s, u)`` paid at this discount."""
        if self.potential is None or gamma == self.gamma:
            return self
        tables, phi, reward = self.tables, self.potential, aligned_full(self.plain.shape)
        here, there = self.example // tables.next_s.shape[1], tables.next_s.ravel()[self.example]  # pairs of cells
        ahead = np.take_along_axis(phi[there], tables.delta.astype(np.int64), axis=1)
        reward[...] = self.plain + (gamma * ahead - phi[here])
        reward[:, tables.n_u :] = 0.0
        reward.flags.writeable = False
        return self.changed(tables=tables._replace(reward=reward), gamma=gamma)

    @cached_property
    def shortest(self) -> tuple[float, ...]:
        """Length of a shortest path that completes the task of each machine; of several starts the mean."""
        steps = self.steps_to_go[self.tables.starts][:, self.tables.first_u]
        return tuple(mean_length(lengths) for lengths in steps.T.tolist())

    def changed(self, **fields: Any) -> TabularProblem:
        """Return the problem with other rewards, potentials or slip, none of which changes the steps to go."""
        other = replace(self, **fields)
        other.__dict__["steps_to_go"] = self.steps_to_go
        return other

    def __repr__(self) -> str:
        size = f"{len(self.terrain.cells)} cells, {self.tables.n_u} machine states, {len(self.tables.reward)} events"
        slip = f", slip {self.slip:g}" if self.slip else ""
        return f"<Problem {self.names()} on {self.source}: {size}{slip}>"


class TabularEpisode(Episode):
    """An episode on numbered cells; it begins in cell `start`, by default the (first) start of the problem."""

    def __init__(self, problem: TabularProblem, task: int = 0, start: int | None = None) -> None:
        self.problem: TabularProblem = problem
        self.task, self.s, self.u = task, problem.start if start is None else start, int(problem.tables.first_u[task])
        self.labels, self.reward, self.event, self.steps = (), 0.0, -1, 0
        self.terminated = self.success = False
        self.end = ""

    def step(self, action: int) -> None:
        """Move; read the label of the cell reached; let the machine pay and change its state."""
        chosen = self.problem.outcome_of
        self.labels = self.problem.terrain.labels(self.s, action if chosen is None else int(chosen[self.s, action]))
        taken, u = self.problem.step(self.s, self.u, action), self.u
        self.s, self.u, self.event, self.reward = taken.s, taken.u, taken.event, taken.reward
        self.terminated, self.success, self.steps = not taken.is_live, taken.is_success, self.steps + 1
        self.end = self._terminal(taken.event, u) if self.terminated else ""

    def _terminal(self, event: int, u: int) -> str:
        """Return the name of the terminal that an event leads to, a word for moves that no edge is open for."""
        number = int(self.problem.ending[event, u])
        return self.problem.machines[self.problem.states[u][0]].terminals[number - 1] if number > 0 else "(no edge)"

    @property
    def place(self) -> tuple[int, int]:
        """Numbers of the cell and of the machine's state."""
        return self.s, self.u

    @property
    def cell(self) -> Cell:
        """Row and column of the agent, or the number of its cell where there are none."""
        return self.problem.terrain.cells_of([self.s])[0]

    @property
    def observation(self) -> tuple[float, ...]:
        """Row and column of the agent, or the number of its cell where there are none."""
        return tuple(self.problem.terrain.cells[self.s].tolist())

    @property
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""
        return "(terminal)" if self.u == self.problem.tables.n_u else self.problem.states[self.u][1]


def list_states(states: Sequence[tuple[int, str]]) -> str:
    """List machine states by name, those of several machines by machine and name; of many the first."""
    names = [name for _, name in states]
    told = [name if names.count(name) == 1 else repr(state) for state, name in zip(states[:12], names, strict=False)]
    return printable(", ".join([*told, "..."] if len(states) > 12 else told))


def check_tabular(problem: object) -> TabularProblem:
    """Return a problem that has cells and machine states; raise ConfigError for others."""
    if not isinstance(problem, TabularProblem):
        raise unsupported(problem)
    return problem


class Moment(NamedTuple):
    """One step of an episode."""

    cell: Cell
    state: int
    """Column of the machine state, the number of states when the episode is over."""
    label: str
    paid: float
    """Sum of the rewards so far."""
    success: bool = False
    """Whether this step completed the task."""
    end: str = ""
    """Name of the terminal state that this step led to."""


def retrace(
    problem: TabularProblem, path: Sequence[Cell], machine: int = 0, actions: Sequence[int] | None = None
) -> Iterator[Moment]:
    """Follow cells that an agent visited, and tell what its machine did meanwhile.

    Where several actions lead to a cell and mean different things, `actions` says which were taken; without them
    `find_actions` tells some that fit.
    """
    problem = check_tabular(problem) if actions is None else check_tabular(problem).likely
    paid, episode = 0.0, TabularEpisode(problem, machine, problem.number_of(path[0]))
    yield Moment(path[0], episode.u, "", 0.0)
    for action in find_actions(problem, path, machine) if actions is None else actions:
        episode.step(action)
        paid += episode.reward
        yield Moment(episode.cell, episode.u, episode.label, paid, episode.success, episode.end)
        if episode.terminated:
            return


_Way = dict[tuple[int, int], tuple[tuple[int, int], int]]
"""Of every outcome and machine state that one step can lead to: those before it, and the action."""


def find_actions(problem: TabularProblem, path: Sequence[Cell], machine: int = 0) -> list[int]:
    """Return actions that lead along cells.

    Where several lead to the same cell, the episode goes on until the path ends, and is over there if it can be: the
    task complete rather than failed.
    """
    check_tabular(problem)
    s, reached = problem.number_of(path[0]), [int(problem.tables.first_u[machine])]
    ways: list[_Way] = []
    for here, there in itertools.pairwise(path):
        s_next = problem.number_of(there)
        actions = np.flatnonzero(problem.tables.next_s[s] == s_next).tolist()
        if not actions:
            raise ConfigError(f"no move leads from {here} to {there}")
        way: _Way = {}
        for u, a in itertools.product(reached, actions):
            taken = problem.step(s, u, a)
            way.setdefault((taken.outcome, taken.u), ((LIVE, u), a))
        ways.append(way)
        s, reached = s_next, [u for outcome, u in way if outcome == LIVE]
        if not reached:
            break
    chosen: list[int] = []
    last = min(ways[-1], key=lambda key: (key[0] != SUCCESS, key[0] == LIVE)) if ways else (LIVE, 0)
    for way in reversed(ways):
        last, action = way[last]
        chosen.append(action)
    return chosen[::-1]


def slide(problem: Problem, cells: Array | int, actions: Array, random: np.random.Generator) -> Array:
    """Return the moves that actions in some cells turn into: one by chance, or sideways where the problem slips."""
    if isinstance(problem, CellProblem) and problem.thresholds is not None:
        above = problem.thresholds[cells, actions]
        drawn = random.integers(2**32, size=actions.shape, dtype=np.uint64)
        outcomes: Array = actions * above.shape[-1] + (drawn[..., None] >= above[..., :-1]).sum(axis=-1)
        return outcomes
    if not problem.slip:
        return actions
    turns = np.where(random.random(actions.shape) < 0.5, 1, problem.n_actions - 1)
    turned: Array = (actions + np.where(random.random(actions.shape) < problem.slip, turns, 0)) % problem.n_actions
    return turned


def compile_tables(
    grid: GridMap | TableWorld,
    machines: tuple[RewardMachine, ...],
    profile: ProfileName | str | Profile = "clean",
    metric: Metric = "manhattan",
    slip: float = 0.0,
    gamma: float = 0.9,
    start: Start = None,
    features: MapFeatures | None = None,
    labels: MapLabels | None = None,
) -> TabularProblem:
    """Compile a map or a table; see `fastrm.compile`."""
    profile = profile if isinstance(profile, Profile) else Profile.named(profile)
    check_number("slip", slip, 0, 1)
    check_number("gamma", gamma, 0, 1)
    return compile_on(survey(grid, metric, start, features, labels), machines, profile, float(slip), float(gamma))


def compile_on(
    terrain: Terrain, machines: tuple[RewardMachine, ...], profile: Profile, slip: float = 0.0, gamma: float = 0.9
) -> TabularProblem:
    """Compile machines on a map or a table that is surveyed."""
    if slip and terrain.chance is not None:
        raise ConfigError(f"slip={slip:g}: {terrain.source} gives the probabilities of its moves; leave slip out")
    check_features(machines, terrain)
    wanted, guided = leaves_read(machines), any(m.has_potential for m in machines)
    searched = TO_GO in wanted or any(m.potential for m in machines)
    to_go = _steps_to_go(terrain, machines, profile) if searched else []
    phi = potentials(machines, terrain, to_go) if guided else np.zeros((len(terrain.cells), 0))
    counted = to_go if TO_GO in wanted else []
    events = find_events(terrain, wanted, after=np.hstack([phi, *counted]).T, before=phi.T)
    parts = [TableEvaluator(m, events, profile, to_go[i] if to_go else None).run() for i, m in enumerate(machines)]
    problem = assemble(terrain, machines, profile, events, parts).changed(slip=slip)
    if guided:
        phi = np.pad(phi, ((0, 0), (0, problem.plain.shape[1] - phi.shape[1])))
        problem = problem.changed(potential=phi, gamma=math.nan).at(gamma)
    check_names(machines, terrain)
    return problem


def _steps_to_go(terrain: Terrain, machines: tuple[RewardMachine, ...], profile: Profile) -> list[Array]:
    """Find the steps to go, which do not depend on rewards, from machines that pay nothing."""
    free = tuple(replace(m, edges=tuple(replace(e, reward=Number(0.0)) for e in m.edges)) for m in machines)
    events = find_events(terrain, leaves_read(free))
    parts = [TableEvaluator(m, events, profile).run() for m in free]
    return steps_to_go(assemble(terrain, free, profile, events, parts).steps_to_go, free)


def assemble(
    terrain: Terrain, machines: tuple[RewardMachine, ...], profile: Profile, events: Events, parts: list[Part]
) -> TabularProblem:
    """Lay the machines side by side, quiet events first, and find a shortest path for each."""
    n_u = sum(len(machine.states) for machine in machines)
    whole = lay_side_by_side(machines, parts, events.count, (n_u + BLOCK) // BLOCK * BLOCK)
    order = np.argsort(~whole.quiet, kind="stable")
    rank = np.empty(events.count, dtype=np.uint32)
    rank[order] = np.arange(events.count, dtype=np.uint32)
    ending = whole.ending[:, :n_u][order]
    partial: Array = np.logical_not(whole.image[:, :n_u].all(axis=1)).astype(np.uint8)
    event = rank[events.of_move]
    tables = Tables(
        next_s=np.ascontiguousarray(terrain.next_s),
        event=event,
        moves=_pack_moves(terrain.next_s, event, terrain.outcomes),
        delta=whole.delta[order],
        outcome=whole.outcome[order],
        reward=np.take(whole.reward, order, axis=0, out=aligned_full(whole.reward.shape)),
        partial=partial[order],
        image=whole.image[order],
        first_u=np.array(whole.first_u, dtype=np.uint32),
        own_score=np.array([machine.score == "own" for machine in machines], dtype=np.uint8),
        starts=np.ascontiguousarray(terrain.starts),
        n_u=n_u,
        n_quiet=int(whole.quiet.sum()),
        chance=terrain.chance,
    )
    freeze((*tables, ending))
    problem = TabularProblem(terrain, machines, profile, tables, ending, tables.reward, events.example[order])
    for i, (machine, u) in enumerate(zip(machines, whole.first_u, strict=True)):
        far = np.flatnonzero(problem.steps_to_go[terrain.starts, u] >= FAR)
        if far.size == terrain.starts.size:
            searched = len(pairs_within_reach(tables, every_action(tables), i))
            raise MachineError(why_impossible(machine, terrain, searched))
        if far.size:
            cell = terrain.cells_of(terrain.starts[far[:1]])[0]
            raise MachineError(
                f"{machine.source}: the task cannot be completed from {cell}, one of the {terrain.starts.size} starts "
                f"on {terrain.source}; name starts from which it can"
            )
    return problem


def _pack_moves(next_s: Array, event: Array, outcomes: int) -> Array:
    """Return where moves lead and their events in one word each, with room for a multiple of four actions in a cell."""
    n_s, n_m = next_s.shape
    room = (n_m // outcomes + N_ACTIONS - 1) // N_ACTIONS * N_ACTIONS
    moves = np.zeros((n_s, room * outcomes), dtype=np.uint64)
    moves[:, :n_m] = event.astype(np.uint64) << np.uint64(32) | next_s * np.uint64(room)
    return moves.reshape(-1)
