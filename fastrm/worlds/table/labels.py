"""What holds where in a world of tables: read from lists or mappings, by cell or by move."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import MapError, shown

Labels = Sequence[Any] | Mapping[Any, Any]
"""What holds: a collection of names per cell, or per cell and action; or a table of those that hold anything."""
Fault = Callable[[str], MapError]
"""Makes an error that names the world."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset({"true", "false", "otherwise", "when", "reward"})
"""Words of machines, which nothing in a world can be called."""


def read_labels(labels: Labels, shape: tuple[int, int], fault: Fault) -> dict[str, Array]:
    """Return per proposition, in alphabetical order, the cells or moves where it holds; `shape` is [cells, actions]."""
    if not isinstance(labels, Mapping):
        if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != shape[0]:
            raise fault(f"labels: must be one collection of names per cell ({shape[0]}), or a table")
        labels = dict(_listed(labels, shape[1], fault))
    by_move = any(isinstance(key, tuple) for key in labels)
    if by_move and not all(isinstance(key, tuple) for key in labels):
        one = next(key for key in labels if not isinstance(key, tuple))
        two = next(key for key in labels if isinstance(key, tuple))
        raise fault(
            f"labels: {shown(one)} is a cell and {shown(two)} a cell with an action; name cells everywhere, or pairs "
            "of cell and action everywhere"
        )
    found: dict[str, Array] = {}
    for key, named in labels.items():
        place = _place(key, shape if by_move else shape[:1], fault)
        for name in [named] if isinstance(named, str) else named if isinstance(named, Collection) else [named]:
            check_name("labels", name, f" at {shown(key)}", "gold", fault)
            found.setdefault(name, np.zeros(shape if by_move else shape[0], dtype=np.bool_))[place] = True
    return dict(sorted(found.items()))


def check_name(what: str, name: object, where: str, example: str, fault: Fault) -> None:
    """Refuse what machines cannot read as a name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise fault(f"{what}: {shown(name)}{where}: must be a name such as {example}")
    if name in RESERVED:
        raise fault(f"{what}: {shown(name)}{where}: is a word of machines; choose another name")


def _listed(labels: Sequence[Any], n_actions: int, fault: Fault) -> Iterable[tuple[Any, Any]]:
    """Yield a list of labels as a table; a list in the place of a cell's names has its actions' names."""
    if not any(isinstance(named, list) for named in labels):
        yield from enumerate(labels)
        return
    for s, row in enumerate(labels):
        if not isinstance(row, list) or len(row) != n_actions:
            raise fault(f"labels: cell {s}: must be a list of {n_actions} sets of names, one per action")
        for a, named in enumerate(row):
            yield (s, a), named


def _place(key: Any, bounds: Sequence[int], fault: Fault) -> Any:
    """Return where in a table of marks a cell, or a cell and action, is."""
    numbers = key if isinstance(key, tuple) else (key,)
    if len(numbers) != len(bounds) or not all(is_below(k, n) for k, n in zip(numbers, bounds, strict=True)):
        wanted = "a pair of cell and action" if len(bounds) > 1 else "a cell"
        raise fault(f"labels: {shown(key)}: must be {wanted}, below {' and '.join(map(str, bounds))}")
    return numbers if len(bounds) > 1 else numbers[0]


def is_below(value: object, bound: int) -> bool:
    """Say whether something is a whole number from 0, below a bound."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < bound)
