"""The point mass: as a figure (needs matplotlib), as text, as an image, and an episode as a GIF (needs Pillow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number
from fastrm.dispatch import add_row
from fastrm.errors import printable
from fastrm.learners import Run
from fastrm.plots.animation import FINE, GAP, PANELS, SIDE, Stage, cut_path, save_episode, save_frames
from fastrm.plots.graph import GraphImage
from fastrm.plots.map_views import draw_learning, draw_world, lengths_of, show_episode
from fastrm.plots.palette import AGENT, DARK, MAP_COLOURS, PATH_COLOUR, WHITE, object_colour, rgb
from fastrm.plots.style import new_figure, style
from fastrm.plots.water import HIGH, WIDE, draw_box_path, draw_disc, write_in_disc
from fastrm.problems import PointEpisode, PointProblem, retrace
from fastrm.worlds import WALL, Disc, PointMass

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image


def _walked(path: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the places that a path leads by: every move goes along x and then along y, so that none cuts a corner.

    >>> _walked([(0, 0, 0, 0), (1, 2, 1, 2)])
    [(0, 0), (1, 0), (1, 2)]
    """
    x, y, *_ = path[0]
    places = [(x, y)]
    for (_, y, *_), (x_next, y_next, *_) in pairwise(path):
        places += [(x_next, y), (x_next, y_next)]
    return places


def _coloured(world: PointMass) -> Iterator[tuple[Disc, str]]:
    """Yield every disc with the colour of its name."""
    names = sorted({disc.name for disc in world.discs})
    return ((disc, object_colour(names.index(disc.name))) for disc in world.discs)


@add_row(draw_world, PointMass)
def draw_point(
    world: PointMass,
    name: str = "",
    width: float | None = None,
    path: Sequence[tuple[int, ...]] = (),
    arrivals: Sequence[tuple[int, str]] = (),
) -> Figure:
    """Draw the box with its discs and walls, and the path that a point takes, a dot for every step.

    Parameters
    ----------
    world : PointMass
        The world.
    name : str
        A title in place of the world's source.
    width : float, optional
        Width of the figure in inches: 1 to 40.
    path : sequence of cells
        Where the point is, such as `Run.greedy_path`.
    arrivals : sequence of pairs
        Steps of the path that are marked, each with its label.
    """
    from matplotlib.patches import Rectangle

    side = 4.5 if width is None else width
    check_number("width", side, 1, 40)
    with style():
        figure = new_figure(side, side + 0.3)
        axis = figure.subplots()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=1 - 0.35 / (side + 0.3))
        limits = -0.5, world.side - 0.5
        axis.set(xlim=limits, ylim=limits, aspect="equal", xticks=[], yticks=[])
        axis.spines[:].set_visible(True)
        for left, bottom, right, top in world.walls:
            corner, size = (left - 0.5, bottom - 0.5), (right - left + 1, top - bottom + 1)
            axis.add_patch(Rectangle(corner, *size, facecolor=MAP_COLOURS["frame"]["wall"], zorder=1))
        for disc, shade in _coloured(world):
            draw_disc(axis, (disc.x, disc.y), disc.radius + 0.5, shade, "white")
            write_in_disc(axis, (disc.x, disc.y), disc.name, shade, side)
        draw_disc(axis, world.start, 0.012 * world.side, "0.15", "0.15")
        if len(path):
            marks = [(2 * step, f"{label} {step}") for step, label in arrivals]
            draw_box_path(axis, np.array(_walked(path)), marks, side, corners=2)
        axis.set_title(printable(name or world.source.strip("<>")), pad=4, parse_math=False)
    return figure


@add_row(draw_learning, PointProblem)
def draw_learned_point(
    problem: PointProblem, run: Run, states: Sequence[int] | None = None, width: float | None = None
) -> Figure:
    """Draw the episode of the greedy policy."""
    moments = list(retrace(problem, run.greedy_path, 0, run.path_actions(problem)))
    turns = [k for k, (one, two) in enumerate(pairwise(moments), start=1) if two.state != one.state]
    title = f"{run.algo.upper()}, seed {run.seed}: {lengths_of(problem, run)}"
    return draw_point(problem.world, title, width, run.greedy_path, [(k, moments[k].label) for k in turns])


@add_row(show_episode, PointEpisode)
def show_point_episode(episode: PointEpisode) -> str:
    """Return the box as it is now, as text."""
    x, y, vx, vy = episode.cell  # type: ignore[misc]
    return f"{show_point(episode.problem.terrain.world, x, y)}velocity {vx}, {vy}\n"


def show_point(world: Any, x: int, y: int) -> str:
    """Return a box as text: the point as @, discs as the first letters of their names, walls as X."""
    column, row = (np.arange(cells) * world.side // cells for cells in (WIDE, HIGH))
    picture = np.where(world.is_open, " ", WALL)
    for disc, _ in _coloured(world):
        picture[world.reach(disc) & world.is_open] = disc.name[0]
    shown = picture[np.ix_(column, row)]
    shown[x * WIDE // world.side, y * HIGH // world.side] = AGENT
    line = f"+{'-' * WIDE}+\n"
    return line + "".join(f"|{''.join(letters)}|\n" for letters in shown.T[::-1].tolist()) + line


def paint_point(world: PointMass, x: int, y: int) -> Array:
    """Return a box as an image, the point black."""
    colours = MAP_COLOURS["image"]
    small = np.empty((world.side, world.side, 3), dtype=np.uint8)
    small[:] = rgb(colours["floor"])
    for disc, shade in _coloured(world):
        small[world.reach(disc)] = rgb(shade)
    small[~world.is_open] = rgb(colours["wall"])
    scale, reach = max(1, 400 // world.side), world.side // 60
    small[max(0, x - reach) : x + reach + 1, max(0, y - reach) : y + reach + 1] = rgb(colours["agent"])
    image: Array = small.transpose(1, 0, 2)[::-1].repeat(scale, axis=0).repeat(scale, axis=1)
    return image


@add_row(save_episode, PointProblem)
def save_point_episode(
    problem: PointProblem, path: Sequence[Any], out: Path, milliseconds: int = 90, actions: Sequence[int] | None = None
) -> None:
    """Write an episode on a point mass, the machine beside it."""
    moments, remark = cut_path(list(retrace(problem, path, 0, actions)))
    rows = [(moment.end or problem.states[moment.state][1], moment.label, moment.paid) for moment in moments]
    stage = Stage((GAP, GAP), SIDE + 2 * GAP, PANELS[0], (SIDE + PANELS[0] + 3 * GAP, SIDE + 2 * GAP))
    graph = GraphImage(problem.machines[0], stage.wide, stage.room, FINE)

    def paint(image: Image, k: int) -> None:
        _paint_box(image, problem.world, [moment.cell for moment in moments[: k + 1]])

    save_frames(paint, rows, remark, stage, graph, out, milliseconds, 20 * milliseconds)


def _paint_box(frame: Image, world: PointMass, trail: Sequence[Any]) -> None:
    """Paint the box, its walls and discs, the trail with a dot for every step, and the point."""
    from PIL import ImageDraw, ImageFont

    pen, scale, wall = ImageDraw.Draw(frame), SIDE * FINE / world.side, MAP_COLOURS["frame"]["wall"]
    font = ImageFont.load_default(size=15 * FINE)

    def at(x: float, y: float) -> tuple[float, float]:
        return GAP * FINE + (x + 0.5) * scale, (GAP + SIDE) * FINE - (y + 0.5) * scale

    def around(x: float, y: float, reach: float) -> tuple[float, float, float, float]:
        column, row = at(x, y)
        return column - reach, row - reach, column + reach, row + reach

    pen.rectangle((*at(-0.5, world.side - 0.5), *at(world.side - 0.5, -0.5)), outline=wall, width=FINE)
    for left, bottom, right, top in world.walls:
        pen.rectangle((*at(left - 0.5, top + 0.5), *at(right + 0.5, bottom - 0.5)), fill=wall)
    for disc, shade in _coloured(world):
        pen.ellipse(around(disc.x, disc.y, (disc.radius + 0.5) * scale), fill=WHITE, outline=shade, width=3 * FINE)
        pen.text(at(disc.x, disc.y), disc.name, fill=DARK, font=font, anchor="mm")
    points = [at(x, y) for x, y in _walked(trail)]
    if len(points) > 1:
        pen.line(points, fill=PATH_COLOUR, width=2 * FINE, joint="curve")
    for x, y, *_ in trail:
        pen.ellipse(around(x, y, 2 * FINE), fill=PATH_COLOUR)
    x, y, *_ = trail[-1]
    pen.ellipse(around(x, y, 5 * FINE), fill=DARK)
