"""Problems on numbered cells: what maps, tables and large agendas share.

Also the columns of an agenda on a map, which `coupled` learns instead of a value for every machine state, and tours
from object to object.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.checks import check_whole
from fastrm.config import Profile
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import BLOCK, N_ACTIONS, Columns, Tables
from fastrm.kernels.exact import plans
from fastrm.machines import RewardMachine
from fastrm.machines.language import Agenda
from fastrm.problems.problem import Problem
from fastrm.problems.terrain import Terrain
from fastrm.worlds import Cell, GridMap, layout_of, write_world

Per = Literal["object", "type"]
"""What has a column of its own."""
MOST_COLUMNS = 64
MOST_PLANNED = 12
"""Stages up to which a learner weighs all orders: there are 2^stages sets of them."""
MOST_TOURED = 16
"""Stages up to which a shortest tour is found."""


def objects_of_columns(terrain: Terrain, agenda: Agenda, per: Per) -> list[tuple[int, Array]]:
    """Return the stage of every column and the numbers of the cells that complete it.

    Objects that the agent cannot stand on have no column: no plan must count on them.
    """
    columns: list[tuple[int, Array]] = []
    for i, target in enumerate(agenda.targets):
        cells = np.flatnonzero(terrain.holds(target))
        columns += [(i, cells[k : k + 1]) for k in range(len(cells))] if per == "object" else [(i, cells)]
    return columns


def stages_at(terrain: Terrain, agenda: Agenda) -> list[int]:
    """Return the stages that every cell completes, as a bit mask; on the agenda or not."""
    masks = [0] * len(terrain.cells)
    for i, cells in objects_of_columns(terrain, agenda, "type"):
        for s in cells.tolist():
            masks[s] |= 1 << i
    return masks


def tabulate_columns(terrain: Terrain, agenda: Agenda, per: Per, is_planned: bool) -> Columns:
    """Tabulate the columns of an agenda, and the sets of stages that a plan has to look at, if one is made.

    Raises
    ------
    ConfigError
        When there are too many columns.
    """
    columns = objects_of_columns(terrain, agenda, per)
    n_k, n_s = len(columns), len(terrain.cells)
    if n_k > MOST_COLUMNS:
        raise ConfigError(
            f"per='object': {n_k} objects complete stages of this task, and there is room for {MOST_COLUMNS} columns; "
            "take per='type' or a map with fewer objects"
        )
    reads = np.zeros(n_s, dtype=np.uint64)
    for k, (_, cells) in enumerate(columns):
        reads[cells] |= np.uint64(1 << k)
    distinct, event = np.unique(np.append(np.uint64(0), reads), return_inverse=True)  # 0 first: nothing is read
    there = terrain.next_s.astype(np.uint64)
    reward = aligned_full((len(distinct), (n_k + BLOCK - 1) // BLOCK * BLOCK))
    reward[:, :n_k] = distinct[:, None] >> np.arange(n_k, dtype=np.uint64) & np.uint64(1)
    stages, sets = [i for i, _ in columns], _sets_left(agenda) if is_planned else np.array([], dtype=np.uint64)
    is_ready = [
        sets >> np.uint64(i) & np.uint64(1) & (sets & np.uint64(needs) == 0) for i, needs in enumerate(agenda.needs)
    ]
    tables = Columns(
        moves=(event[1:].astype(np.uint64)[there] << np.uint64(32) | there * np.uint64(N_ACTIONS)).reshape(-1),
        reward=reward,
        reads=distinct,
        stage=np.array(stages, dtype=np.uint64),
        serves=np.array([_stages_at(cells, columns) for _, cells in columns], dtype=np.uint64),
        needs=np.array(agenda.needs, dtype=np.uint64),
        sets=sets,
        opens=_masks([is_ready[i] for i in stages], sets),
        ready=_masks([is_ready[i] if i in stages else 0 * sets for i in range(len(agenda.needs))], sets),
    )
    for array in tables:
        array.flags.writeable = False
    return tables


def _masks(bits: list[Array], sets: Array) -> Array:
    """Return numbers whose k-th bits are the k-th of some arrays as long as `sets`."""
    masks = np.zeros_like(sets)
    for k, bit in enumerate(bits):
        masks |= bit.astype(np.uint64) << np.uint64(k)
    return masks


def _stages_at(cells: Array, columns: list[tuple[int, Array]]) -> int:
    """Return the set of stages that the same objects complete."""
    return sum(1 << i for i in {i for i, others in columns if np.array_equal(others, cells)})


def _sets_left(agenda: Agenda) -> Array:
    """Return all sets of stages that can be left, in increasing order, {} aside: nothing done needs what is left."""
    sets = np.arange(1, agenda.everything + 1, dtype=np.uint64)
    for i, needs in enumerate(agenda.needs):
        is_left = sets >> np.uint64(i) & np.uint64(1) != 0
        sets = sets[is_left | (sets & np.uint64(needs) == 0)]
    return sets


class Tour(NamedTuple):
    """A way to complete an agenda, from object to object."""

    length: int
    """Its steps."""
    stops: tuple[Cell, ...]
    """Rows and columns of the objects it goes to, in order."""
    is_shortest: bool
    """Whether it is proven to be as short as any; else it always goes to the nearest object."""


def find_tour(terrain: Terrain, agenda: Agenda, is_shortest: bool = True) -> Tour:
    """Return a shortest tour by Held and Karp, or the one that always goes to the nearest object."""
    columns = tabulate_columns(terrain, agenda, "object", is_shortest)
    n_k, n_s = len(columns.stage), len(terrain.cells)
    cells = np.array([*(place[0] for _, place in objects_of_columns(terrain, agenda, "object")), terrain.starts[0]])
    leg = np.empty((n_k + 1, n_k + 1), dtype=np.int32)
    plans.measure_legs(terrain.next_s, cells.astype(np.uint32), *(np.empty(n_s, kind) for kind in ("i4", "u4")), leg)
    open_columns, tour = np.empty(n_k, dtype=np.uint64), np.empty(len(agenda.targets), dtype=np.uint8)
    if is_shortest:
        length = np.empty((agenda.everything + 1, n_k), dtype=np.int32)
        total, n = plans.shortest_tour(columns, leg, length, open_columns, tour)
    else:
        total, n = plans.nearest_tour(columns, leg, open_columns, tour)
    return Tour(int(total), terrain.cells_of(cells[tour[:n]]), is_shortest)


@dataclass(frozen=True, eq=False)
class CellProblem(Problem):
    """A problem whose agent stands in one of some numbered cells."""

    terrain: Terrain
    """The numbered cells of the map."""
    machines: tuple[RewardMachine, ...]
    """The machines; with several, episodes play them in turn."""
    profile: Profile
    """How ambiguities of the literature are resolved."""
    tables: Tables
    """The arrays the kernels read."""
    slip: float = field(default=0.0, kw_only=True)
    """Probability that a move goes sideways."""
    gamma: float = field(default=0.9, kw_only=True)
    """The discount in the rewards of the tables; it matters where there are potentials."""

    @property
    def is_certain(self) -> bool:
        """Whether every action leads to one cell."""
        return not self.slip and self.tables.chance is None

    @cached_property
    def thresholds(self) -> Array | None:
        """uint64 [n_s, n_a, n_k]: cumulative probabilities of outcomes times 2^32; None where none are given."""
        chance = self.tables.chance
        if chance is None:
            return None
        above = np.floor(np.cumsum(chance, axis=2) * 2.0**32).astype(np.uint64)
        is_last = np.cumsum(chance[..., ::-1] > 0, axis=2)[..., ::-1] <= 1
        above[is_last] = 2**32  # the last that can happen takes the rest
        return above

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many parts a path may have, each of which visits a cell at most once."""

    @property
    @abstractmethod
    def sizes(self) -> list[tuple[str, object]]:
        """How large its machines are, in names and numbers."""

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions, by number."""
        return self.terrain.actions

    @property
    def layout(self) -> GridMap | None:
        """The map that pictures of it show, None where there is none."""
        return layout_of(self.terrain.world)

    @property
    def facts(self) -> list[tuple[str, object]]:
        """What there is to know about it at a glance: names and numbers."""
        grid, several = self.layout, len(self.starts) > 1
        return [
            ("map", f"{self.source}, {grid.size[0]} x {grid.size[1]}") if grid else ("world", self.source),
            ("cells", len(self.terrain.cells)),
            *([] if self.terrain.is_map else [("actions", ", ".join(self.actions))]),
            *self.sizes,
            *([("starts", len(self.starts))] if several else []),
            *([("slip", f"{self.slip:g}")] if self.slip else []),
            *([] if self.tables.chance is None else [("outcomes of an action", f"up to {self.terrain.outcomes}")]),
        ]

    @property
    def start_cells(self) -> tuple[Cell, ...]:
        """The cells of its map in which episodes begin."""
        return self.starts

    def describe(self) -> dict[str, object]:
        """Return what `fastrm.compile` makes it of, as values that JSON holds."""
        starts = [self.terrain.cells[s].tolist() if self.layout else s for s in self.tables.starts.tolist()]
        settings: dict[str, object] = {"metric": self.terrain.metric, "slip": float(self.slip), "gamma": self.gamma}
        settings |= self.terrain.describe()
        return super().describe() | {"world": write_world(self.terrain.world), "start": starts, "settings": settings}

    def draw_start(self, random: np.random.Generator) -> int:
        """Return the number of a start cell, drawn where there are several."""
        starts = self.tables.starts
        return int(starts[random.integers(starts.size)] if starts.size > 1 else starts[0])

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

    @property
    def room(self) -> int:
        """How many actions the tables of kernels have room for: a multiple of four."""
        return int(-(-self.n_actions // N_ACTIONS) * N_ACTIONS)

    @property
    def starts(self) -> tuple[Cell, ...]:
        """The cells in which episodes begin; of several, every episode begins in one, each as likely as the others."""
        return self.terrain.cells_of(self.tables.starts)

    @property
    def start(self) -> int:
        """Number of the start cell, of the first one where there are several."""
        return int(self.tables.starts[0])

    @property
    def start_numbers(self) -> Sequence[int]:
        """The numbers of the start cells."""
        numbers: list[int] = self.tables.starts.tolist()
        return numbers

    def number_of_any(self, cell: object) -> int:
        """Return the number of a cell, given by it or as `starts` gives it; raise ConfigError unless there is one."""
        if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            check_whole("cell", cell, 0, len(self.terrain.cells) - 1)
            return int(cell)
        return self.number_of(cell, "cell")

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

    @cached_property
    def tour(self) -> Tour | None:
        """A way from object to object that completes the (first) task, None where that is more than visits.

        It is sought on maps, where moves can be taken back, and None in worlds of other shapes.
        It is a shortest one up to 16 stages (Held and Karp); beyond that it always goes to the nearest object.
        """
        agenda = self.machines[0].agenda
        if agenda is None or not self.terrain.is_map:
            return None
        return find_tour(self.terrain, agenda, len(agenda.targets) <= MOST_TOURED)


def mean_length(lengths: Sequence[int]) -> float:
    """Return the mean of the lengths from all starts, and as a whole number where there is one start.

    >>> mean_length([4]), mean_length([4, 7])
    (4, 5.5)
    """
    return lengths[0] if len(lengths) == 1 else sum(lengths) / len(lengths)
