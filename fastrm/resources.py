"""What this process may use of the machine: the smallest of what there is and what its limits allow.

A container or a batch system gives a process less than the machine has: by a control group, whose limits lie in files
(each group's, and those of the groups it is in), or by ``ulimit``.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

UNKNOWN_MEMORY = 4 << 30
"""What to reckon with where the system does not say."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def usable_memory() -> int:
    """Return the bytes of memory that this process may use.

    >>> usable_memory() > 0
    True
    """
    return min([_physical_memory(), *_group_limits("memory", ("memory.max", "memory.limit_in_bytes")), *_ulimits()])


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN_MEMORY


def _ulimits() -> Iterator[int]:
    names = ("RLIMIT_AS", "RLIMIT_DATA") if resource else ()
    for limit in (resource.getrlimit(getattr(resource, name))[0] for name in names if hasattr(resource, name)):
        if limit != resource.RLIM_INFINITY:
            yield limit


def _group_limits(controller: str, names: tuple[str, ...]) -> Iterator[int]:
    """Yield the limits of our control groups and of all that they are in; files are named as in version 2 and 1."""
    for folder in group_folders(controller):
        for name in names:
            try:
                text = (folder / name).read_text()
            except (OSError, UnicodeDecodeError):
                continue
            if text.strip().isdigit():  # else "max"
                yield int(text)


def group_folders(controller: str) -> Iterator[Path]:
    """Yield the folders of our control groups, from the innermost to the root; a container sees only its own."""
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or controller in controllers.split(","):
            root = _GROUPS if number == "0" else _GROUPS / controllers
            inside = PurePosixPath(path.lstrip("/"))
            yield from (root / group for group in (inside, *inside.parents) if ".." not in group.parts)


def remember(
    size_of: Callable[[_T], int], most: int = 64, share: float = 0.05
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Let a function keep its latest results, which are worth `size_of` bytes each: so many, within a share of memory.

    The last one is always kept. The arguments must be hashable.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        kept: OrderedDict[object, _T] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def remembered(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            key = args, tuple(sorted(kwargs.items()))
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            value = function(*args, **kwargs)  # others need not wait
            with lock:
                kept[key] = value
                room = share * usable_memory()
                while len(kept) > most or (len(kept) > 1 and sum(map(size_of, kept.values())) > room):
                    kept.popitem(last=False)
            return value

        return remembered

    return decorate
