"""What this process may use of the machine: the smallest of what there is and what its limits allow.

A container or a batch system gives a process less than the machine has: by a control group, whose limits lie in files
(each group's, and those of the groups it is in), or by ``ulimit``.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from pathlib import Path, PurePosixPath
from typing import ParamSpec, Protocol, TypeVar

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

UNKNOWN_MEMORY = 4 << 30
"""Bytes assumed where the system does not say."""

_P = ParamSpec("_P")
_T = TypeVar("_T", bound="HasBytes")
_MEMORY_LIMITS = ("memory.max", "memory.limit_in_bytes")
_CORE_QUOTAS = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
"""Files of control groups, as version 2 and version 1 call them."""
_GROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def usable_memory() -> int:
    """Return the bytes of memory that this process may use.

    >>> usable_memory() > 0
    True
    """
    limits = [word for name in _MEMORY_LIMITS for (word,) in _group_settings("memory", name)]
    return min([_physical_memory(), *map(int, filter(str.isdigit, limits)), *_ulimits()])  # else "max"


def usable_cores() -> int:
    """Return how many cores this process may keep busy: those it is bound to, and no more than its groups' quotas."""
    if hasattr(os, "process_cpu_count"):  # from Python 3.13
        bound = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        bound = len(os.sched_getaffinity(0))
    else:
        bound = os.cpu_count() or 1
    quotas = [words for names in _CORE_QUOTAS for words in _group_settings("cpu", *names)]
    cores = [int(q) / int(p) for q, p in quotas if q.isdigit() and p.isdigit() and int(q) and int(p)]  # else no quota
    return max(1, min([bound, *map(math.ceil, cores)]))


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


def _group_settings(controller: str, *names: str) -> Sequence[list[str]]:
    """Return the words in some files of our control groups, and of all groups that they are in; read once."""
    return _read_groups(_GROUPS, _MEMBERSHIP, controller, names)


@lru_cache(maxsize=16)
def _read_groups(groups: Path, membership: Path, controller: str, names: tuple[str, ...]) -> Sequence[list[str]]:
    found = []
    for folder in _group_folders(groups, membership, controller):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            words = [word for name in names for word in (folder / name).read_text().split()]
            if len(words) == (2 if controller == "cpu" else 1):
                found.append(words)
    return found


def _group_folders(groups: Path, membership: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of our control groups, from the innermost to the root; a container sees only its own."""
    lines: list[str] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        lines = membership.read_text().splitlines()
    for line in lines:
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" or controller in controllers.split(","):
            root = groups if number == "0" else groups / controller
            inside = PurePosixPath(path.lstrip("/"))
            yield from (root / group for group in (inside, *inside.parents) if ".." not in group.parts)


class HasBytes(Protocol):
    """Something large."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""


def remember(most: int = 64, share: float = 0.05) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Let a function keep its latest results: at most `most`, within a share of the memory.

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
                while len(kept) > most or (len(kept) > 1 and sum(value.nbytes for value in kept.values()) > room):
                    kept.popitem(last=False)
            return value

        return remembered

    return decorate
