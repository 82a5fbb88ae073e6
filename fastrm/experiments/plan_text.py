"""Reading the text of a plan, which may come from a foreign file: everything in it has its type and range.

What a learner or a compiler checks itself, such as the text of a map, is left to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from fastrm.checks import check_choice, check_number, check_whole
from fastrm.errors import ConfigError, shown
from fastrm.experiments.methods import Method
from fastrm.experiments.sweeps import SETTINGS
from fastrm.machines import RewardMachine
from fastrm.machines.language import read
from fastrm.problems import ANYWHERE, METRICS

MOST_RUNS = 10**8
"""Runs of a plan: some tables have a row per run of the plan, whether or not it was made."""


def read_plan(text: str) -> dict[str, Any]:
    """Return the entries of a plan.

    Raises
    ------
    ConfigError
        When the text is no JSON, or an entry is missing, of the wrong type or out of range.
    """
    try:
        table = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("not JSON") from None
    if not isinstance(table, dict):
        raise ConfigError("no table of settings")
    for name, check in _ENTRIES.items():
        if name not in table:
            raise ConfigError(f"lacks {name}")
        check(name, table[name])
    check_number("slip", table.get("slip", 0.0), 0, 1)
    if table.get("optimism") is not None:
        check_number("optimism", table["optimism"], -1e6, 1e6)
    check_start(table.get("start"))
    _check_sweep(table)
    _check_warm_start(table)
    _check_machines(table)
    _check_count(table)
    return table


def check_start(start: object) -> None:
    """Refuse starts that not every map has: only "anywhere" is one."""
    if start is not None and not (isinstance(start, str) and start == ANYWHERE):
        raise ConfigError(
            f"start={shown(start)}: must be {ANYWHERE!r}; without it episodes begin in the cells that the maps mark"
        )


def read_machine(text: str, source: str) -> RewardMachine:
    """Read a machine of a plan; its lines are nobody's, so that messages name only the source."""
    draft = read(text, source)
    return RewardMachine.from_draft(replace(draft, edges=tuple(replace(edge, line=None) for edge in draft.edges)))


def known_fields(kind: Any, table: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a table that are fields of a dataclass."""
    return {f.name: table[f.name] for f in fields(kind) if f.name in table}


def _is_name(value: object) -> bool:
    """Whether a text can stand in a column: columns of text end at a NUL and are UTF-8."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_grid(item: object) -> bool:
    return isinstance(item, list) and len(item) == 3 and all(map(_is_name, item))


def _is_task(item: object) -> bool:
    if not (isinstance(item, list) and len(item) == 2 and _is_name(item[0]) and isinstance(item[1], dict)):
        return False
    return all(isinstance(texts, list) and texts and all(map(_is_rotation, texts)) for texts in item[1].values())


def _is_rotation(texts: object) -> bool:
    """Whether this is the machines of a map, played in rotation."""
    return isinstance(texts, list) and bool(texts) and all(map(_is_name, texts))


def _is_swept(item: object) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[1], list) and bool(item[1])


def _is_method(label: object) -> bool:
    return _is_name(label) and bool(Method.read(str(label)).algo)


def _list_of(fits: Callable[[object], bool], what: str) -> Callable[[str, object], None]:
    """Return a check of lists that are not empty."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, list) or not value or not all(map(fits, value)):
            raise ConfigError(f"{name}: must be a list of {what}")

    return check


def _check_table(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise ConfigError(f"{name}={value!r:.60}: must be a table")


def _check_word(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name}={value!r:.60}: must be a word")


def _whole(low: int, high: int) -> Callable[[str, object], None]:
    return lambda name, value: check_whole(name, value, low, high)


_ENTRIES: dict[str, Callable[[str, object], None]] = {
    "experiment": _check_table,
    "grids": _list_of(_is_grid, "maps, each with setup, name and text"),
    "tasks": _list_of(_is_task, "tasks, each with a name and machines by kind"),
    "methods": _list_of(_is_method, "methods"),
    "seeds": _whole(1, 10**6),
    "steps": _whole(1, 2**53),
    "profile": _check_word,
    "metric": lambda name, value: check_choice(name, value, METRICS),
    "learner": _check_table,
    "root_seed": _whole(0, 2**64 - 1),
}
"""What every plan has, and how it is checked."""


def _check_machines(table: dict[str, Any]) -> None:
    """Insist on machines for every method, once for all maps or for each of them."""
    kinds = [Method.read(label).kind or "" for label in table["methods"]]
    for name, machines in table["tasks"]:
        for kind in [""] if "" in machines else kinds:
            if len(machines.get(kind, ())) not in (1, len(table["grids"])):
                raise ConfigError(f"tasks: {name!r:.60} lacks machines of kind {kind!r}")


def _check_sweep(table: dict[str, Any]) -> None:
    """Insist on pairs of a setting and its values; what settings take is checked where they are read."""
    sweep = table.get("sweep", [])
    if not isinstance(sweep, list) or not all(map(_is_swept, sweep)):
        raise ConfigError("sweep: must be a list of settings, each with its values")
    names = [name for name, _ in sweep]
    if names != [name for name in SETTINGS if name in names]:
        raise ConfigError("sweep: must name settings of the learners, each once and in their order")


def _check_warm_start(table: dict[str, Any]) -> None:
    """Insist on pairs of words; which words, and whether they lead in a circle, is checked where they are read."""
    pairs = table.get("warm_start", [])
    if not isinstance(pairs, list) or not all(
        isinstance(p, list) and len(p) == 2 and all(map(_is_name, p)) for p in pairs
    ):
        raise ConfigError("warm_start: must be a list of pairs of methods")


def _check_count(table: dict[str, Any]) -> None:
    count = math.prod(len(table[name]) for name in ("grids", "tasks", "methods")) * table["seeds"]
    count *= math.prod(len(values) for _, values in table.get("sweep", []))
    if count > MOST_RUNS:
        raise ConfigError(f"speaks of {count} runs; at most {MOST_RUNS} can be read")
