"""Water world: as a figure (needs matplotlib), as text, and an episode as an animated GIF (needs Pillow)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, printable, shown
from fastrm.kernels.contracts import SUCCESS
from fastrm.learners import Run
from fastrm.plots.animation import FINE, GAP, MAX_FRAMES, PANELS, SIDE, Stage, save_episode, save_frames
from fastrm.plots.graph import GraphImage
from fastrm.plots.map_views import draw_learning, draw_world, show_episode
from fastrm.plots.palette import DARK, MAP_COLOURS, PATH_COLOUR, WHITE, ink, object_colour
from fastrm.plots.style import new_figure, style
from fastrm.problems import WaterEpisode, WaterProblem
from fastrm.worlds import COLOURS, Point, WaterWorld

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

WIDE, HIGH = 50, 21
"""Letters of a text: a line is about twice as high as a letter is wide."""
ARROW = 1.5
"""How far arrows reach: where a ball will be after ten times as many steps."""


def draw_water(
    world: WaterWorld, problem: WaterProblem | None = None, actions: Sequence[int] = (), width: float | None = None
) -> Figure:
    """Draw a world as an episode begins, and the path that actions lead along; arrows show where balls go.

    Parameters
    ----------
    world : WaterWorld
        The world.
    problem : WaterProblem, optional
        The world with a machine, for actions to be followed in.
    actions : sequence of int
        What the agent does.
    width : float, optional
        Width of the figure in inches: 1 to 40.
    """
    side = 4.5 if width is None else width
    check_number("width", side, 1, 40)
    with style():
        figure = new_figure(side, side + 0.3)
        axis = figure.subplots()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=1 - 0.35 / (side + 0.3))
        axis.set(xlim=(0, world.side), ylim=(0, world.side), aspect="equal", xticks=[], yticks=[])
        axis.spines[:].set_visible(True)
        title = printable(world.source.strip("<>"))
        if problem is not None and len(actions):
            walk = problem.walk(actions)
            turns = [k for k in range(1, len(walk.states)) if walk.states[k, 2] != walk.states[k - 1, 2]]
            arrivals = [(k, f"{walk.labels[k - 1]} {k}") for k in turns]  # balls have moved since the beginning
            draw_box_path(axis, np.array(problem.positions(walk.states)), arrivals, side)
            how = "completed" if walk.outcome == SUCCESS else "not completed"
            title += f": {how} in {len(walk.rewards)} steps"
        for ball in world.balls:
            _draw_ball(axis, world, ball.colour, ball.position, ball.velocity, side)
        draw_disc(axis, world.agent, world.radius, "0.15", "0.15")
        axis.set_title(title, pad=4, parse_math=False)
    return figure


def draw_disc(axis: Axes, at: Point, radius: float, edge: str, face: str) -> None:
    """Draw a disc on a panel."""
    from matplotlib.patches import Circle

    axis.add_patch(Circle(at, radius, facecolor=face, edgecolor=edge, linewidth=1.4, zorder=3))


def _draw_ball(axis: Axes, world: WaterWorld, colour: str, at: Point, velocity: Point, side: float) -> None:
    shade = object_colour(COLOURS.index(colour))
    end = at[0] + ARROW * velocity[0], at[1] + ARROW * velocity[1]
    axis.annotate(
        "", end, at, arrowprops={"arrowstyle": "-|>", "color": shade, "linewidth": 1.2, "shrinkA": 0}, zorder=2
    )
    draw_disc(axis, at, world.radius, shade, "white")
    write_in_disc(axis, at, colour, shade, side)


def write_in_disc(axis: Axes, at: Point, name: str, shade: str, side: float) -> None:
    """Write a name in a disc of a panel of `side` inches."""
    size = max(5.0, 2.2 * side)
    axis.text(*at, name, color=ink(shade), fontsize=size, fontweight="bold", ha="center", va="center", zorder=4)


def draw_box_path(axis: Axes, path: Array, arrivals: Sequence[tuple[int, str]], side: float, corners: int = 1) -> None:
    """Draw a path, [point, 2], with a dot at the end of every step, and write beside some points.

    A step leads by as many points of the path as there are `corners`.
    """
    axis.plot(*path.T, color=PATH_COLOUR, linewidth=1.6, marker=".", markersize=3.5, markevery=corners, zorder=2.5)
    for point, text in arrivals:
        axis.annotate(
            text, path[point], (4, 5), textcoords="offset points", fontsize=max(5.0, 1.8 * side),
            color="0.15", zorder=5, bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "0.7", "lw": 0.6},
        )  # fmt: skip
        axis.plot(*path[point], "o", color=PATH_COLOUR, markersize=5, zorder=5)


@add_row(show_episode, WaterEpisode)
def show_water_episode(episode: WaterEpisode) -> str:
    """Return the box as it is now, as text."""
    return show_water(episode.problem, episode.states[-1], episode.steps)


def show_water(problem: WaterProblem, state: Array, t: int) -> str:
    """Return a world as text after t moves: the agent as @, balls as letters, one row of letters for twenty units."""
    rows = [[" "] * WIDE for _ in range(HIGH)]
    side = problem.world.side

    def put(x: float, y: float, letter: str) -> None:
        column, row = int(x / side * WIDE), int((1 - y / side) * HIGH)
        rows[min(max(row, 0), HIGH - 1)][min(max(column, 0), WIDE - 1)] = letter

    for ball, (x, y, _, _) in zip(problem.world.balls, problem.physics.balls[t].tolist(), strict=True):
        put(x, y, ball.colour)
    put(float(problem.physics.x[state[0], 0]), float(problem.physics.y[state[1], 0]), "@")
    line = f"+{'-' * WIDE}+\n"
    return line + "".join(f"|{''.join(row)}|\n" for row in rows) + line


@add_row(save_episode, WaterProblem)
def save_water_episode(
    problem: WaterProblem, path: Sequence[Any], out: Path, milliseconds: int = 90, actions: Sequence[int] | None = None
) -> None:
    """Write an episode on Water world, the machine beside it; it is told by its actions alone."""
    walk, n_u = problem.walk(list(actions or ())[: MAX_FRAMES - 1]), problem.tables.n_u
    columns = walk.states[:, 2].tolist()
    states = [problem.end_of(walk) if u == n_u else problem.states[u][1] for u in columns]
    rows = list(zip(states, ("", *walk.labels), accumulate([0.0, *walk.rewards.tolist()]), strict=True))
    stage = Stage((GAP, GAP), SIDE + 2 * GAP, PANELS[0], (SIDE + PANELS[0] + 3 * GAP, SIDE + 2 * GAP))
    graph = GraphImage(problem.machines[0], stage.wide, stage.room, FINE)

    def paint(image: Image, t: int) -> None:
        _paint_box(image, problem, walk.states[: t + 1], t)

    remark = states[-1] if columns[-1] == n_u else ""
    save_frames(paint, rows, remark, stage, graph, out, milliseconds, 20 * milliseconds)


def _paint_box(frame: Image, problem: WaterProblem, states: Array, t: int) -> None:
    """Paint the box, the agent's trail, balls and agent."""
    from PIL import ImageDraw, ImageFont

    pen, world = ImageDraw.Draw(frame), problem.world
    scale, font = SIDE * FINE / world.side, ImageFont.load_default(size=15 * FINE)

    def at(x: float, y: float) -> tuple[float, float]:
        return GAP * FINE + x * scale, (GAP + SIDE) * FINE - y * scale

    def disc(x: float, y: float) -> tuple[float, float, float, float]:
        column, row = at(x, y)
        reach = world.radius * scale
        return column - reach, row - reach, column + reach, row + reach

    pen.rectangle((*at(0, world.side), *at(world.side, 0)), outline=MAP_COLOURS["frame"]["wall"], width=FINE)
    trail = [at(*point) for point in problem.positions(states)]
    if len(trail) > 1:
        pen.line(trail, fill=PATH_COLOUR, width=2 * FINE, joint="curve")
    for ball, (x, y, _, _) in zip(world.balls, problem.physics.balls[t].tolist(), strict=True):
        colour = object_colour(COLOURS.index(ball.colour))
        pen.ellipse(disc(x, y), fill=WHITE, outline=colour, width=3 * FINE)
        pen.text(at(x, y), ball.colour, fill=DARK, font=font, anchor="mm")
    pen.ellipse(disc(*problem.positions(states[-1:])[0]), fill=DARK)


@add_row(draw_world, WaterWorld)
def draw_water_world(world: WaterWorld, name: str = "", width: float | None = None) -> Figure:
    """Draw a water world as an episode begins."""
    return draw_water(world, width=width)


@add_row(draw_learning, WaterProblem)
def draw_learned_path(
    problem: WaterProblem, run: Run, states: Sequence[int] | None = None, width: float | None = None
) -> Figure:
    """Draw the episode of the greedy policy."""
    if "tiles" not in run.more:
        raise ConfigError(f"problem={shown(problem)}: the run learned about another problem; give that one")
    return draw_water(problem.world, problem, run.greedy_actions[0], width)
