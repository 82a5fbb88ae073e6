"""What made a result: the machine, the versions, the commit and the command."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
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


def command_line() -> str:
    """Return the command that started this process, as it was typed: without the path of the program."""
    program, *words = sys.argv or [""]
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is not None and Path(program).name == "__main__.py":
        return shlex.join(["python", "-m", main.parent, *words])
    return shlex.join([Path(program).name, *words])


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
    """Return the commit of the checkout that fastrm is run from, or that it was built from; empty where unknown."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        recorded = root / "fastrm" / "COMMIT"
        return recorded.read_text().strip() if recorded.is_file() else ""
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
