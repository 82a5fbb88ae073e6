"""A problem: one map crossed with one or more machines, and the facts about it that need no learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.config import Profile
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import LIVE, SUCCESS, Tables
from fastrm.machines import RewardMachine
from fastrm.machines.language import MAX_STATES, Agenda
from fastrm.problems.agendas import MOST_TOURED, Tour, find_tour
from fastrm.problems.steps_to_go import distances, pay_potential
from fastrm.problems.terrain import Terrain
from fastrm.problems.water import WaterProblem
from fastrm.problems.written import WrittenRewards
from fastrm.worlds import Cell, GridMap


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
        from fastrm.pictures import problem_card

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
