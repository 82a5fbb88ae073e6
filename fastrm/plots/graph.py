"""Machines as text that is a picture: SVG, and the languages of Graphviz and Mermaid. Needs nothing but Python.

A machine as a matplotlib figure.

A machine as an image of pixels, with one of its states highlighted: for animations. Needs Pillow.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from fastrm.checks import check_number
from fastrm.machines import RewardMachine
from fastrm.plots.graph_layout import (
    LINE,
    SIZE,
    Drawing,
    Node,
    Point,
    arrow_head,
    joined_edges,
    lay_out,
    pill_outline,
    role_of,
)
from fastrm.plots.palette import EDGE_TEXT, HERE_COLOUR, MACHINE_INKS, NODE_COLOURS, WHITE
from fastrm.plots.style import new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

ARROW_INK, RIM_INK = MACHINE_INKS["svg"]
_ENTITIES = {ord(sign): f"#{ord(sign)};" for sign in ":;<>#"}
"""Signs that mean something to Mermaid, as it wants them written."""


def to_svg(machine: RewardMachine, width: float | None = None) -> str:
    """Draw a machine as SVG, by default at its natural size; `width` is in inches."""
    check_number("width", 1 if width is None else width, 1, 40)
    drawing = lay_out(machine)
    if width is None:
        size = f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"'
    else:
        size = f'width="{width:g}in" height="{width * drawing.height / drawing.width:.4g}in"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" {size} '
        'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">',
        f'<rect width="{drawing.width:.0f}" height="{drawing.height:.0f}" fill="{WHITE}"/>',
    ]
    for arrow in drawing.arrows:
        begin, *others = (f"{x:.1f},{y:.1f}" for x, y in arrow.curve)
        lines.append(f'<path d="M{begin} C{" ".join(others)}" fill="none" stroke="{ARROW_INK}"/>')
        lines.append(_head(arrow.curve.second_bend, arrow.curve.end))
    (x0, y0), (x1, y1) = drawing.entry
    lines.append(f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" stroke="{ARROW_INK}"/>')
    lines.append(_head(*drawing.entry))
    for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
        left, top, right, bottom = arrow.text_box()
        place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        lines.append(f'<rect {place} fill="{WHITE}"/>')
        for k, line in enumerate(arrow.text):
            offset = LINE * (k - (len(arrow.text) - 1) / 2)
            lines.append(_text(arrow.text_at[0], arrow.text_at[1] + 3.5 + offset, line, SIZE, EDGE_TEXT))
    for node in drawing.nodes:
        for inset in (0.0, *((3.5,) if node.role != "state" else ())):  # terminals have two rims
            left, top, right, bottom = node.box(-inset)
            lines.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
                f'rx="{node.half_height - inset:.1f}" fill="{NODE_COLOURS[node.role]}" stroke="{RIM_INK}"/>'
            )
        lines.append(_text(node.place[0], node.place[1] + 0.36 * node.size, node.name, node.size, "#000"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _head(before: Point, tip: Point) -> str:
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(before, tip))
    return f'<polygon points="{head}" fill="{ARROW_INK}"/>'


def _text(x: float, y: float, text: str, size: float, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'
    )


def to_dot(machine: RewardMachine) -> str:
    """Write a machine in the language of Graphviz.

    >>> print(to_dot(RewardMachine.sequence("a")), end="")
    digraph machine {
      rankdir=LR;
      "u0" [shape=circle, style=bold];
      "done" [shape=doublecircle];
      "u0" -> "done" [label="a : 1"];
      "u0" -> "u0" [label="else : 0"];
    }
    """
    lines = ["digraph machine {", "  rankdir=LR;"]
    for u in (*machine.states, *machine.success, *machine.failure):
        shape = {"state": "circle", "success": "doublecircle", "failure": "octagon"}[role_of(machine, u)]
        lines.append(f"  {_quoted(u)} [shape={shape}{', style=bold' if u == machine.start else ''}];")
    for (u, v), texts in joined_edges(machine):
        label = "\\n".join(_quoted(text)[1:-1] for text in texts)
        lines.append(f'  {_quoted(u)} -> {_quoted(v)} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(machine: RewardMachine) -> str:
    """Write a machine as a Mermaid state diagram, which many web pages show as a picture.

    A colon of its own would end a text of Mermaid, so it is written as the entity ``#58;`` and shown as a colon.

    >>> print(to_mermaid(RewardMachine.sequence("a")), end="")
    stateDiagram-v2
      direction LR
      [*] --> u0
      u0 --> done : a #58; 1
      u0 --> u0 : else #58; 0
      done --> [*]
    """
    lines = ["stateDiagram-v2", "  direction LR", f"  [*] --> {_plain(machine.start)}"]
    for (u, v), texts in joined_edges(machine):
        lines.append(f"  {_plain(u)} --> {_plain(v)} : {'<br/>'.join(text.translate(_ENTITIES) for text in texts)}")
    lines += [f"  {_plain(u)} --> [*]" for u in (*machine.success, *machine.failure)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(name: str) -> str:
    """Return a name that Mermaid takes, different for different states."""
    if name.isidentifier() and not name.startswith("s_"):
        return name
    return "s_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in name)


_LETTER = 0.9  # an em of a font is larger than its letters; the layout counts in ems of SIZE


def draw_machine(machine: RewardMachine, width: float | None = None) -> Figure:
    """Draw a machine as a graph, as `to_svg` does; `width` in inches scales everything, letters included."""
    check_number("width", 1 if width is None else width, 1, 40)
    drawing = lay_out(machine)
    scale, (ink, rim_ink) = 1.0 if width is None else 72 * width / drawing.width, MACHINE_INKS["figure"]
    with style():
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        figure = new_figure(scale * drawing.width / 72, scale * drawing.height / 72)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, drawing.width)
        axis.set_ylim(drawing.height, 0)
        axis.set_axis_off()
        middle: dict[str, Any] = {"parse_math": False, "ha": "center", "va": "center"}

        def draw_line(points: Any, codes: Any, tip_from: tuple[float, float]) -> None:
            path = Path(points, codes)
            axis.add_patch(PathPatch(path, facecolor="none", edgecolor=ink, linewidth=scale, capstyle="butt"))
            axis.add_patch(Polygon(arrow_head(tip_from, points[-1]), facecolor=ink, edgecolor="none"))

        for arrow in drawing.arrows:
            draw_line(arrow.curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4], arrow.curve.second_bend)
        draw_line(drawing.entry, [Path.MOVETO, Path.LINETO], drawing.entry[0])
        for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
            axis.text(
                *arrow.text_at, "\n".join(arrow.text), fontsize=_LETTER * SIZE * scale, color=EDGE_TEXT,
                linespacing=LINE / SIZE, gid="label", **middle,
                bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 0.5 * scale},
            )  # fmt: skip
        for node in drawing.nodes:
            for inset in (0.0, *((3.5,) if node.role != "state" else ())):  # terminals have two rims
                rim = pill_outline(node.box(-inset))
                fill = NODE_COLOURS[node.role]
                axis.add_patch(Polygon(rim, facecolor=fill, edgecolor=rim_ink, linewidth=scale))
            axis.text(*node.place, node.name, fontsize=_LETTER * node.size * scale, **middle)
    return figure


class GraphImage:
    """A machine laid out to fit into a width and a height, in pixels, from left to right or downwards.

    Parameters
    ----------
    machine : RewardMachine
        What to draw.
    width, height : int
        The room there is.
    fine : int
        Pixels of `paint` per pixel of the room; images that are made smaller afterwards have smooth lines.
    """

    def __init__(self, machine: RewardMachine, width: int, height: int, fine: int = 1) -> None:
        fits = []
        for downwards in (True, False):
            drawing = lay_out(machine, downwards)
            fits.append((min(1.5, width / drawing.width, height / drawing.height), drawing))
        self.scale, self.drawing = max(fits, key=lambda fit: fit[0])
        """Pixels per point: letters have 10 times as many."""
        self._fine, self._room = fine, (width, height)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels of the room."""
        return self.scale * self.drawing.width, self.scale * self.drawing.height

    def paint(self, image: Image, corner: Point, here: str) -> None:
        """Draw the machine on an image, its top left corner at a place in pixels of the room, in a state."""
        from PIL import ImageDraw, ImageFont

        pen, k, drawing = ImageDraw.Draw(image), self._fine * self.scale, self.drawing

        def at(point: Point) -> Point:
            return self._fine * corner[0] + k * point[0], self._fine * corner[1] + k * point[1]

        thin = max(1, round(1.1 * k))
        lines = [(arrow.curve.points().tolist(), arrow.curve.second_bend) for arrow in drawing.arrows]
        for points, before in [*lines, (list(drawing.entry), drawing.entry[0])]:
            pen.line([at((x, y)) for x, y in points], fill=MACHINE_INKS["image"][0], width=thin, joint="curve")
            pen.polygon([at(point) for point in arrow_head(before, tuple(points[-1]))], fill=MACHINE_INKS["image"][0])
        font = ImageFont.load_default(size=SIZE * k)
        for arrow in drawing.arrows:
            left, top, right, bottom = arrow.text_box()
            pen.rectangle((*at((left, top)), *at((right, bottom))), fill=WHITE)
            for row, line in enumerate(arrow.text):
                x, y = arrow.text_at[0], arrow.text_at[1] + LINE * (row - (len(arrow.text) - 1) / 2)
                pen.text(at((x, y)), line, fill=EDGE_TEXT, font=font, anchor="mm")
        for node in _marked(drawing, here):
            is_here = node.name == here
            for inset in (0.0, *((3.5,) if node.role != "state" else ())):
                rim: list[Any] = [at((x, y)) for x, y in pill_outline(node.box(-inset)).tolist()]
                pen.polygon(rim, fill=HERE_COLOUR if is_here else NODE_COLOURS[node.role])
                pen.line(
                    [*rim, rim[0]],
                    fill=WHITE if is_here and inset else MACHINE_INKS["image"][0],
                    width=thin,
                    joint="curve",
                )
            name = ImageFont.load_default(size=node.size * k)
            pen.text(
                at(node.place), node.name, fill=WHITE if is_here else MACHINE_INKS["image"][0], font=name, anchor="mm"
            )


def _marked(drawing: Drawing, here: str) -> list[Node]:
    """Return the states, the highlighted one last."""
    return sorted(drawing.nodes, key=lambda node: node.name == here)
