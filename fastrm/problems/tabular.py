"""Steps to go: the fewest steps from every cell and machine state to a success, whatever a machine pays.

They are found on the product of map and machine, so they lead through all that is left of a task, around walls and past
what must be avoided, and they do not depend on how distances are measured. Where nothing can succeed any more, and in a
failure, they count as the square of the longest way plus one: with rewards of minus the steps to go, nothing that can
be earned on the way makes up for that.

Rewards as they are written: rationals from their expressions, where a float is not what was meant.

What floats hold is printed as it was written, but for rewards that need arithmetic on other than whole numbers, such as
0.1 * 3. These are evaluated again, in rationals, where somebody asks for them.

A problem: one map crossed with one or more machines, and the facts about it that need no learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import Profile
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import FAR, LIVE, MASK, SUCCESS, Tables
from fastrm.kernels.exact import search
from fastrm.machines import RewardMachine
from fastrm.machines.language import (
    MAX_STATES,
    Agenda,
    Edge,
    Expression,
    Feature,
    as_written,
    evaluate_exactly,
    leaves,
    may_round,
)
from fastrm.problems.agenda import MOST_TOURED, Tour, find_tour
from fastrm.problems.compatibility import leaves_read
from fastrm.problems.events import Evaluator, Leaf, read_events
from fastrm.problems.terrain import Terrain
from fastrm.problems.water import WaterProblem
from fastrm.worlds import Cell, GridMap


def every_action(tables: Tables) -> Array:
    """Mark all actions of every pair, a bit each, [n_s, n_u]."""
    n_s, n_a = tables.next_s.shape
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


def potentials(machines: Sequence[RewardMachine], to_go: Sequence[Array], n_cols: int) -> Array:
    """Return Phi = -c times the steps to go of every cell and state, float64 [n_s, n_cols]; 0 at every end."""
    phi, first = np.zeros((len(to_go[0]), n_cols)), 0
    for machine, steps in zip(machines, to_go, strict=True):
        n = len(machine.states)
        phi[:, first : first + n] = -(machine.potential * steps[:, :n]) + 0.0
        first += n
    return phi


def pay_potential(plain: Array, phi: Array, tables: Tables, example: Array, gamma: float, out: Array) -> None:
    """Write rewards plus ``gamma Phi(s', u') - Phi(s, u)`` into `out`; events are moves between two cells."""
    here, there = example // tables.next_s.shape[1], tables.next_s.ravel()[example]
    out[...] = plain + (gamma * np.take_along_axis(phi[there], tables.delta.astype(np.int64), axis=1) - phi[here])
    out[:, tables.n_u :] = 0.0


class WrittenRewards:
    """What every event pays in every state, in rationals, potentials aside."""

    def __init__(
        self,
        machines: Sequence[RewardMachine],
        terrain: Terrain,
        profile: Profile,
        tables: Tables,
        plain: Array,
        example: Array,
        steps: Array,
    ) -> None:
        """`steps` are the steps to go of every pair; the rest is as in a `Problem`."""
        self._plain = plain
        self._states: dict[int, tuple[Evaluator, list[Edge]]] = {}
        if not any(may_round(edge.reward) for machine in machines for edge in machine.edges):
            return
        events = read_events(terrain, leaves_read(machines), tables.event, example)
        first = 0
        for machine, to_go in zip(machines, steps_to_go(steps, machines), strict=True):
            evaluator = Evaluator(machine, events, terrain, profile, to_go)
            for v, edges in enumerate(evaluator.edges_by_state()):
                if any(may_round(edge.reward) for edge in edges):
                    self._states[first + v] = evaluator, edges
            first += len(machine.states)

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
class Problem:
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

    terrain: Terrain
    """The numbered cells of the map."""
    machines: tuple[RewardMachine, ...]
    """The machines; with several, episodes play them in turn."""
    profile: Profile
    """How ambiguities of the literature are resolved."""
    tables: Tables
    """The arrays the kernels read."""
    ending: Array
    """int16 [n_e, n_u]: 0 while the task goes on, i + 1 in terminal i of the machine, -1 where no edge is open."""
    plain: Array
    """float64 [n_e, n_cols]: what the machines pay without their potentials."""
    example: Array
    """int64 [n_e]: a move of every event, as s * n_a + a."""
    potential: Array | None = None
    """float64 [n_s, n_cols]: Phi of every cell and state, None where no machine has one."""
    gamma: float = 0.9
    """The discount in the rewards of the tables; it matters where there are potentials."""
    slip: float = 0.0
    """Probability that a move goes sideways."""

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, about: those of the tables, the numbered cells, and the steps to go."""
        arrays = (*self.tables, self.terrain.cells, self.terrain.next_s, self.plain, self.ending, self.potential)
        return 3 * sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) // 2

    @property
    def grid(self) -> GridMap:
        """The map; of a `TableWorld` the one that its cells are laid out on.

        Raises
        ------
        MapError
            Where there is none, which pictures would need.
        """
        return self.terrain.grid

    @property
    def source(self) -> str:
        """Where the world came from, for messages."""
        return self.terrain.source

    @cached_property
    def states(self) -> tuple[tuple[int, str], ...]:
        """Machine and name of every state column."""
        self._refuse_large()
        return tuple((i, name) for i, machine in enumerate(self.machines) for name in machine.states)

    @cached_property
    def steps_to_go(self) -> Array:
        """Fewest steps to a success, int32 [n_s, n_cols], `FAR` where there is no way."""
        self._refuse_large()
        return distances(self.tables)

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return int(self.tables.next_s.shape[1])

    @property
    def room(self) -> int:
        """How many actions the tables of kernels have room for: a multiple of four."""
        return int(self.tables.moves.size // len(self.tables.next_s))

    @property
    def starts(self) -> tuple[Cell, ...]:
        """The cells in which episodes begin; of several, every episode begins in one, each as likely as the others."""
        return self.terrain.cells_of(self.tables.starts)

    @property
    def start(self) -> int:
        """Number of the start cell, of the first one where there are several."""
        return int(self.tables.starts[0])

    def number_of(self, cell: object, name: str = "start") -> int:
        """Return the number of a cell that the agent can be in, given as `starts` gives it; messages call it `name`."""
        wanted = tuple(cell) if isinstance(cell, list) else cell
        try:
            return self._numbers[wanted]
        except (KeyError, TypeError):
            raise ConfigError(
                f"{name}={shown(cell)}: no cell that the agent can be in; give one such as {shown(self.starts[0])}"
            ) from None

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        cells = self.terrain.cells_of(np.arange(len(self.terrain.cells)))
        return {cell: s for s, cell in enumerate(cells)}

    def from_start(self, cell: Cell) -> Problem:
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

    @property
    def agenda(self) -> Agenda | None:
        """What is to be done where that is too much for a machine state per set of it; no states are listed then.

        Only `coupled` learns such a problem; what needs machine states is refused.
        """
        return self.machines[0].large

    def _refuse_large(self) -> None:
        """Raise ConfigError where machine states are asked for and too many to list."""
        if self.agenda is not None:
            raise ConfigError(
                f"this problem is an agenda of {len(self.agenda.targets)} stages with more than {MAX_STATES} machine "
                "states, which are not listed; only coupled learns it, by fastrm.train(problem, 'coupled') or the "
                "method coupled-bool of an experiment"
            )

    @cached_property
    def tour(self) -> Tour | None:
        """A way from object to object that completes the (first) task, None where that is more than visits.

        It is sought on maps, where moves can be taken back, and None in worlds of other shapes.
        It is a shortest one up to 16 stages (Held and Karp); beyond that it always goes to the nearest object.
        """
        agenda = self.machines[0].agenda
        if agenda is None or not isinstance(self.terrain.world, GridMap):
            return None
        return find_tour(self.terrain, agenda, len(agenda.targets) <= MOST_TOURED)

    @cached_property
    def shortest(self) -> tuple[float, ...]:
        """Length of a shortest path that completes the task of each machine; of several starts the mean.

        Raises
        ------
        ConfigError
            For an agenda too large for machine states that has more than 16 stages: there it is not known.
        """
        if self.agenda is not None and self.tour is not None:
            if not self.tour.is_shortest:
                raise ConfigError(
                    f"no shortest path of an agenda of {len(self.agenda.targets)} stages is known; problem.tour is a "
                    f"way of {self.tour.length} steps, always to the nearest object"
                )
            return (self.tour.length,)
        steps = self.steps_to_go[self.tables.starts][:, self.tables.first_u]
        return tuple(mean_length(lengths) for lengths in steps.T.tolist())

    @cached_property
    def written(self) -> WrittenRewards:
        """What the machines pay without their potentials, in rationals as written."""
        self._refuse_large()
        return WrittenRewards(
            self.machines, self.terrain, self.profile, self.tables, self.plain, self.example, self.steps_to_go
        )

    def step(self, s: int, u: int, a: int) -> Step:
        """Make one move, by the rule of the world in plain Python.

        Parameters
        ----------
        s : int
            Number of the cell.
        u : int
            Column of the machine state.
        a : int
            Action: 0 up, 1 right, 2 down, 3 left.

        Returns
        -------
        Step
            Cell, state, event, reward, and whether the episode goes on.
        """
        self._refuse_large()
        tables = self.tables
        e = int(tables.event[s, a])
        outcome = int(tables.outcome[e, u])
        return Step(int(tables.next_s[s, a]), int(tables.delta[e, u]), e, float(tables.reward[e, u]), outcome)

    def at(self, gamma: float) -> Problem:
        """Return the problem with ``gamma Phi(s', u') - Phi(s, u)`` paid at this discount."""
        if self.potential is None or gamma == self.gamma:
            return self
        reward = aligned_full(self.plain.shape)
        pay_potential(self.plain, self.potential, self.tables, self.example, gamma, reward)
        reward.flags.writeable = False
        return self.changed(tables=self.tables._replace(reward=reward), gamma=gamma)

    def changed(self, **fields: Any) -> Problem:
        """Return the problem with other rewards, potentials or slip, none of which changes the steps to go."""
        other = replace(self, **fields)
        if self.agenda is None:
            other.__dict__["steps_to_go"] = self.steps_to_go
        return other

    def _repr_html_(self) -> str:
        """Show map, machines and key facts in a notebook."""
        from fastrm.pages import problem_card

        return problem_card(self)

    def __repr__(self) -> str:
        size = f"{self.tables.n_u} machine states, {len(self.tables.reward)} events"
        if self.agenda is not None:
            size = f"{len(self.agenda.targets)} stages, more than {MAX_STATES} machine states"
        names = ", ".join(machine.name or machine.source for machine in self.machines)
        slip = f", slip {self.slip:g}" if self.slip else ""
        return f"<Problem {names} on {self.source}: {len(self.terrain.cells)} cells, {size}{slip}>"


def mean_length(lengths: Sequence[int]) -> float:
    """Return the mean of the lengths from all starts, and as a whole number where there is one start.

    >>> mean_length([4]), mean_length([4, 7])
    (4, 5.5)
    """
    return lengths[0] if len(lengths) == 1 else sum(lengths) / len(lengths)


def check_problem(problem: object, may_be_large: bool = False) -> None:
    """Refuse what is not a problem, and an agenda without machine states where these are needed."""
    if isinstance(problem, WaterProblem):
        raise ConfigError(
            "problem: is a water world; this needs the cells of a map (solve, guarantee and train do not)"
        )
    if not isinstance(problem, Problem):
        raise ConfigError(f"problem={shown(problem)}: must be a Problem; make one with fastrm.compile(grid, machine)")
    if not may_be_large:
        problem._refuse_large()
