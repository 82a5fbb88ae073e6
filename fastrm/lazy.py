"""Names of a package that are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names live in the given modules."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(f"{package}.{home_of[name]}")
        for other in homes[home_of[name]]:  # all at once, also in place of a module of the same name
            setattr(sys.modules[package], other, getattr(home, other))
        return getattr(home, name)

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return get, listed, sorted(home_of)
