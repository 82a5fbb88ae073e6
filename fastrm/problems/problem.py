"""What every problem is: a world crossed with machines, whatever the world; and `compile`, the door to all of them.

Three kinds exist: `TabularProblem` (maps and tables), `WaterProblem` (Water world) and `AgendaProblem` (tasks in any
order with more machine states than can be listed). Consumers use what is declared here, or a verb with a row per kind
(`fastrm.dispatch`); none of them asks for a class.

Compiling evaluates every guard and every reward once per event (see `events` and `tabular`), so Boolean,
numeric-Boolean and numeric machines all become the same look-up tables: ``delta[event, state]`` and
``reward[event, state]``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from fastrm.config import Profile, ProfileName
from fastrm.dispatch import by_kind
from fastrm.errors import ConfigError, MachineError, MapError, shown
from fastrm.machines import RewardMachine
from fastrm.problems.terrain import MapFeatures, MapLabels, Metric, Start
from fastrm.worlds import Cell, GridMap, PointMass, TableWorld, WaterWorld, World

if TYPE_CHECKING:
    from fastrm.problems.point import PointProblem
    from fastrm.problems.tabular import TabularProblem
    from fastrm.problems.water import WaterProblem


class Problem(ABC):
    """A world crossed with one or more machines; `fastrm.compile` makes one, learners and solvers take it."""

    kind: ClassVar[str]
    """The kind, by which learners are looked up."""
    machines: tuple[RewardMachine, ...]
    """The machines; with several, episodes play them in turn."""
    profile: Profile
    """How ambiguities of the literature are resolved."""
    slip = 0.0
    """Probability that a move goes sideways."""
    longest_episode: ClassVar[int] = 2**62
    """The largest episode limit that learners may be given."""
    is_quickly_solved: ClassVar[bool] = False
    """Whether exact answers about it exist and take about a second, so that thousands can be asked for."""

    @property
    def is_certain(self) -> bool:
        """Whether every action leads to one cell."""
        return not self.slip

    @property
    def likely(self) -> Problem:
        """The problem in which every action has its likeliest outcome; itself where actions have one outcome."""
        return self

    @cached_property
    def states(self) -> tuple[tuple[int, str], ...]:
        """Machine and name of every machine state that is listed."""
        return tuple((i, name) for i, machine in enumerate(self.machines) for name in machine.states)

    @property
    def stages(self) -> tuple[str, ...]:
        """What an agenda without machine states is made of; empty for other problems."""
        return ()

    @property
    @abstractmethod
    def source(self) -> str:
        """Where the world came from, for messages."""

    @property
    @abstractmethod
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""

    @property
    @abstractmethod
    def shortest(self) -> tuple[float, ...]:
        """Fewest steps that complete the task of each machine."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of its arrays, about."""

    @property
    def known_shortest(self) -> tuple[float, ...]:
        """`shortest`, and NaN where it cannot be found."""
        return self.shortest

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return len(self.actions)

    def defaults(self, steps: int) -> dict[str, object]:
        """Return the learner settings that fit this problem in a run of `steps`, used where none are given."""
        return {}

    def borrow(self, lender: Callable[[], Problem]) -> None:
        """Take what does not depend on rewards, if it is costly, from a problem of the same world and task."""
        return

    def at(self, gamma: float) -> Problem:
        """Return the problem with potentials, if any, paid at this discount."""
        return self

    @abstractmethod
    def episode(self, task: int = 0, start: int | None = None) -> Episode:
        """Begin an episode, to be played step by step."""

    def number_of_any(self, cell: object) -> int:
        """Return the number of a cell, given by it or by row and column; raise ConfigError where there are no cells."""
        raise ConfigError(f"start={shown(cell)}: is a cell of a map; {self.source} has none, leave it out")

    def place_of(self, state: object) -> tuple[int, ...]:
        """Return the numbers of a state, as `Episode.place` gives them; raise ConfigError unless it is one."""
        raise unsupported(self)

    @property
    def start_numbers(self) -> Sequence[int | None] | None:
        """Where episodes begin, for `episode`; None where that cannot be listed."""
        return (None,)

    @property
    @abstractmethod
    def refusal(self) -> str:
        """What to say where something needs another kind of problem."""

    def describe(self) -> dict[str, object]:
        """Return what `fastrm.compile` makes it of, as values that JSON holds."""
        return {
            "source": self.source,
            "machines": [[machine.write(), machine.source] for machine in self.machines],
            "profile": asdict(self.profile),
        }

    @property
    def layout(self) -> GridMap | None:
        """The map that pictures of it show, None where there is none."""
        return None

    @property
    def facts(self) -> list[tuple[str, object]]:
        """What there is to know about it at a glance: names and numbers."""
        return [("world", self.source), ("machine states", len(self.states))]

    @property
    def start_cells(self) -> tuple[Cell, ...]:
        """The cells of its map in which episodes begin."""
        return ()

    def draw_start(self, random: np.random.Generator) -> int | None:
        """Return where an episode begins, for `episode`: one of several starts, None where there is only one."""
        return None

    def _repr_html_(self) -> str:
        """Show world, machines and key facts in a notebook."""
        from fastrm.pages import problem_card

        return problem_card(self)

    def names(self) -> str:
        """List the machines by name."""
        return ", ".join(machine.name or machine.source for machine in self.machines)


class Episode(ABC):
    """An episode in progress: where the agent is, the machine's state, and what the last move led to."""

    problem: Problem
    task: int
    """Which machine is played."""
    labels: tuple[str, ...]
    """What holds after the last move."""
    reward: float
    """What the last move paid."""
    steps: int
    terminated: bool
    success: bool
    """Whether the last move completed the task."""
    end: str
    """Name of the terminal that was reached, empty while the episode goes on."""

    @abstractmethod
    def step(self, action: int) -> None:
        """Make a move; let the machine read its labels, pay and change its state."""

    @property
    @abstractmethod
    def place(self) -> tuple[int, ...]:
        """Numbers of where the agent is, of the time where that matters, and last of the machine's state."""

    @property
    @abstractmethod
    def cell(self) -> Any:
        """The cell or the point that the agent is in."""

    @property
    @abstractmethod
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""

    @property
    @abstractmethod
    def observation(self) -> tuple[float, ...]:
        """Where the agent is: row and column, or position and velocity."""

    @property
    def label(self) -> str:
        """What holds after the last move, as text."""
        return " ".join(self.labels)


def parts_of(state: object, what: str, example: tuple[object, ...]) -> list[Any]:
    """Return the parts of a state; raise ConfigError unless it has as many as an example."""
    if not isinstance(state, Sequence | np.ndarray) or isinstance(state, str) or len(state) != len(example):
        raise ConfigError(f"state={shown(state)}: must be {what}, such as {example}, or an episode")
    return list(state)


def unsupported(problem: object) -> ConfigError:
    """Return the error for a kind of problem that a verb has no row for, or for what is no problem at all."""
    if isinstance(problem, Problem):
        return ConfigError(problem.refusal)
    return ConfigError(f"problem={shown(problem)}: must be a Problem; make one with fastrm.compile(grid, machine)")


@overload
def compile(
    grid: WaterWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: ProfileName | str | Profile = ...,
    *,
    start: Start = ...,
) -> WaterProblem: ...


@overload
def compile(
    grid: PointMass,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: str | Profile = ...,
    metric: Metric = ...,
    slip: float = ...,
    gamma: float = ...,
    start: Start = ...,
) -> PointProblem: ...


@overload
def compile(
    grid: GridMap | TableWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: ProfileName | str | Profile = ...,
    metric: Metric = ...,
    slip: float = ...,
    gamma: float = ...,
    start: Start = ...,
    features: MapFeatures | None = ...,
    labels: MapLabels | None = ...,
) -> TabularProblem: ...


@by_kind
def compile(
    grid: World,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: ProfileName | str | Profile = "clean",
    metric: Metric = "manhattan",
    slip: float = 0.0,
    gamma: float = 0.9,
    start: Start = None,
    features: MapFeatures | None = None,
    labels: MapLabels | None = None,
) -> TabularProblem | WaterProblem:
    r"""Turn a map and one machine, or several for multi-task learning, into a `Problem`.

    Parameters
    ----------
    grid : GridMap, TableWorld, PointMass or WaterWorld
        The map, a world of another shape, a point mass, or a water world, which has no metric, slip or gamma.
    machine : RewardMachine or sequence of them
        The task, or the tasks that episodes take turns to play.
    profile : {"clean", "icarte2022"} or Profile
        How ambiguities of the literature are resolved.
    metric : {"manhattan", "geodesic"}
        What ``d(x)`` and ``closer(x)`` measure on a map. On a point mass they are straight lines, or with "geodesic"
        steps; in a `TableWorld` they count steps.
    slip : float
        Probability that a move goes sideways instead, to either side equally often.
    gamma : float
        Discount of potentials, for environments; learners and solvers put in their own.
    start : "anywhere", cell or list of cells, optional
        Where episodes begin, instead of the cells that the map marks; see `Problem.starts`. ``"anywhere"`` means all
        cells within reach that hold no object, and in a `TableWorld` every cell; without a layout cells are numbers.
    features : mapping, optional
        Numbers of the cells of a map, by a name of several letters that guards and rewards read, as in ``fuel < 3``:
        a function of (row, column), or an array of the map's size, of whole numbers from 0.
    labels : function or mapping, optional
        What else holds in the cells of a map: a function of (row, column) that returns a name, names or nothing, or
        the cells of every name, as in ``{"coffee": [(1, 2)]}``. Names have several letters.

    Returns
    -------
    TabularProblem or WaterProblem
        What learners, solvers and environments take; an `AgendaProblem` where a task has more than 1 024 machine
        states.

    Raises
    ------
    MachineError
        When some move opens no edge or more than one, when a reward is not finite, or when the task cannot be
        completed on this map.
    MapError
        When `grid` is not a map.

    Examples
    --------
    >>> grid = GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> compile(grid, RewardMachine.sequence("a", kind="numeric"))
    <Problem a numeric on <text>: 3 cells, 1 machine states, 3 events>
    """
    raise MapError(f"grid={shown(grid)}: must be a GridMap; make one with GridMap.parse, .load or .generate")


def check_machines(machine: RewardMachine | Sequence[RewardMachine]) -> tuple[RewardMachine, ...]:
    """Return one machine, or several, as a tuple; refuse what is none."""
    machines = tuple(machine) if isinstance(machine, list | tuple) else (machine,)
    if not machines:
        raise MachineError("no machine to compile; give at least one")
    for item in machines:
        if not isinstance(item, RewardMachine):
            cure = f"write fastrm.task({shown(item)})" if isinstance(item, str) else "make one with fastrm.task"
            raise MachineError(f"machine={shown(item)}: must be a RewardMachine; {cure}, or use RewardMachine.load")
    return machines
