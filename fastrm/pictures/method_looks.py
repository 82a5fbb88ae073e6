"""How the lines of the methods of one figure look, so that any two can be told apart, in grey prints too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastrm.experiments import Method
from fastrm.pictures.style import KIND_LINES, LEARNER_MARKERS, MARKERS, kind_colour, learner_colour, learner_line, rgb


def looks_of(methods: Sequence[Method]) -> dict[str, dict[str, Any]]:
    """Return how the lines of the methods of one figure look, by label.

    A kind of machine is a colour, a learner a line and a marker; hollow markers mean reward shaping. In a figure of one
    kind a learner is also a colour, and in one of a single learner kinds are also lines and markers. Methods that
    differ in their initial values alone get a marker each.
    """
    kinds, algos = (list(dict.fromkeys(names)) for names in zip(*((m.kind, m.algo) for m in methods), strict=True))
    looks: dict[str, dict[str, Any]] = {}
    for method in methods:
        kind = method.kind or "file"
        colour = learner_colour(method.algo) if len(kinds) == 1 < len(algos) else kind_colour(method.kind)
        look = {"color": colour, "markerfacecolor": "white" if method.shaping else colour}
        if len(algos) > 1 or len(kinds) == 1:
            line, marker = learner_line(method.algo), LEARNER_MARKERS.get(method.algo, MARKERS[3])
        else:
            line, marker = KIND_LINES[kind], MARKERS[list(KIND_LINES).index(kind) % 5]
        first = MARKERS.index(marker)
        for marker in (*MARKERS[first:], *MARKERS[:first]):
            look |= {"linestyle": line, "marker": marker}
            if look not in looks.values():
                break
        looks[method.label] = look
    every = {"markersize": 3.2, "markeredgewidth": 0.8}
    return {
        label: look | every | {"markevery": (0.02 + 0.18 * k / len(looks), 0.18)}  # no marker hides another
        for k, (label, look) in enumerate(looks.items())
    }


def lightness(colour: str) -> float:
    """Return how light a colour is in a grey print, L* of the CIE, from 0 for black to 100 for white.

    >>> lightness("#000000"), round(lightness("#777777")), round(lightness("#ffffff"))
    (0.0, 50, 100)
    """
    parts = (part / 255 for part in rgb(colour))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 903.3 * y if y <= 0.008856 else 116 * y ** (1 / 3) - 16
