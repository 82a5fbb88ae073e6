"""Where the texts of arrows stand: beside their own arrow, and clear of states, of one another and of other arrows.

Every text has a few dozen candidates, on both sides of its arrow. Texts are placed one after the other where they
disturb least, and then a few times again, each in view of all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastrm.arrays import Array
from fastrm.pictures.graph.geometry import Curve, Point, points_inside, shared_area

_SHARES = np.linspace(0.2, 0.8, 13)  # where along an arrow its text may stand
_GAPS = (3.0, 9.0, 18.0)  # between arrow and text
_ROUNDS = 3
MANY_LABELS = 150
"""Texts beyond which each is placed once: time grows with their square."""
_HARD, _SOFT = 1000.0, 25.0  # costs: of lying on a state, a text or the own arrow; of a point of another arrow


def place_labels(curves: Sequence[Curve], sizes: Array, taken: Array) -> tuple[list[Point], int, int]:
    """Place the texts of arrows.

    Parameters
    ----------
    curves : sequence of Curve
        The arrows.
    sizes : array
        Half the width and half the height of every text, [n, 2].
    taken : array
        Boxes of states and whatever else must stay readable, [m, 4].

    Returns
    -------
    tuple
        The centres, how many texts lie where none may, and how many lie on another arrow.
    """
    points = [curve.points() for curve in curves]
    options = [_candidates(own, size) for own, size in zip(points, sizes, strict=True)]
    checked = [_check(k, boxes, points, taken) for k, (boxes, _) in enumerate(options)]
    placed, choice = np.full((len(curves), 4), np.nan), [0] * len(curves)
    for _ in range(_ROUNDS if len(curves) <= MANY_LABELS else 1):
        for k, (boxes, taste) in enumerate(options):
            placed[k] = np.nan
            crowd, (on_states, on_own, on_others) = np.nan_to_num(shared_area(boxes, placed)).sum(axis=1), checked[k]
            forbidden = _HARD * ((crowd > 0) + (on_states > 0) + 1.0 * on_own) + crowd + on_states
            choice[k] = int(np.argmin(np.round(taste + forbidden + _SOFT * on_others, 6)))
            placed[k] = boxes[choice[k]]
    hard = soft = 0
    for k, (on_states, on_own, on_others) in enumerate(checked):
        others = np.delete(placed, k, axis=0)
        hard += bool(shared_area(placed[k : k + 1], others).any() or on_states[choice[k]] or on_own[choice[k]])
        soft += bool(on_others[choice[k]])
    centres = [(float(left + right) / 2, float(top + bottom) / 2) for left, top, right, bottom in placed]
    return centres, hard, soft


def _candidates(points: Array, size: Array) -> tuple[Array, Array]:
    """Return boxes beside an arrow, [n, 4], and how little each is liked for its own sake, [n]."""
    at = np.round(_SHARES * (len(points) - 1)).astype(np.int64)
    along = points[np.minimum(at + 1, len(points) - 1)] - points[np.maximum(at - 1, 0)]
    along /= np.maximum(np.hypot(*along.T)[:, None], 1e-9)
    boxes, tastes = [], []
    for side in (-1.0, 1.0):
        normal = side * np.stack([-along[:, 1], along[:, 0]], axis=1)
        reach = np.abs(normal) @ size  # so that the box only touches the line along the arrow
        for gap in _GAPS:
            centre = points[at] + normal * (reach + gap)[:, None]
            boxes.append(np.concatenate([centre - size, centre + size], axis=1))
            # near the middle, above rather than below, close by
            tastes.append(12 * np.abs(_SHARES - 0.45) + np.where(normal[:, 1] > 0.3, 2.0, 0.0) + gap / 2)
    return np.concatenate(boxes), np.concatenate(tastes)


def _check(k: int, boxes: Array, points: Sequence[Array], taken: Array) -> tuple[Array, Array, Array]:
    """Return, per candidate, the area shared with states, whether it lies on its own arrow, and points of others."""
    others = [other for i, other in enumerate(points) if i != k] if len(points) <= MANY_LABELS else []
    on_others = points_inside(boxes, np.concatenate(others)) if others else np.zeros(len(boxes), dtype=np.int64)
    return shared_area(boxes, taken).sum(axis=1), points_inside(boxes, points[k]) > 0, np.minimum(on_others, 20)
