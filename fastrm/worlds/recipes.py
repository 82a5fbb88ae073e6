"""Generated maps as people write them: a setup such as 2a2b2c, alone or with its obstacles."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from fastrm.errors import MapError, did_you_mean, shown
from fastrm.worlds.layouts import LAYOUTS, Layout, check_layout
from fastrm.worlds.tiles import OBJECT

APPENDIX = "appendix"
"""The setup whose distances are those of the paper's appendix; see `appendix`."""


def parse_setup(setup: str) -> list[tuple[str, int]]:
    """Split ``2a1b`` into ``[("a", 2), ("b", 1)]``.

    >>> parse_setup("2a10b")
    [('a', 2), ('b', 10)]
    """
    if not isinstance(setup, str) or not re.fullmatch(rf"([0-9]{{1,9}}{OBJECT})+", setup):
        has_words = isinstance(setup, str) and " " in setup.strip()
        hint = "; obstacles are given apart: walls=0.2 or layout='rooms'" if has_words else ""
        raise MapError(f"setup {shown(setup)}: expected counts and object letters such as 2a2b2c{hint}")
    pairs = [(letter, int(count)) for count, letter in re.findall(rf"([0-9]+)({OBJECT})", setup)]
    letters = [letter for letter, _ in pairs]
    for letter, count in pairs:
        if count == 0:
            raise MapError(f"setup {shown(setup)}: the count of {letter} is 0; leave the letter out")
        if letters.count(letter) > 1:
            raise MapError(f"setup {shown(setup)}: {letter} is given twice; add the counts up")
    return pairs


class Recipe(NamedTuple):
    """What `GridMap.generate` needs beside size and seed."""

    setup: str
    walls: float = 0
    layout: Layout = "open"


def parse_recipe(text: str) -> Recipe:
    """Read a setup, alone or followed by its obstacles, and check it without generating a map.

    >>> parse_recipe("1a1b1c walls 0.2")
    Recipe(setup='1a1b1c', walls=0.2, layout='open')
    >>> parse_recipe("1a1b1c maze").layout
    'maze'
    """
    words = text.split() if isinstance(text, str) else []
    if words == [APPENDIX]:
        return Recipe(APPENDIX)
    try:
        parse_setup(words[0] if words else "")
        recipe = Recipe(words[0], *_obstacles(*words[1:]))
    except MapError as error:
        others = ", ".join(layout for layout in LAYOUTS if layout != "open")
        raise MapError(
            f"map {shown(text)}: {error}; write a setup such as 2a2b2c, alone or with one of: walls 0.2, {others}"
        ) from None
    return recipe


def _obstacles(word: str = "open", *rest: str) -> tuple[float, Layout]:
    """Read the words after the setup."""
    if word not in ("walls", *LAYOUTS):
        raise MapError(f"no such layout as {shown(word)}{did_you_mean(word, ('walls', *LAYOUTS))}")
    if word != "walls":
        if rest:
            raise MapError(f"nothing goes after {word}")
        return 0, cast("Layout", word)
    try:
        (density,) = map(float, rest)
    except ValueError:
        raise MapError("walls takes one number, from 0 to below 1") from None
    check_layout(density, "open")
    return density, "open"


def looks_like_recipe(text: str) -> bool:
    """Say whether a text is meant as a recipe, well formed or not.

    >>> looks_like_recipe("2a2b wals 0.1"), looks_like_recipe("office.map")
    (True, False)
    """
    return text == APPENDIX or re.fullmatch(rf"([0-9]+{OBJECT})+( .*)?", text) is not None
