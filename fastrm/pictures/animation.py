"""An episode as an animated GIF: the agent on its map, the states of the machine beside it. Needs Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrm.errors import ConfigError, MissingExtra
from fastrm.pictures.style import HERE_COLOUR, PATH_COLOUR, object_colour
from fastrm.problems import Problem, retrace
from fastrm.worlds import WALL, Cell

SIDE, PANEL, LINE = 480, 230, 22
"""Pixels of the map's longer side, of the panel beside it, and of a line of text."""
MAX_FRAMES = 400
"""An episode that goes on for longer is cut there."""
_GREY, _DARK, _WHITE = (140, 140, 140), (40, 40, 40), (255, 255, 255)


def save_episode(problem: Problem, path: Sequence[Cell], out: Path, milliseconds: int = 120) -> None:
    """Write an episode as an animated GIF.

    Raises
    ------
    ConfigError
        When Pillow is missing or the file cannot be written.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise MissingExtra("an animation needs Pillow; install it with: pip install 'fastrm[plot]'") from None
    grid = problem.terrain.grid
    pixels = max(2, SIDE // max(grid.size))
    names = [name for _, name in problem.states[: problem.tables.n_u]] + ["(end)"]
    height = max(grid.size[0] * pixels, LINE * (len(names) + 6))
    ground = Image.new("RGB", (grid.size[1] * pixels + PANEL, height), _WHITE)
    small, large = (ImageFont.load_default(size=size) for size in (14, max(8, min(20, pixels))))
    _draw_ground(ImageDraw.Draw(ground), problem, pixels, large)
    frames, trail = [], []
    for k, moment in enumerate(retrace(problem, path[:MAX_FRAMES])):
        trail.append(_centre(moment.cell, pixels))
        frame = ground.copy()
        pen = ImageDraw.Draw(frame)
        if len(trail) > 1:
            pen.line(trail, fill=PATH_COLOUR, width=max(2, pixels // 4))
        x, y = trail[-1]
        radius = max(3, int(pixels * 0.4))
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_DARK)
        left = grid.size[1] * pixels + 14
        said = (f"step {k}", f"label {moment.label or '-'}", f"reward {moment.paid:.6g}", "", "machine state")
        for row, text in enumerate(said):
            pen.text((left, 8 + LINE * row), text, fill=_DARK, font=small)
        ended = moment.state == problem.tables.n_u
        shown = [*names[:-1], "(done)" if moment.success else "(failed)"] if ended else names
        for row, name in enumerate(shown):
            here = row == moment.state
            box = (left, 8 + LINE * (row + 5), left + PANEL - 30, 4 + LINE * (row + 6))
            if here:
                pen.rectangle(box, fill=HERE_COLOUR)
            pen.text((left + 6, 8 + LINE * (row + 5)), name, fill=_WHITE if here else _GREY, font=small)
        frames.append(frame.convert("P", palette=Image.Palette.ADAPTIVE, colors=255))
    pauses = [milliseconds] * (len(frames) - 1) + [10 * milliseconds]
    try:
        frames[0].save(out, format="GIF", save_all=True, append_images=frames[1:], duration=pauses, loop=0)
    except OSError as problem_:
        raise ConfigError(f"{out}: cannot be written: {problem_.strerror or problem_}") from None


def _draw_ground(pen: Any, problem: Problem, pixels: int, font: Any) -> None:
    """Paint walls and objects."""
    grid = problem.terrain.grid
    for row, column in np.argwhere(grid.tiles == ord(WALL)).tolist():
        pen.rectangle(_square((row, column), pixels), fill=_GREY)
    for (row, column), there in grid.fences:
        down, right = there[0] - row, there[1] - column
        corner = ((column + 1) * pixels, (row + 1) * pixels)
        pen.line([corner, (corner[0] - down * pixels, corner[1] - right * pixels)], fill=_GREY, width=3)
    for k, (letter, cells) in enumerate(grid.objects.items()):
        for cell in cells:
            pen.text(_centre(cell, pixels), letter, fill=object_colour(k), font=font, anchor="mm")


def _centre(cell: Cell, pixels: int) -> tuple[int, int]:
    return cell[1] * pixels + pixels // 2, cell[0] * pixels + pixels // 2


def _square(cell: Cell, pixels: int) -> tuple[int, int, int, int]:
    return cell[1] * pixels, cell[0] * pixels, (cell[1] + 1) * pixels - 1, (cell[0] + 1) * pixels - 1
