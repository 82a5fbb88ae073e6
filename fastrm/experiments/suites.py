"""Experiments as TOML files, and the suites that come with fastrm."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, FastrmError, did_you_mean, place, printable, shown
from fastrm.experiments.experiment import SETTINGS, Experiment
from fastrm.textfile import check_path, read_text, read_toml

SUITES = (Path(__file__).parents[2] / "bench" / "suites", Path(__file__).parents[1] / "bench" / "suites")
"""Where experiment files and maps lie, in a checkout and in an installed package."""
MAX_BYTES = 2**20  # of an experiment file
REFERENCE = "$REFERENCE"
"""How a TOML file names the folder of the published data."""
TABLES = ("learner", "terminal_rewards", "warm_start", "figure")
"""Keys that hold tables."""
FILES = ("map_files", "machine_files")
"""Keys that hold names of files, relative to the folder of the TOML file that has them."""


def read_suite(name: str, reference: str | Path | None = None, **changes: int | None) -> list[Experiment]:
    """Return the experiments that a suite or a TOML file stands for: the parts of a series, or one.

    Settings that are not None replace those of the file.

    >>> [experiment.name for experiment in read_suite("quick", seeds=2)]
    ['quick']
    """
    path = find_suite(name)
    table = _read_toml(path)
    if "series" not in table:
        return [_experiment(path, table, reference, changes)]
    parts = table["series"]
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{where_in(path, 'series')}series={shown(parts)}: must be a list of suites")
    return [read_experiment(find_suite(part, series=False), reference, **changes) for part in parts]


class Suite(NamedTuple):
    """What there is to know of a suite before it is run."""

    name: str
    description: str
    """The first comment of its file."""
    runs: int
    steps: tuple[int, ...]
    """Steps of a run, of every experiment of a series."""
    needs_reference: bool
    """Whether it needs the published data of the reference implementation."""
    parts: tuple[str, ...]
    """Names of its experiments."""


def list_suites() -> list[Suite]:
    """Return the suites that come with fastrm.

    >>> [(suite.runs, suite.steps) for suite in list_suites() if suite.name == "quick"]
    [(144, (200000,))]
    """
    found = []
    for name, path in sorted(_suites().items()):
        text = read_text(path, ConfigError, MAX_BYTES)
        experiments = read_suite(name, reference=path.parent)  # no map or machine is read
        files = [file for one in experiments for file in (*one.map_files, *one.machine_files)]
        found.append(
            Suite(
                name=name,
                description=text.split("\n", 1)[0].removeprefix("#").strip(),
                runs=sum(one.runs for one in experiments),
                steps=tuple(one.steps for one in experiments),
                needs_reference=any(not Path(file).is_file() for file in files),
                parts=tuple(one.name for one in experiments),
            )
        )
    return found


def read_experiment(path: Path, reference: str | Path | None = None, **changes: int | None) -> Experiment:
    """Read a TOML file; names of map and machine files are relative to its folder.

    Those that begin with ``$REFERENCE`` lie in the folder of published data (see `reference_folder`). With ``base =
    "other.toml"`` it only says what differs from that file in the same folder, with ``base = "paper"`` from that suite.
    """
    table = _read_toml(path)
    if "series" in table:
        raise ConfigError(
            f"{where_in(path, 'series')}a series of experiments, where one is expected; name one of them: "
            f"{shown(table['series'])}"
        )
    return _experiment(path, table, reference, changes)


def _experiment(
    path: Path, table: dict[str, Any], reference: str | Path | None, changes: dict[str, int | None]
) -> Experiment:
    """Make an experiment of the keys of a file and what is to replace them."""
    try:
        _refuse_lists(table)
        keys: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
        for key in FILES:
            names = keys.get(key, ())
            if isinstance(names, tuple) and all(isinstance(name, str) for name in names):
                keys[key] = tuple(_locate(name, path.parent, reference) for name in names)
        keys |= {key: value for key, value in changes.items() if value is not None}
        keys.setdefault("name", path.stem)
        return Experiment(**keys)
    except FastrmError as problem:
        given = [key for key, value in changes.items() if value is not None]
        raise ConfigError(f"{_blame(path, str(problem), given)}{problem}") from None


_KEYS = {"method": "methods", "map": "setups", "setup": "setups", "task": "tasks"}
"""Keys that messages call otherwise."""


def _blame(path: Path, message: str, given: Iterable[str]) -> str:
    """Return the ``file:line: `` that a message about an experiment begins with; what was given is in no file."""
    match = re.match(r"(?:unknown key ')?(?:learner\.)?([a-z_]+)", message)
    word = match[1] if match else ""
    if word in given:
        return ""
    quoted = re.search(r"'([^']+)'", message)
    where = where_in(path, _KEYS.get(word, word), quoted[1] if quoted else "")
    if word == "method" and where == place(printable(str(path))):
        return where_in(path, "learners")
    in_learner = word in {f.name for f in fields(LearnerConfig)} or message.startswith("unknown key 'learner.")
    return where_in(path, "learner") if in_learner and where == place(printable(str(path))) else where


def where_in(path: Path, key: str, value: str = "") -> str:
    """Return the ``file:line: `` of a key, or of a text in its list, in an experiment file or the one it builds on.

    Without a line where neither has the key.
    """
    for file in (path, *_base(path)):
        lines = read_text(file, ConfigError, MAX_BYTES).split("\n")
        pattern = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}\b[^#]*[]=]")
        found = [k for k, line in enumerate(lines) if key and pattern.match(line)]
        if found:
            holds = (k for k in range(found[0], len(lines)) if value and f'"{value}"' in lines[k].replace("'", '"'))
            return place(printable(str(file)), 1 + next(holds, found[0]))
    return place(printable(str(path)))


def _base(path: Path) -> list[Path]:
    """Return the file that another builds on, if there is one."""
    match = re.search(r"^base\s*=\s*[\"']([^\"'/\\\n]+)[\"']", read_text(path, ConfigError, MAX_BYTES), re.MULTILINE)
    with contextlib.suppress(ConfigError):  # of a suite that is unknown
        return [_base_path(path, match[1])] if match else []
    return []


def _base_path(path: Path, base: str) -> Path:
    """Return where the base of a file lies: a TOML file beside it, or a suite."""
    return path.parent / base if base.endswith(".toml") else find_suite(base, series=False)


def suite_file(name: str) -> Path:
    """Return a file that comes with the suites, such as ``office.map``."""
    return next(path for folder in SUITES if (path := folder / name).is_file())


def find_suite(name: str, series: bool = True) -> Path:
    """Return the file of a suite, or the path of a TOML file itself; messages name a series only if `series`."""
    check_path(name, ConfigError)
    if Path(name).suffix == ".toml":
        return Path(name)
    suites = _suites()
    if str(name) not in suites:
        fitting = [suite for suite, path in suites.items() if series or "\nseries = " not in path.read_text()]
        raise ConfigError(
            f"suite {shown(name)} is unknown{did_you_mean(str(name), fitting)}; there are {_list(fitting)}; an "
            "experiment of your own is named by its file, such as my.toml"
        )
    return suites[str(name)]


def _suites() -> dict[str, Path]:
    files = (path for folder in SUITES if folder.is_dir() for path in sorted(folder.glob("*.toml")))
    return {path.stem: path for path in files if "\nstudy = " not in path.read_text()}  # those are of another command


def _locate(name: str, folder: Path, reference: str | Path | None) -> str:
    """Return the path of a file named in a TOML file of some folder."""
    if not name.startswith(REFERENCE):
        return str(folder / name)
    return str(reference_folder(reference) / name.removeprefix(REFERENCE).lstrip("/"))


def reference_folder(named: str | Path | None = None) -> Path:
    """Return the folder with the published data of the reference implementation, named here or by the environment.

    Raises
    ------
    ConfigError
        When it is not named or not there.
    """
    chosen = named or os.environ.get("FASTRM_REFERENCE")
    if named is not None:
        check_path(named, ConfigError)
    if not chosen:
        raise ConfigError(
            "the published data of the reference implementation is needed: name its folder, or set FASTRM_REFERENCE"
        )
    if not Path(chosen).is_dir():
        raise ConfigError(f"{chosen}: no such folder; it must hold the published data of the reference implementation")
    return Path(chosen)


def _read_toml(path: Path, is_base: bool = False) -> dict[str, Any]:
    """Read a TOML file and the one it builds on; tables are merged key by key."""
    table = read_toml(path, MAX_BYTES)
    known = {*Experiment.__dataclass_fields__, "base", "series"}
    elsewhere = {*table, *(["base"] if is_base else []), *(["series"] if len(table) > 1 else [])}
    for key, value in table.items():
        if key not in known:
            where = where_in(path, key)
            if key in SETTINGS:
                raise ConfigError(f"{where}{key} is a setting of learners; write it below a line [learner]")
            near = did_you_mean(key, (k for k in known - elsewhere if _takes(k, value)))
            raise ConfigError(f"{where}unknown key {shown(key)}{near}; there are {_list(known)}")
    if "base" not in table:
        return table
    base = table.pop("base")
    if is_base or not isinstance(base, str) or Path(base).name != base:
        raise ConfigError(
            f"{where_in(path, 'base')}base={shown(base)}: must name a TOML file of the same folder or a suite, "
            "one that has no base itself"
        )
    try:
        below_path = _base_path(path, base)
    except ConfigError as problem:
        raise ConfigError(f"{where_in(path, 'base')}base: {problem}") from None
    below = _read_toml(below_path, is_base=below_path.parent == path.parent)  # suites, which are ours, may have one
    if "series" in below:
        raise ConfigError(f"{where_in(path, 'base')}base={shown(base)}: is a series of experiments; name one of them")
    for key in FILES:
        if below_path.parent != path.parent and isinstance(names := below.get(key), list):
            below[key] = [n if str(n).startswith(REFERENCE) else str(below_path.parent / str(n)) for n in names]
    for key in ("learners", "kinds") if "methods" in table else ("methods",) if "learners" in table else ():
        below.pop(key, None)  # one way to give methods replaces the other
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            table[key] = {**below[key], **value}
    return {**below, "name": path.stem, **table}


def _refuse_lists(table: dict[str, Any]) -> None:
    """Raise ConfigError for several values of a key that takes one."""
    for key, value in table.items():
        if isinstance(value, list) and key not in TABLES and not _takes(key, value):
            raise ConfigError(
                f"{key}={shown(value)}: takes one value; only settings of the learner can have several, such as "
                "learner = {alpha = [0.1, 0.5]}"
            )


def _takes(key: str, value: object) -> bool:
    """Return whether a key takes a list, a table or a single value, as this one is."""
    if key in TABLES:
        return isinstance(value, dict)
    field = Experiment.__dataclass_fields__.get(key)
    takes_list = key == "series" or (field is not None and "tuple" in str(field.type))
    return isinstance(value, list) == takes_list and not isinstance(value, dict)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
