"""Which machine this is, for figures that name theirs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path


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
