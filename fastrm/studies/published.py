"""The data published with the reference implementation, read from a folder the user names; none of it is ours."""

from __future__ import annotations

import json
from pathlib import Path

from fastrm.errors import StoreError
from fastrm.experiments import MONITOR_FILE, Monitor, read_monitor
from fastrm.textfile import read_text

ALGORITHMS = {"ql": "qrm", "ql-rs": "qrm-rs", "crm": "crm", "crm-rs": "crm-rs", "hrm": "hrm", "hrm-rs": "hrm-rs"}
"""Names there, and the same methods here."""
CRAFT_MAPS = ("M0", "M1", "M2", "M3", "M4", "M5")
TASKS = {"craft": 10, "office": 4}
RUNS = {"craft-single": 6, "office-single": 10, "craft": 6, "office": 10, "water-single": 2}
STEPS = {
    "craft-single": 2_000_000, "office-single": 100_000, "craft": 2_000_000, "office": 100_000,
    "water-single": 2_000_000,
}  # fmt: skip
"""Published runs of every curve, and their length; domains without ``single`` play all tasks in turn."""


def published_runs(folder: Path, algorithm: str, domain: str, grid: str) -> list[Monitor]:
    """Read all runs of an algorithm on a map.

    Raises
    ------
    StoreError
        When the folder is not there or only half copied.
    """
    where = folder / "results" / algorithm / domain / grid
    numbers = sorted((path.name for path in where.iterdir() if path.is_dir()), key=_natural) if where.is_dir() else []
    if not numbers:
        raise StoreError(f"{where}: no runs; the folder of published data is missing or only half copied")
    for number in numbers:
        if not (where / number / MONITOR_FILE).is_file():
            raise StoreError(
                f"{where / number / MONITOR_FILE}: missing; the folder of published data is only half copied"
            )
    if len(numbers) < RUNS.get(domain, 0):
        raise StoreError(f"{where}: {len(numbers)} runs of {RUNS[domain]}; the folder is only half copied")
    logs = [read_monitor(where / number / MONITOR_FILE) for number in numbers]
    for number, log in zip(numbers, logs, strict=True):
        if log.length.sum() < 0.99 * STEPS.get(domain, 0):
            raise StoreError(
                f"{where / number / MONITOR_FILE}: ends after {log.length.sum()} of {STEPS[domain]} steps; cut off"
            )
    return logs


def published_optima(folder: Path) -> dict[tuple[str, str, str], float]:
    """Read the published optima, by domain (craft, office), map and task."""
    path = _present(folder / "optimal_arps.json")
    try:
        table = json.loads(read_text(path, StoreError))
        craft = {
            ("craft", name, f"t{k}"): float(value)
            for name in CRAFT_MAPS
            for k, value in enumerate(table["craft"][name], start=1)
        }
        office = {("office", "M1", f"t{k}"): float(value) for k, value in enumerate(table["office"], start=1)}
    except (ValueError, KeyError, TypeError) as problem:
        raise StoreError(f"{path}: not the published optima ({type(problem).__name__}: {problem})") from None
    if len(craft) != len(CRAFT_MAPS) * TASKS["craft"] or len(office) != TASKS["office"]:
        raise StoreError(f"{path}: {len(craft)} and {len(office)} optima; 60 and 4 were published")
    if min([*craft.values(), *office.values()]) <= 0:
        raise StoreError(f"{path}: an optimum is not positive")
    return craft | office


def map_file(folder: Path, name: str) -> Path:
    """Return the file of a Craft map."""
    return _present(folder / "maps" / f"map_{name[1:]}.txt")


def machine_file(folder: Path, domain: str, task: str) -> Path:
    """Return the file of a machine."""
    return _present(folder / "machines" / domain / f"{task}.txt")


def water_file(folder: Path) -> Path:
    """Return the file of the water worlds."""
    return _present(folder / "water" / "worlds.json")


def _present(path: Path) -> Path:
    if not path.is_file():
        raise StoreError(f"{path}: missing; the folder of published data is only half copied")
    return path


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() else (1 << 30, name)
