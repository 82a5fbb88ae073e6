"""Worlds of any shape, as a table of where every action leads and what holds where.

A grid is one such table, with four actions. A `TableWorld` may have 2 to 16, any number of propositions at once, and
its own features. Cells are numbered from 0; nothing else is known of them unless a map is given as their layout.
An action leads to one cell, or to one of several *outcomes* by chance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_known
from fastrm.errors import MapError, printable, shown
from fastrm.textfile import check_path, read_text
from fastrm.worlds.grid import GridMap
from fastrm.worlds.moves import MOST_ACTIONS
from fastrm.worlds.tiles import FLOOR, START, WALL, split_object

Labels = Sequence[Any] | Mapping[Any, Any]
"""What holds: a collection of names per cell, or per cell and action; or a table of those that hold anything."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset({"true", "false", "otherwise", "when", "reward", "do"})
"""Words of machines, which cannot name anything in a world."""


def is_label(name: object) -> bool:
    """Return whether a text can name a label or feature beside the objects of maps: several letters, and no ``a1``.

    >>> [is_label(name) for name in ("coffee", "a", "a1", "when")]
    [True, False, False, False]
    """
    if not isinstance(name, str) or len(name) < 2 or name in RESERVED:
        return False
    return NAME.fullmatch(name) is not None and split_object(name)[1] is None


MOST_CELLS = 10_000_000
MOST_OUTCOMES = 16
MOST_SHOWN = 8
"""Labels that `repr` names one by one."""


class TableWorld:
    r"""A world given by tables.

    Parameters
    ----------
    next_s : array of int, [cells, actions] or [cells, actions, outcomes]
        Where every action leads from every cell; 2 to 16 actions. With `probability` up to 16 outcomes of each.
    labels : sequence or mapping
        The propositions that hold after a move: a set of names per cell, for moves *into* it, whatever led there, or a
        list of sets per cell, one per action, for moves *out of* it. A mapping names only cells, or pairs of cell and
        action (all outcomes of it), or triples of cell, action and outcome, where something holds. Names are words such
        as ``gold``, but no words of machines such as ``when``.
    start : int, sequence of int, or "anywhere"
        Where episodes begin; of several cells every episode begins in one, each as likely as the others.
        ``"anywhere"`` means every cell.
    features : mapping of str to sequence of int
        A whole number from 0 per cell, which machines read after a move: ``fuel`` or ``d(fuel)``, and ``closer(fuel)``
        says that it fell. A name without brackets has several letters. Of a proposition x, ``d(x)`` counts the steps to
        the nearest cell, or move, where it holds.
    names : sequence of str, optional
        Names of the actions, for messages.
    probability : array of float, [cells, actions, outcomes], optional
        How likely every outcome of an action is; each row sums to 1. An outcome of probability 0 never happens, so rows
        with fewer outcomes are filled up with those.
    layout : GridMap, optional
        A map whose floor cells, in reading order, are the cells of the world; pictures need one.
    source : str
        Where the world came from, for messages.

    Raises
    ------
    MapError
        Naming cell and cure when a table has holes, a label is out of reach, or something has the wrong shape.

    Examples
    --------
    A ring of five cells on which one can go either way; gold lies on cell 3.

    >>> ring = TableWorld([[(s + 1) % 5, (s - 1) % 5] for s in range(5)], {3: "gold"})
    >>> ring
    <TableWorld <table>: 5 cells, 2 actions, gold>
    >>> import fastrm
    >>> text = "start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise reward 0"
    >>> fastrm.compile(ring, fastrm.RewardMachine.parse(text)).shortest
    (2,)

    On ice every move fails, and leaves one where one is, in one of five cases.

    >>> moves = [[[(s + 1) % 5, s], [(s - 1) % 5, s]] for s in range(5)]
    >>> ice = TableWorld(moves, {3: "gold"}, probability=[[[0.8, 0.2]] * 2] * 5)
    >>> ice
    <TableWorld <table>: 5 cells, 2 actions, 2 outcomes, gold>
    >>> round(fastrm.solve(fastrm.compile(ice, fastrm.RewardMachine.parse(text))).expected_length(), 9)
    2.5
    """

    def __init__(
        self,
        next_s: Any,
        labels: Labels,
        start: int | Sequence[int] | str = 0,
        features: Mapping[str, Sequence[int]] | None = None,
        names: Sequence[str] | None = None,
        *,
        probability: Any = None,
        layout: GridMap | None = None,
        source: str = "<table>",
    ) -> None:
        self.source = source
        self.next_s = self._read_moves(next_s, 2 if probability is None else 3)
        self.n_cells, self.n_actions = self.next_s.shape[:2]
        self.probability = None if probability is None else self._read_probability(probability)
        self.marks = self._read_labels(labels)
        self.starts = self.read_starts(start)
        if not isinstance(features or {}, Mapping):
            raise self._fault(f"features={shown(features)}: must be a table of columns, a name for each")
        self.features = {name: self._read_feature(name, column) for name, column in (features or {}).items()}
        self.names = self._read_names(names)
        self.layout = self._check_layout(layout)
        for name, marks in self.marks.items():
            if not marks.any():
                raise self._fault(f"labels: {shown(name)} holds only after outcomes of probability 0; remove it")
            if not (marks[self.next_s] if marks.ndim == 1 else marks)[self.within_reach].any():
                place = tuple(np.argwhere(marks)[0].tolist())
                raise self._fault(
                    f"labels: no way leads from the start to {shown(name)} at "
                    f"{shown(place if len(place) > 1 else place[0])}; open one, or remove it"
                )

    def _fault(self, message: str) -> MapError:
        return MapError(f"{self.source}: {message}")

    def _read_moves(self, next_s: Any, dimensions: int) -> Array:
        each = "cell and action" if dimensions == 2 else "cell, action and outcome"
        try:
            given = np.asarray(next_s)
        except ValueError:
            raise self._fault(f"next_s: rows differ in length; give a number per {each}") from None
        if given.ndim == dimensions and given.dtype.kind in "Of":
            for s, a, *k in np.ndindex(given.shape):
                there = given.item(s, a, *k)
                if not isinstance(there, int | np.integer) and not (isinstance(there, float) and there.is_integer()):
                    raise self._fault(
                        f"next_s: action {a} leads from cell {s} to {shown(there)}: must be a whole number; a move "
                        "that is not possible leads to the cell itself"
                    )
        if given.ndim != dimensions or given.dtype.kind not in "iu" or not given.size:
            cure = "; outcomes need probability=..." if (given.ndim, dimensions) == (3, 2) else ""
            shape = "[cells, actions]" if dimensions == 2 else "[cells, actions, outcomes], with a probability of each"
            raise self._fault(f"next_s: must be whole numbers, {shape}{cure}")
        if not 2 <= given.shape[1] <= MOST_ACTIONS or len(given) > MOST_CELLS:
            raise self._fault(
                f"next_s: {given.shape[0]} cells and {given.shape[1]} actions; up to {MOST_CELLS} cells and 2 to "
                f"{MOST_ACTIONS} actions are possible"
            )
        if dimensions == 3 and given.shape[2] > MOST_OUTCOMES:
            raise self._fault(f"next_s: {given.shape[2]} outcomes; an action may have up to {MOST_OUTCOMES}")
        holes = np.argwhere((given < 0) | (given >= len(given)))
        if holes.size:
            s, a, *k = holes[0].tolist()
            raise self._fault(
                f"next_s: action {a} leads from cell {s} to {given[s, a, *k]}, and cells are 0 to {len(given) - 1}; a "
                "move that is not possible leads to the cell itself"
            )
        table = given.astype(np.uint32)
        table.flags.writeable = False
        return table

    def _read_probability(self, probability: Any) -> Array:
        """Return the probabilities; what never happens leads in `next_s` where the last that can happen leads."""
        try:
            given = np.asarray(probability)
        except ValueError:
            given = np.zeros(0)
        if given.shape != self.next_s.shape or given.dtype.kind not in "iuf":
            raise self._fault(f"probability: must be numbers, as many as in next_s, {list(self.next_s.shape)}")
        table = given.astype(np.float64)
        for what, is_bad in (
            ("has a number outside 0 to 1", ~((table >= 0) & (table <= 1)).all(axis=2)),
            ("does not sum to 1", np.abs(table.sum(axis=2) - 1) > 1e-9),
        ):
            if is_bad.any():
                s, a = np.argwhere(is_bad)[0].tolist()
                row = ", ".join(f"{p:g}" for p in table[s, a])
                raise self._fault(
                    f"probability: action {a} in cell {s} {what}: {row}; give each outcome its share of 1"
                )
        self.next_s = np.take_along_axis(self.next_s, _possible(table), axis=2)
        for array in (table, self.next_s):
            array.flags.writeable = False
        return table

    def _read_labels(self, labels: Labels) -> dict[str, Array]:
        """Return for every proposition, in alphabetical order, the cells or moves where it holds."""
        if not isinstance(labels, Mapping):
            if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != self.n_cells:
                raise self._fault(f"labels: must be one collection of names per cell ({self.n_cells}), or a table")
            labels = self._as_table(labels)
        by_move = any(isinstance(key, tuple) for key in labels)
        if by_move and not all(isinstance(key, tuple) for key in labels):
            one = next(key for key in labels if not isinstance(key, tuple))
            two = next(key for key in labels if isinstance(key, tuple))
            raise self._fault(
                f"labels: {shown(one)} is a cell and {shown(two)} a cell with an action; name cells everywhere, or "
                "pairs of cell and action everywhere"
            )
        by_outcome = by_move and self.next_s.ndim == 3 and all(len(key) == 3 for key in labels)
        bounds = self.next_s.shape[: 3 if by_outcome else 2] if by_move else (self.n_cells,)
        marks: dict[str, Array] = {}
        for key, named in labels.items():
            place = key if isinstance(key, tuple) else (key,)
            if len(place) != len(bounds) or not all(_is_below(k, n) for k, n in zip(place, bounds, strict=True)):
                wanted = ("a cell", "a pair of cell and action", "cell, action and outcome")[len(bounds) - 1]
                raise self._fault(f"labels: {shown(key)}: must be {wanted}, below {' and '.join(map(str, bounds))}")
            for name in named if isinstance(named, Collection) and not isinstance(named, str) else [named]:
                self._check_name("labels", name, f" at {shown(key)}", "gold")
                marks.setdefault(name, np.zeros(bounds, dtype=np.bool_))[place] = True
        if by_outcome and self.probability is not None:  # what never happens has the labels of what can
            marks = {name: np.take_along_axis(held, _possible(self.probability), 2) for name, held in marks.items()}
        return dict(sorted(marks.items()))

    def _as_table(self, labels: Sequence[Any]) -> dict[Any, Any]:
        """Return a list of labels as a table; a list in the place of a cell's names has the names of its actions."""
        if not any(isinstance(named, list) for named in labels):
            return dict(enumerate(labels))
        for s, row in enumerate(labels):
            if not isinstance(row, list) or len(row) != self.n_actions:
                raise self._fault(f"labels: cell {s}: must be a list of {self.n_actions} sets of names, one per action")
        return {(s, a): named for s, row in enumerate(labels) for a, named in enumerate(row)}

    def _check_name(self, what: str, name: object, where: str, example: str) -> None:
        """Raise MapError unless machines can read a name."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise self._fault(f"{what}: {shown(name)}{where}: must be a name such as {example}")
        if name in RESERVED:
            raise self._fault(f"{what}: {shown(name)}{where}: is a word of machines; choose another name")

    def read_starts(self, start: object) -> Array:
        """Return the numbers of start cells given as to `TableWorld`."""
        if isinstance(start, str) and start == "anywhere":
            return np.arange(self.n_cells, dtype=np.uint32)
        cells: list[Any] = list(start) if isinstance(start, list | tuple | range | np.ndarray) else [start]
        for cell in cells or [None]:
            if not _is_below(cell, self.n_cells):
                raise self._fault(
                    f"start={shown(start)}: must be 'anywhere', or one or several cells 0 to {self.n_cells - 1}"
                )
        return np.unique(cells).astype(np.uint32)

    def _read_feature(self, name: str, column: Any) -> Array:
        self._check_name("features", name, "", "fuel")
        try:
            given = np.asarray(column)
        except ValueError:  # rows that differ in length
            given = np.zeros(0)
        fits = given.shape == (self.n_cells,) and given.dtype.kind in "iu"
        if not fits or given.min() < 0 or given.max() >= 2**30:
            raise self._fault(f"features: {name}: must be a whole number from 0 per cell ({self.n_cells})")
        return given.astype(np.int32)

    def _read_names(self, names: Sequence[str] | None) -> tuple[str, ...]:
        if names is None:
            return tuple(f"action {a}" for a in range(self.n_actions))
        given = tuple(names) if isinstance(names, list | tuple) else ()
        if len(given) != self.n_actions or not all(isinstance(name, str) and name for name in given):
            raise self._fault(f"names={shown(names)}: must be a list of {self.n_actions} names, one per action")
        return tuple(map(printable, given))

    def _check_layout(self, layout: GridMap | None) -> GridMap | None:
        if layout is None:
            return None
        if not isinstance(layout, GridMap):
            raise self._fault(f"layout={shown(layout)}: must be a GridMap")
        floor = len(layout.floor)
        if floor != self.n_cells:
            raise self._fault(f"layout: {layout.source} has {floor} floor cells, and the world {self.n_cells} cells")
        return layout

    @cached_property
    def within_reach(self) -> Array:
        """For every cell, whether episodes can come to it."""
        seen = np.zeros(self.n_cells, dtype=np.bool_)
        frontier = self.starts
        while frontier.size:
            seen[frontier] = True
            reached = np.unique(self.next_s[frontier])
            frontier = reached[~seen[reached]]
        return seen

    def __repr__(self) -> str:
        names, more = list(self.marks)[:MOST_SHOWN], len(self.marks) - MOST_SHOWN
        labels = ", ".join(names + [f"{more} labels more"] * (more > 0)) or "no labels"
        outcomes = "" if self.probability is None else f"{self.next_s.shape[2]} outcomes, "
        return f"<TableWorld {self.source}: {self.n_cells} cells, {self.n_actions} actions, {outcomes}{labels}>"

    def __eq__(self, other: object) -> bool:
        """Worlds are equal if their tables are, wherever they came from."""
        if not isinstance(other, TableWorld):
            return NotImplemented
        return np.array_equal(self.next_s, other.next_s) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.next_s.shape, self.next_s.tobytes()))

    def to_json(self) -> str:
        """Return the world as text, which `from_json` reads; worlds that are equal have equal texts."""
        places = {name: np.argwhere(marks).tolist() for name, marks in self.marks.items()}
        table = {
            "next_s": self.next_s.tolist(),
            **({} if self.probability is None else {"probability": self.probability.tolist()}),
            "labels": {name: [p if len(p) > 1 else p[0] for p in found] for name, found in places.items()},
            "start": self.starts.tolist(),
            "features": {name: column.tolist() for name, column in sorted(self.features.items())},
            "names": list(self.names),
            "layout": None if self.layout is None else self.layout.render(),
        }
        return json.dumps(table, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, source: str = "<table>") -> TableWorld:
        """Read a world from the text of `to_json`."""
        fault = MapError(f"{source}: TableWorld.save did not write it; of a file of water worlds name one: file:M1")
        try:
            table = json.loads(text)
        except (ValueError, RecursionError):
            raise fault from None
        if not isinstance(table, dict) or "next_s" not in table or not isinstance(table.get("labels", {}), dict):
            raise fault
        for name in table:
            check_known(name, ("next_s", "probability", "labels", "start", "features", "names", "layout"), given=table)
        labels: dict[Any, list[str]] = {}
        for name, places in table.pop("labels", {}).items():
            for place in places if isinstance(places, list) else [places]:
                numbers = place if isinstance(place, list) else [place]
                if not all(isinstance(number, int) for number in numbers):
                    raise MapError(
                        f"{source}: labels: {shown(name)} at {shown(place)}: must be a cell, or a cell and an action"
                    )
                labels.setdefault(tuple(place) if isinstance(place, list) else place, []).append(name)
        layout = table.pop("layout", None)
        if layout is not None and not isinstance(layout, str):
            raise MapError(f"{source}: layout={shown(layout)}: must be the text of a map")
        grid = None if layout is None else GridMap.parse(layout, f"{source}: layout")
        return cls(labels=labels, layout=grid, source=source, **table)

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        labels: Labels | Callable[[int, int, int, float, bool], str | Collection[str] | None],
        start: int | Sequence[int] | str | None = None,
        **settings: Any,
    ) -> TableWorld:
        """Make the world of a Gymnasium environment that has a table of transitions.

        States become cells, in their order. What the environment pays, and where it ends, is up to the machine, so
        label the transitions that matter.

        Parameters
        ----------
        env : gymnasium.Env
            An environment with the attribute ``P``, such as FrozenLake, Taxi or CliffWalking.
        labels : sequence, mapping or function
            As in `TableWorld`, or a function of a transition, ``labels(state, action, next_state, reward,
            terminated)``, that returns the name or names of what holds after it, or nothing.
        start : optional
            As in `TableWorld`; by default the states in which the environment begins.
        **settings
            Other arguments of `TableWorld`. A `layout` is made where the environment has rows and columns.

        Raises
        ------
        MapError
            When the environment has no such table, or begins in some states more often than in others.

        Examples
        --------
        >>> from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
        >>> def labels(s, a, s_next, reward, terminated):
        ...     return "goal" if reward else "hole" if terminated else None
        >>> TableWorld.from_gymnasium(FrozenLakeEnv(is_slippery=True), labels)
        <TableWorld <FrozenLakeEnv>: 16 cells, 4 actions, 3 outcomes, goal, hole>
        """
        bare = getattr(env, "unwrapped", env)
        spec = getattr(env, "spec", None)
        source = settings.setdefault("source", f"<{spec.id if spec else type(bare).__name__}>")
        rows = _transitions(bare, source)
        n_k = max(len(outcomes) for row in rows for outcomes in row)
        is_certain = n_k == 1 and all(abs(p - 1) <= 1e-9 for row in rows for [(p, *_)] in row)
        if callable(labels):
            found = {
                (s, a, k)[: 2 if is_certain else 3]: labels(s, a, *there[1:])
                for s, row in enumerate(rows)
                for a, outcomes in enumerate(row)
                for k, there in enumerate(outcomes)
            }
            labels = {key: named for key, named in found.items() if named}
        if start is None:
            start = _start_states(bare, len(rows), source)
        if settings.get("layout") is None:
            settings["layout"] = _lay_out(bare, len(rows), start)
        if is_certain:
            return cls([[outcomes[0][1] for outcomes in row] for row in rows], labels, start, **settings)
        rows = [[outcomes + [(0.0, *outcomes[-1][1:])] * (n_k - len(outcomes)) for outcomes in row] for row in rows]
        share, next_s = ([[[there[i] for there in outcomes] for outcomes in row] for row in rows] for i in (0, 1))
        return cls(next_s, labels, start, probability=share, **settings)

    def save(self, path: str | Path) -> None:
        """Write the world to a file that `load` reads."""
        name = check_path(path, MapError)
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except OSError as problem:
            reason = problem.strerror or problem
            raise MapError(f"{printable(name)}: cannot be written: {reason}; choose another file") from None

    @classmethod
    def load(cls, path: str | Path) -> TableWorld:
        """Read a world that `save` wrote; nothing in the file is executed."""
        return cls.from_json(read_text(path, MapError), printable(str(path)))


Transition = tuple[float, int, float, bool]
"""Probability, next state, reward, and whether the episode is over."""


def _transitions(env: Any, source: str) -> list[list[list[Transition]]]:
    """Return the transitions of every state and action of an environment, those that never happen left out."""
    table = getattr(env, "P", None)
    if table is None:
        raise MapError(
            f"{source}: has no table of transitions P, as FrozenLake, Taxi and CliffWalking have; write a TableWorld"
        )
    try:
        rows = [
            [[(float(p), int(there), float(r), bool(over)) for p, there, r, over in table[s][a] if p > 0]
             for a in range(len(table[s]))]
            for s in range(len(table))
        ]  # fmt: skip
    except (KeyError, IndexError, TypeError, ValueError):
        rows = []
    if not rows or not rows[0] or not all(len(row) == len(rows[0]) and all(row) for row in rows):
        raise MapError(
            f"{source}: P: must list (probability, next state, reward, terminated) for every state 0, 1, ... and each "
            "of its actions 0, 1, ..."
        )
    return rows


def _start_states(env: Any, n_cells: int, source: str) -> list[int]:
    """Return the states in which an environment begins, each as likely as the others."""
    try:
        share = np.asarray(getattr(env, "initial_state_distrib", ()), dtype=np.float64)
    except (TypeError, ValueError):
        share = np.zeros(0)
    begins = np.flatnonzero(share)
    if share.shape != (n_cells,) or not np.allclose(share[begins], 1 / max(1, begins.size), rtol=1e-9):
        raise MapError(f"{source}: its start states are unknown or not equally likely; give start=[...]")
    cells: list[int] = begins.tolist()
    return cells


def _lay_out(env: Any, n_cells: int, start: object) -> GridMap | None:
    """Return a map of the rows and columns of an environment, None where it has none."""
    tiles = np.asarray(getattr(env, "desc", ()))
    height, width = tiles.shape if tiles.ndim == 2 else (getattr(env, "shape", None) or (0, 0))
    if height * width != n_cells:
        return None
    shown_as = {"S": START, "F": FLOOR}
    text = "".join(shown_as.get(tile, tile.lower()) for tile in tiles.astype(str).ravel()) or FLOOR * n_cells
    if START not in text and isinstance(start, list):
        text = "".join(START if s in start else tile for s, tile in enumerate(text))
    lines = [text[width * row : width * (row + 1)] for row in range(height)]
    edge = WALL * (width + 2)
    try:
        return GridMap.parse("\n".join([edge, *(f"{WALL}{line}{WALL}" for line in lines), edge]), "<layout>")
    except MapError:  # tiles that maps do not know
        return None


def _possible(probability: Array) -> Array:
    """Return the number of every outcome, or where it never happens that of the last outcome that can.

    >>> _possible(np.array([[[0.5, 0.0, 0.5, 0.0]]]))
    array([[[0, 2, 2, 2]]])
    """
    n_k, can = probability.shape[2], probability > 0
    last = n_k - 1 - np.argmax(can[..., ::-1], axis=2)
    return np.where(can, np.arange(n_k), last[..., None])


def _is_below(value: object, bound: int) -> bool:
    """Return whether a value is an integer in [0, bound)."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < bound)
