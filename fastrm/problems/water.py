"""A problem on Water world: its tables, and the fewest steps that complete its tasks.

These are found by a search forward in layers of time, in bounded memory. Two layers are needed to search. Layers are
kept for the way back as long as they fit into the memory set aside for them. Where they do not, the path is found by
halving: a layer in the middle of a stretch of time is made again, the path through the second half tells where the
first half must lead, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.config import PROFILES, Profile, ProfileName
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, MachineError, shown
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.exact import water_search
from fastrm.kernels.worlds import water
from fastrm.kernels.worlds.water import STACK, Machines, Scratch, WaterTables
from fastrm.machines import RewardMachine
from fastrm.problems.events import leads_on, wanted_by
from fastrm.problems.problem import Episode, Problem, check_machines, compile, parts_of
from fastrm.problems.terrain import ANYWHERE
from fastrm.problems.water_tables import (
    Axis,
    WaterEvents,
    find_water_events,
    reward_bounds,
    tabulate_machines,
    tabulate_physics,
)
from fastrm.resources import usable_memory
from fastrm.worlds import COLOURS, WATER_ACTIONS, WATER_LIMIT, Point, WaterWorld

ROOM = 300_000_000
"""Bytes for the layers of a stretch of time."""


class Reached(NamedTuple):
    """What a search in layers of time found."""

    succeeds: int
    """Fewest steps to a success, 0 where there is none within the limit."""
    pays: int
    """Fewest steps to an end that pays more than 0, a success or not; 0 where there is none up to the first success."""
    actions: tuple[int, ...]
    """Actions of a path with the fewest steps to a success."""


def search_layers(problem: WaterProblem, machine: int, only_paid: bool = False) -> Reached:
    """Search forward in layers of time until a success is found, and follow it back to the start.

    With `only_paid` it goes on until an end pays, and finds nothing else. Raises ConfigError when the layers do not fit
    in the memory.
    """
    entry, delay = problem.entry(machine), problem.delay
    if entry.outcome != LIVE:
        succeeds = entry.outcome == SUCCESS
        return Reached(int(succeeds), int(_entry_pays(problem, machine)), (0,) if succeeds else ())
    search, pays = _Search(problem, entry.u), 0
    first = search.layer(0)
    kept = [] if only_paid else [first]
    for t in range(WATER_LIMIT - delay):
        met = search.move_on(t)
        if met & water_search.PAYS and not pays:
            pays = t + 1 + delay
        if only_paid and pays:
            break
        if met & water_search.SUCCEEDS and not only_paid:
            target = np.array([-1, -1, problem.tables.n_u])
            actions = search.follow_back(kept, 0, target) if kept else search.path(first, 0, t + 1, target)
            return Reached(t + 1 + delay, pays, (*actions, *(0,) * delay))
        if search.is_empty(t + 1):
            break
        if kept:
            kept = [*kept, search.layer(t + 1)] if search.nbytes(0, t + 2) <= ROOM else []
    return Reached(0, pays, ())


def _entry_pays(problem: WaterProblem, machine: int) -> bool:
    """Whether some first move, which ends the episode because labels are late, pays more than 0."""
    u, (x, y) = int(problem.tables.first_u[machine]), problem.physics.start
    return bool(water_search.may_pay(problem.physics, problem.tables, 0, x, y, 0, u, problem.scratch()))


class _Search:
    """The states that can be reached at one time, moved on from one time to the next.

    A layer has a bit per machine state for all states of the axes.
    """

    def __init__(self, problem: WaterProblem, u: int) -> None:
        self.problem, self.scratch = problem, problem.scratch()
        self.small = np.min_scalar_type((1 << problem.tables.n_u) - 1)
        shape = len(problem.physics.x), len(problem.physics.y)
        need, memory = 2 * 8 * shape[0] * shape[1] + ROOM, usable_memory()
        if need > memory:
            raise ConfigError(
                f"fewest steps: {shape[0]} x {shape[1]} states of the agent take {need / 1e9:.1f} GB to search, and "
                f"there are {memory / 1e9:.1f} GB of memory; take a smaller box"
            )
        self.here, self.there = (np.zeros(shape, dtype=np.uint64) for _ in range(2))
        self.here[tuple(problem.physics.start)] = 1 << u

    def nbytes(self, t0: int, t1: int) -> int:
        """Return the bytes of the layers of a stretch of time when they are kept."""
        return sum(math.prod(self.problem.within(t)) for t in range(t0, t1)) * self.small.itemsize

    def layer(self, t: int) -> Array:
        """Return a small copy of the layer after t moves, where the search stands."""
        n_x, n_y = self.problem.within(t)
        copy: Array = self.here[:n_x, :n_y].astype(self.small)
        return copy

    def is_empty(self, t: int) -> bool:
        """Whether nothing can be reached in the layer after t moves, where the search stands."""
        n_x, n_y = self.problem.within(t)
        return not self.here[:n_x, :n_y].any()

    def move_on(self, t: int) -> int:
        """Go on from the layer after t moves to the next; return which ends were met."""
        problem, (n_x, n_y) = self.problem, self.problem.within(t + 1)
        self.there[:n_x, :n_y] = 0
        met = water_search.spread(
            problem.physics, problem.tables, t, *problem.within(t), self.here, self.there, self.scratch
        )
        self.here, self.there = self.there, self.here
        return int(met)

    def path(self, layer: Array, t0: int, t1: int, target: Array) -> list[int]:
        """Return the actions from a layer after t0 moves to a target after t1, which becomes the state after t0."""
        if t1 - t0 > 1 and self.nbytes(t0, t1) > ROOM:
            middle = (t0 + t1) // 2
            *_, half = self._layers(layer, t0, middle, only_last=True)
            second = self.path(half, middle, t1, target)
            return self.path(layer, t0, middle, target) + second
        return self.follow_back(self._layers(layer, t0, t1 - 1), t0, target)

    def _layers(self, layer: Array, t0: int, t1: int, only_last: bool = False) -> list[Array]:
        """Return the layers from t0 to t1 moves, the first of which is given."""
        self.here[: layer.shape[0], : layer.shape[1]] = layer
        found = [layer]
        for t in range(t0, t1):
            self.move_on(t)
            if not only_last or t + 1 == t1:
                found.append(self.layer(t + 1))
        return found

    def follow_back(self, layers: list[Array], t0: int, target: Array) -> list[int]:
        """Return the actions of a path through layers, the first after t0 moves, to a target after the last."""
        found, actions = np.zeros(4, dtype=np.int64), []
        for k in range(len(layers) - 1, -1, -1):
            water_search.step_before(
                self.problem.physics, self.problem.tables, t0 + k, layers[k], target, self.scratch, found
            )
            actions.append(int(found[3]))
            target[:] = found[:3]
        return actions[::-1]


MAX_MACHINE_STATES = 64
NO_LABEL = 0
"""The event of a move that shows nothing, where no guard reads a distance."""


class WaterWalk(NamedTuple):
    """What a row of actions led to."""

    states: Array
    """int64 [n + 1, 3]: states of both axes and of the machine, the start first."""
    labels: tuple[str, ...]
    """The colours each move showed, such as ``ad``."""
    rewards: Array
    """float64 [n]."""
    outcome: int
    """LIVE, SUCCESS or FAILURE."""


class Entry(NamedTuple):
    """What comes before the first move whose touches are read: where labels are late, a move that shows nothing."""

    u: int
    """The machine state after it."""
    reward: float
    """What it pays."""
    outcome: int
    """LIVE, SUCCESS or FAILURE."""


@dataclass(frozen=True, eq=False)
class WaterProblem(Problem):
    """A water world crossed with one or more machines; `fastrm.compile` makes one of a `WaterWorld`.

    A *state* is a triple: state of the x axis, state of the y axis (each a position and a velocity), and time, since
    balls are where time puts them. Learners, `fastrm.solve`, `fastrm.guarantee` and environments take it; what needs
    the cells of a map does not.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.WaterWorld.generate(seed=3), fastrm.task("a-b"))
    >>> problem.shortest
    (21,)
    """

    world: WaterWorld
    """The world."""
    machines: tuple[RewardMachine, ...]
    """The machines; with several, episodes play them in turn."""
    profile: Profile
    """How ambiguities of the literature are resolved."""
    physics: WaterTables
    """The world as look-up tables."""
    axes: tuple[Axis, Axis]
    """The states of the x and the y axis."""
    events: WaterEvents
    """What guards can tell apart."""
    tables: Machines
    """The machines as look-up tables."""
    is_anywhere: bool = False
    """Whether episodes begin at rest anywhere in the box, instead of where the world says."""
    kind = "water"
    actions = WATER_ACTIONS
    longest_episode = WATER_LIMIT

    @property
    def source(self) -> str:
        """Where the world came from, for messages."""
        return self.world.source

    @property
    def refusal(self) -> str:
        """What to say where the cells of a map are needed."""
        return "problem: is a water world; this needs the cells of a map (solve, guarantee and train do not)"

    @property
    def known_shortest(self) -> tuple[float, ...]:
        """`shortest`, NaN where episodes begin anywhere: then it differs from start to start."""
        return (math.nan,) * len(self.machines) if self.is_anywhere else self.shortest

    def describe(self) -> dict[str, object]:
        """Return what `fastrm.compile` makes it of, as values that JSON holds."""
        start = ANYWHERE if self.is_anywhere else None
        world = {"world": self.world.to_json(), "velocity": list(self.world.velocity)}
        return super().describe() | world | {"start": start, "settings": {}}

    def defaults(self, steps: int) -> dict[str, object]:
        """Return the learner settings that were found to learn well here."""
        return {"alpha": f"linear(0.5, 0.1, {steps})", "q_init": 0.03, "episode_limit": WATER_LIMIT}

    def episode(self, task: int = 0, start: int | None = None) -> WaterEpisode:
        """Begin an episode where the world says, or in a state that `draw_start` drew."""
        return WaterEpisode(self, task, start)

    @property
    def start_numbers(self) -> tuple[None] | None:
        """One start, or more than can be listed."""
        return None if self.is_anywhere else (None,)

    def draw_start(self, random: np.random.Generator) -> int | None:
        """Draw a state at rest, one number for both axes, where episodes begin anywhere."""
        if not self.is_anywhere:
            return None
        x, y = (int(random.choice(np.flatnonzero(axis[:, 1] == 0.0))) for axis in (self.physics.x, self.physics.y))
        return x * len(self.physics.y) + y

    def place_of(self, state: object) -> tuple[int, ...]:
        """Return the numbers of both axes, time and machine state, as environments that observe states give them."""
        sizes = len(self.physics.x), len(self.physics.y), WATER_LIMIT, len(self.states)
        parts = parts_of(state, "states of both axes, time and machine state", (*self.physics.start.tolist(), 0, 0))
        names = [name for _, name in self.states]
        parts[3] = names.index(parts[3]) if names.count(parts[3]) == 1 else parts[3]
        for name, part, size in zip(("x", "y", "time", "state"), parts, sizes, strict=True):
            check_whole(name, part, 0, size - 1)
        return tuple(map(int, parts))

    @property
    def delay(self) -> int:
        """By how many moves labels are late: 1 in the reference, else 0."""
        return int(self.physics.delayed)

    @property
    def reads_features(self) -> bool:
        """Whether some machine reads distances."""
        return bool(self.events.features)

    @property
    def nbytes(self) -> int:
        """Bytes of its tables."""
        return sum(array.nbytes for array in (*self.physics, *self.tables) if isinstance(array, np.ndarray))

    @property
    def shortest(self) -> tuple[int, ...]:
        """Fewest steps that complete the task of each machine; MachineError if none does within the limit."""
        for machine, found in zip(self.machines, self.reached, strict=True):
            if not found.succeeds:
                raise MachineError(
                    f"{machine.source}: no path on {self.world.source} completes the task within {WATER_LIMIT} steps"
                )
        return tuple(found.succeeds for found in self.reached)

    @cached_property
    def soonest_paid(self) -> tuple[int, ...]:
        """Fewest steps to an end that pays more than 0, which in profile ``icarte2022`` may be a fall; 0 for none."""
        return tuple(
            found.pays or (search_layers(self, machine, only_paid=True).pays if self._may_pay(machine) else 0)
            for machine, found in enumerate(self._search() if "_lender" in self.__dict__ else self.reached)
        )

    def _may_pay(self, machine: int) -> bool:
        """Whether some end of a machine may pay more than 0, as far as its rewards tell."""
        return self.most_paid(machine)[0] > 0

    def most_paid(self, machine: int) -> tuple[float, float]:
        """Return the most that an end of a machine, and any other move, can pay as far as its rewards tell, or 0."""
        chosen, farthest = self.machines[machine], self.world.side * 2.0**0.5
        bounds = [(edge.target, reward_bounds(edge.reward, farthest)[1]) for edge in chosen.edges]
        ends = [most for target, most in bounds if target in chosen.terminals]
        return max([0.0, *ends]), max([0.0, *(most for target, most in bounds if target in chosen.states)])

    def within(self, t: int) -> tuple[int, int]:
        """Return how many states of each axis can be reached after t moves."""
        x, y = self.axes
        return int(x.within[t]), int(y.within[t])

    @cached_property
    def reached(self) -> tuple[Reached, ...]:
        """What a search in layers of time found for each machine."""
        lender = self.__dict__.get("_lender")
        return self._search() if lender is None else lender().reached

    def _search(self) -> tuple[Reached, ...]:
        self.check_searchable()
        return tuple(search_layers(self, machine) for machine in range(len(self.machines)))

    def borrow(self, lender: Callable[[], Problem]) -> None:
        """Take the fewest steps from a problem of the same world and task: rewards do not change them."""
        self.__dict__["_lender"] = lender

    def check_searchable(self) -> None:
        """Raise ConfigError if the fewest steps of the problem cannot be found."""
        if self.delay and self.events.bounds:
            raise ConfigError(
                "fewest steps: guards that read distances, which are never late, and labels that are, in profile "
                "icarte2022, cannot be searched together; compile with profile='clean'"
            )

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The colours that each machine state wants: those that must hold on edges which lead on from it."""
        found = []
        for i, name in self.states:
            machine = self.machines[i]
            ahead = [edge for edge in machine.edges if edge.source == name and leads_on(edge, machine)]
            names = {leaf.name for edge in ahead for leaf in wanted_by(edge.guard)}
            found.append(tuple(colour for colour in COLOURS if colour in names))
        return tuple(found)

    @property
    def carried(self) -> Array:
        """int64 [5, 2]: states of the axes at the start, with the velocity that a push in each direction gives."""
        x, y = (axis.carried for axis in self.axes)
        pairs = [(x[1], y[1]), (x[1], y[2]), (x[2], y[1]), (x[1], y[0]), (x[0], y[1])]
        return np.array(pairs, dtype=np.int64)

    def entry(self, machine: int = 0) -> Entry:
        """Return what comes before the first move whose touches are read; nothing, unless labels are late."""
        tables, u = self.tables, int(self.tables.first_u[machine])
        if not self.delay:
            return Entry(u, 0.0, LIVE)
        reward = float(water.pay(tables, NO_LABEL, u, self.scratch()))
        return Entry(int(tables.delta[NO_LABEL, u]), reward, int(tables.outcome[NO_LABEL, u]))

    def scratch(self) -> Scratch:
        """Return room for kernels to work in."""
        return new_scratch(self.tables)

    def walk(self, actions: Sequence[int] | Array, machine: int = 0, start: int | None = None) -> WaterWalk:
        """Follow actions from the start, or from a state that `draw_start` drew, until the episode ends."""
        if not isinstance(actions, Sequence | np.ndarray) or not all(
            isinstance(action, int | np.integer) and 0 <= action < water.N_PUSHES for action in actions
        ):
            raise ConfigError(
                f"actions={shown(actions)}: must be whole numbers from 0 to {water.N_PUSHES - 1}, such as those of "
                "run.greedy_actions[0]"
            )
        given = np.array(list(actions)[:WATER_LIMIT], dtype=np.int64)
        states = np.zeros((given.size + 1, 3), dtype=np.int64)
        labels, rewards = np.zeros(given.size, dtype=np.uint8), np.zeros(given.size)
        physics = self.physics
        if start is not None:
            physics = physics._replace(start=np.array(divmod(start, len(physics.y))))
        n, outcome = water.walk(
            physics, self.tables, int(self.tables.first_u[machine]), given, self.scratch(), states, labels, rewards
        )
        return WaterWalk(states[: n + 1], tuple(map(colours_of, labels[:n].tolist())), rewards[:n], int(outcome))

    def end_of(self, walk: WaterWalk, task: int = 0) -> str:
        """Return the name of the terminal that a walk ended in."""
        machine = self.machines[task]
        ends = machine.success if walk.outcome == SUCCESS else machine.failure
        return ends[0] if ends else "failed"

    def positions(self, states: Array) -> tuple[Point, ...]:
        """Return where the agent is in rows of states."""
        return tuple((float(self.physics.x[row[0], 0]), float(self.physics.y[row[1], 0])) for row in states)

    def __repr__(self) -> str:
        sizes = f"{len(self.physics.x)} x {len(self.physics.y)} states of the agent, {self.tables.n_u} machine states"
        return f"<WaterProblem {self.names()} on {self.world.source}: {sizes}, {self.events.count} events>"


class WaterEpisode(Episode):
    """An episode on Water world: the moves made so far, and what they led to."""

    def __init__(self, problem: WaterProblem, task: int = 0, start: int | None = None) -> None:
        self.problem: WaterProblem = problem
        self.task, self.start, self.made, self.end = task, start, list[int](), ""
        self._walked()

    def step(self, action: int) -> None:
        """Push the agent; read what it touches; let the machine pay and change its state."""
        self.made.append(int(action))
        self._walked()

    def _walked(self) -> None:
        """Follow the moves from the start, and note what the last of them led to."""
        walk = self.problem.walk(self.made, self.task, self.start)
        self.states, self.steps = walk.states, len(walk.rewards)
        self.labels = tuple(walk.labels[-1]) if walk.labels else ()
        self.reward = float(walk.rewards[-1]) if self.steps else 0.0
        self.terminated, self.success = walk.outcome != LIVE, walk.outcome == SUCCESS
        self.end = self.problem.end_of(walk, self.task) if self.terminated else ""

    @property
    def place(self) -> tuple[int, int, int, int]:
        """States of both axes, time, and the number of the machine's state."""
        x, y, u = self.states[-1].tolist()
        return x, y, self.steps, u

    @property
    def cell(self) -> tuple[float, ...]:
        """Position of the agent."""
        return self.observation[:2]

    @property
    def state(self) -> str:
        """Name of the machine's state, ``(terminal)`` when it has reached one."""
        return "(terminal)" if self.terminated else self.problem.states[self.place[-1]][1]

    @property
    def observation(self) -> tuple[float, ...]:
        """Position and velocity of the agent."""
        physics, (x, y, _) = self.problem.physics, self.states[-1]
        return tuple(float(axis[k]) for k in (0, 1) for axis in (physics.x[x], physics.y[y]))


def new_scratch(machines: Machines) -> Scratch:
    """Return room for kernels to work in."""
    n_c, n_f = len(COLOURS), len(machines.feature)
    return Scratch(*(np.zeros(n) for n in (n_c, n_c, n_f, STACK)))


def colours_of(bits: int) -> str:
    """Return the letters of a set of colours.

    >>> colours_of(0b001001)
    'ad'
    """
    return "".join(colour for c, colour in enumerate(COLOURS) if bits >> c & 1)


@add_row(compile, WaterWorld)
def compile_water(
    world: WaterWorld,
    machine: RewardMachine | Sequence[RewardMachine],
    profile: ProfileName | str | Profile = "clean",
    metric: str = "manhattan",
    slip: float = 0.0,
    gamma: float = 0.9,
    start: object = None,
    features: object = None,
    labels: object = None,
) -> WaterProblem:
    """Turn a water world and one machine, or several, into a problem; see `fastrm.compile`."""
    if metric != "manhattan" or slip != 0.0:
        raise ConfigError("metric, slip: are for maps; on Water world distances are straight lines and no move slips")
    if features is not None or labels is not None:
        raise ConfigError("features, labels: are for maps; on Water world machines read balls and their distances")
    if start not in (None, ANYWHERE) or gamma != 0.9:
        raise ConfigError(
            "start, gamma: are for maps; on Water world the world says where episodes begin (or start='anywhere'), and "
            "machines have no potentials to discount"
        )
    machines = check_machines(machine)
    for item in machines:
        if item.large:
            raise MachineError(
                f"{item.source}: an agenda of more than 1024 machine states is learned on maps, and {world.source} is "
                "a water world; take fewer stages"
            )
        if item.has_potential:
            raise MachineError(f"{item.source}: a potential is for maps; on Water world it would depend on time")
    chosen = profile if isinstance(profile, Profile) else Profile.named(profile)
    if chosen not in PROFILES.values():
        raise ConfigError(f"profile={shown(profile)}: on Water world it must be clean or icarte2022, as a whole")
    events = find_water_events(machines, world, chosen.falls_off)
    tables = tabulate_machines(machines, events, chosen.falls_off, world.side)
    if tables.n_u > MAX_MACHINE_STATES:
        raise MachineError(f"{tables.n_u} machine states; Water world has room for {MAX_MACHINE_STATES}")
    physics, x_axis, y_axis = tabulate_physics(world, chosen.falls_off)
    return WaterProblem(
        world, machines, chosen, physics, (x_axis, y_axis), events, tables,
        is_anywhere=start == ANYWHERE,
    )  # fmt: skip
