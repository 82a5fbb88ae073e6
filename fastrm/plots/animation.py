"""Episodes as animated GIFs: the agent on its map, the machine beside it with its state marked. Needs Pillow.

A machine of a few states is shown as its graph, a larger one as a list of names around the state it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, MissingExtra, printable
from fastrm.machines import RewardMachine
from fastrm.plots.graph import GraphImage, drawn_form
from fastrm.plots.map_views import fence_ends, starts_to_mark
from fastrm.plots.palette import DARK, HERE_COLOUR, MAP_COLOURS, PATH_COLOUR, WHITE, object_colour
from fastrm.problems import Moment, Problem, TabularProblem, retrace, unsupported
from fastrm.worlds import WALL, Cell, GridMap

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE, GAP, LINE = 390, 10, 22
"""Pixels of the map's longer side, around things, and of a line of text."""
PANELS = (276, 460)
"""Pixels of the machine beside the map; the second where the first leaves its texts too small to read."""
MAX_FRAMES = 400
"""Frames after which an episode is cut."""
MAX_GRAPH = 9
"""States, terminals included, beyond which a machine is a list of names."""
LEAST_SCALE = 0.85
"""Pixels per point of a graph, below which its texts are too small to read."""
FINE = 2  # pictures are painted at twice their size, so that lines are smooth


class Stage(NamedTuple):
    """Where things are in every frame, in pixels."""

    corner: tuple[int, int]
    """Left and top of the world."""
    panel: int
    """Left of the machine."""
    wide: int
    """Width of the machine."""
    size: tuple[int, int]
    """Width and height of the frame."""
    cell: int = 1
    """Side of a cell."""

    @property
    def room(self) -> int:
        """Height for the machine, above two lines of text."""
        return self.size[1] - 2 * LINE - 2 * GAP


@by_kind
def save_episode(
    problem: Problem, path: Sequence[Any], out: Path, milliseconds: int = 120, actions: Sequence[int] | None = None
) -> None:
    """Write an episode as an animated GIF, a frame per step.

    A path that goes round in circles is shown until the first cell and machine state that it comes back to. `actions`
    are those of the path, for worlds where cells alone do not tell them: `Run.path_actions`. On Water world they are
    all that counts.

    Raises
    ------
    ConfigError
        When Pillow is missing or the file cannot be written.
    """
    raise unsupported(problem)


@add_row(save_episode, TabularProblem)
def save_map_episode(
    problem: TabularProblem,
    path: Sequence[Cell],
    out: Path,
    milliseconds: int = 120,
    actions: Sequence[int] | None = None,
) -> None:
    """Write an episode on a map."""
    moments, remark = cut_path(list(retrace(problem, path, 0, actions)))
    stage, graph = _set_up(problem.grid, problem.machines[0])
    rows = [(moment.end or problem.states[moment.state][1], moment.label, moment.paid) for moment in moments]

    def paint(image: Image, k: int) -> None:
        _paint_map(image, problem, stage, [moment.cell for moment in moments[: k + 1]])

    save_frames(paint, rows, remark, stage, graph or problem.machines[0], out, milliseconds, 16 * milliseconds)


def cut_path(moments: list[Moment]) -> tuple[list[Moment], str]:
    """Return the moments that are shown, and a remark on the last one."""
    if moments[-1].end:
        remark = "task complete" if moments[-1].success else "task failed"
    else:
        seen, remark = set(), "cut here: the task is not complete"
        for k, moment in enumerate(moments):
            if (moment.cell, moment.state) in seen:
                moments, remark = moments[: k + 1], "from here on the agent goes round in circles"
                break
            seen.add((moment.cell, moment.state))
    if len(moments) > MAX_FRAMES:
        return moments[:MAX_FRAMES], f"the first {MAX_FRAMES - 1} of {len(moments) - 1} steps"
    return moments, remark


def _set_up(grid: GridMap, machine: RewardMachine) -> tuple[Stage, GraphImage | None]:
    """Return where things are, and the machine as a graph, None where its texts would be too small to read."""
    cell = max(2, SIDE // max(grid.size))
    high, wide = grid.size[0] * cell, grid.size[1] * cell
    height = max(high, 12 * LINE) + 2 * GAP
    stages = [
        Stage((GAP, (height - high) // 2), wide + 2 * GAP, panel, (wide + panel + 3 * GAP, height), cell)
        for panel in PANELS
    ]
    if len(drawn_form(machine).states) + len(machine.terminals) <= MAX_GRAPH:
        for stage in stages:
            graph = GraphImage(machine, stage.wide, stage.room, FINE)
            if graph.scale >= LEAST_SCALE:
                return stage, graph
    return stages[0], None


def _paint_map(frame: Image, problem: TabularProblem, stage: Stage, trail: Sequence[Cell]) -> None:
    """Paint walls, then the trail, then objects above it as discs with letters, and the agent."""
    from PIL import ImageDraw, ImageFont

    grid, (starts, _), colours = problem.grid, starts_to_mark(problem.starts), MAP_COLOURS["frame"]
    pen, side = ImageDraw.Draw(frame), stage.cell * FINE
    left, top = stage.corner[0] * FINE, stage.corner[1] * FINE

    def square(cell: Cell, inset: float = 0.0) -> tuple[float, float, float, float]:
        x, y = left + cell[1] * side, top + cell[0] * side
        return x + inset * side, y + inset * side, x + (1 - inset) * side - 1, y + (1 - inset) * side - 1

    def centre(cell: Cell) -> tuple[float, float]:
        return left + (cell[1] + 0.5) * side, top + (cell[0] + 0.5) * side

    if stage.cell >= 8:
        for row, column in np.argwhere(grid.tiles != ord(WALL)).tolist():
            pen.rectangle(square((row, column)), outline=colours["rim"])
    for row, column in np.argwhere(grid.tiles == ord(WALL)).tolist():
        pen.rectangle(square((row, column)), fill=colours["wall"])
    for a, b, c, d in fence_ends(grid):
        ends = [(left + c * side, top + d * side), (left + a * side, top + b * side)]
        pen.line(ends, fill=colours["fence"], width=2 * FINE)
    steps = [centre(here) for here, after in pairwise(trail) if here != after] + [centre(trail[-1])]
    if len(steps) > 1:
        pen.line(steps, fill=PATH_COLOUR, width=max(2, side // 4), joint="curve")
    for start in starts or trail[:1]:  # of too many only the one where this episode began
        pen.ellipse(square(start, 0.28), fill=colours["floor"], outline=colours["start"], width=max(1, side // 12))
    font = ImageFont.load_default(size=max(9 * FINE, 0.72 * side))
    inset = min(0.0, 0.5 - 6.5 * FINE / side) or 0.03  # on large maps a disc is larger than its cell
    for k, (letter, cells) in enumerate(grid.objects.items()):
        for cell in cells:
            pen.ellipse(square(cell, inset), fill=WHITE, outline=object_colour(k), width=max(3, side // 9))
            pen.text(centre(cell), letter, fill=DARK, font=font, anchor="mm")
    pen.ellipse(square(trail[-1], 0.14), fill=colours["agent"], outline=WHITE, width=max(1, side // 14))


def _paint_names(frame: Image, machine: RewardMachine, stage: Stage, here: str) -> None:
    """List the states of a machine, as many around the current one as there is room for."""
    from PIL import ImageDraw, ImageFont

    pen, font = ImageDraw.Draw(frame), ImageFont.load_default(size=14 * FINE)
    names = [*machine.states, *machine.terminals, *(() if here in (*machine.states, *machine.terminals) else (here,))]
    room = stage.room // LINE - 2
    first = min(max(0, names.index(here) - room // 2), max(0, len(names) - room))
    shown = [(f"... {first} before", False)] if first else [("machine state", False)]
    shown += [(name, name == here) for name in names[first : first + room]]
    after = len(names) - first - room
    shown += [(f"... {after} after", False)] if after > 0 else []
    for row, (name, is_here) in enumerate(shown):
        x, y = stage.panel * FINE, (GAP + LINE * row) * FINE
        if is_here:
            pen.rounded_rectangle((x, y, x + stage.wide * FINE, y + LINE * FINE), 8, fill=HERE_COLOUR)
        text = printable(name) if len(name) <= 32 else printable(name[:31]) + "..."
        pen.text((x + 8 * FINE, y + LINE * FINE / 2), text, fill=WHITE if is_here else DARK, font=font, anchor="lm")


def save_frames(
    paint: Callable[[Image, int], None],
    rows: Sequence[tuple[str, str, float]],
    remark: str,
    stage: Stage,
    machine: GraphImage | RewardMachine,
    out: Path,
    pause: int,
    last_pause: int,
) -> None:
    """Write an animation, with pauses in milliseconds: `paint` draws the world of the k-th frame on an image.

    Rows give machine state, label and reward so far; the remark is on the last frame. A machine that does not come as a
    graph is shown as a list of names.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise MissingExtra("an animation needs Pillow; install it with: pip install 'fastrm[plot]'") from None
    images = []
    for k, (state, label, paid) in enumerate(rows):
        image = Image.new("RGB", (stage.size[0] * FINE, stage.size[1] * FINE), WHITE)
        paint(image, k)
        if isinstance(machine, RewardMachine):
            _paint_names(image, machine, stage, state)
        else:
            wide, high = machine.size
            corner = stage.panel + (stage.wide - wide) / 2, GAP + (stage.room - high) / 2
            machine.paint(image, corner, printable(state))
        pen, font = ImageDraw.Draw(image), ImageFont.load_default(size=14 * FINE)
        facts = f"step {k}     label {label or '-'}     reward {paid:.6g}"
        for row, text in enumerate((facts, printable(remark) if k == len(rows) - 1 else "")):
            place = stage.panel + stage.wide / 2, stage.size[1] - GAP - LINE * (1.5 - row)
            pen.text((place[0] * FINE, place[1] * FINE), text, fill=DARK, font=font, anchor="mm")
        images.append(image.resize(stage.size, Image.Resampling.BOX))
    sample = Image.new("RGB", (stage.size[0], 2 * stage.size[1]))
    sample.paste(images[0], (0, 0))
    sample.paste(images[-1], (0, stage.size[1]))
    palette = sample.quantize(96, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) > 245] = 255  # the mean of near whites, which would look grey on a white page
    palette.putpalette(colours.ravel().tolist())  # one for all, so that each frame stores only what changed
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    pauses = [pause] * len(others) + [last_pause]
    try:
        first.save(out, format="GIF", save_all=True, append_images=others, duration=pauses, loop=0, disposal=1)
    except OSError as problem:
        raise ConfigError(f"{out}: cannot be written: {problem.strerror or problem}") from None
