"""Which machine this is, for figures that name theirs, and how much of it may be used."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import subprocess
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def describe_machine() -> dict[str, str | int]:
    """Return processor, cores, system and versions."""
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")},
    }


def cpu_name() -> str:
    """Return the processor's name, with family and model where the name says little."""
    facts: dict[str, str] = {}
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or platform.processor() or platform.machine()
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name


@lru_cache(maxsize=1)
def git_commit() -> str:
    """Return the commit of the checkout that fastrm is run from, empty if it is installed or git is not there."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def usable_cores(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many cores this process may keep busy: those it is bound to, and no more than its container's quota.

    Parameters
    ----------
    proc, root : Path
        Where Linux says which control groups the process is in, and what these allow.
    """
    if hasattr(os, "process_cpu_count"):  # from Python 3.13
        bound = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        bound = len(os.sched_getaffinity(0))
    else:
        bound = os.cpu_count() or 1
    return max(1, min([bound, *map(math.ceil, _quotas(proc, root))]))


def _quotas(proc: Path, root: Path) -> list[float]:
    """Return the cores that every control group around this process allows, of both versions of control groups."""
    quotas = []
    for line in _words_of(proc, "\n"):
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        is_second = not controllers
        base = root if is_second else root / "cpu"
        if not is_second and "cpu" not in controllers.split(","):
            continue
        here = base / place.lstrip("/")
        while here.is_relative_to(base):  # a parent's quota holds for its children
            if is_second:
                quota, period = (*_words_of(here / "cpu.max"), "", "")[:2]
            else:
                quota, period = ("".join(_words_of(here / f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
            if quota.isdigit() and period.isdigit() and int(quota) and int(period):
                quotas.append(int(quota) / int(period))  # "max" and -1 are no digits: no quota
            here = here.parent
    return quotas


def _words_of(path: Path, separator: str | None = None) -> list[str]:
    """Return the words, or lines, of a small file of the system, none where it cannot be read."""
    try:
        return path.read_text().split(separator)
    except (OSError, ValueError):
        return []
