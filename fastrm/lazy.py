"""Names of a package that are imported when they are first used, so that importing the package costs nothing.

A package lists its names once, in a block that type checkers and editors read as imports and that never runs::

    if TYPE_CHECKING:
        from fastrm.worlds import GridMap as GridMap
    else:
        __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from the imports under ``if TYPE_CHECKING``."""
    homes = {
        node.module: [alias.name for alias in node.names]
        for block in ast.parse(Path(file).read_bytes()).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
    }
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(home_of[name])
        for other in homes[home_of[name]]:  # all at once, also in place of a module of the same name
            setattr(sys.modules[package], other, getattr(home, other))
        return getattr(home, name)

    def list_names() -> list[str]:
        public: list[str] = sys.modules[package].__all__
        return sorted(public)

    return get, list_names, sorted(home_of)
