"""One table per verb: what a function does for each kind of its first argument, by `functools.singledispatch`.

``solve`` is written once for maps and once for Water world, each beside what it works on. The function that users call
is the table; its own body answers for kinds that have no row, by refusing them in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch, wraps
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def by_kind(function: Function) -> Function:
    """Make a function a table of rows by the class of its first argument; its body is the row of all other classes.

    >>> @by_kind
    ... def size(shape, scale=1):
    ...     raise TypeError("size: not of this shape")
    >>> @add_row(size, int)
    ... def size_of_a_number(number, scale=1):
    ...     return number * scale
    >>> size(3, scale=2), size(shape=3)
    (6, 3)
    """
    table, first = singledispatch(function), function.__code__.co_varnames[0]

    @wraps(function)
    def verb(*arguments: Any, **named: Any) -> Any:
        subject = arguments[0] if arguments else named.pop(first, None)
        return table.dispatch(type(subject))(subject, *arguments[1:], **named)

    verb.__dict__["rows"] = table
    return verb  # type: ignore[return-value]


def add_row(verb: Callable[..., Any], *kinds: type) -> Callable[[Function], Function]:
    """Enter a function into the table of a verb, for some classes of the first argument."""

    def enter(function: Function) -> Function:
        for kind in kinds:
            verb.__dict__["rows"].register(kind, function)
        return function

    return enter
