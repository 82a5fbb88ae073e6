"""Machines as graphs: SVG, Graphviz and Mermaid as text, a matplotlib figure, and an image of pixels (with Pillow)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fastrm.machines import RewardMachine
from fastrm.plots.graph_layout import (
    LINE,
    SIZE,
    Box,
    Curve,
    Drawing,
    Point,
    arrow_head,
    joined_edges,
    lay_out,
    pill_outline,
    role_of,
)
from fastrm.plots.palette import EDGE_TEXT, HERE_COLOUR, MACHINE_INKS, NODE_COLOURS, WHITE
from fastrm.plots.style import check_width, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

_ENTITIES = {ord(sign): f"#{ord(sign)};" for sign in ":;<>#"}
"""How to write signs that mean something to Mermaid."""


Shape = tuple[str, dict[str, str], str]
"""Tag, attributes and text of an element of SVG."""


def to_svg(machine: RewardMachine, width: float | None = None) -> str:
    """Draw a machine as SVG, by default at its natural size; `width` is in inches."""
    check_width(width, 1)
    drawing = lay_out(machine)
    size = f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"'
    if width is not None:
        size = f'width="{width:g}in" height="{width * drawing.height / drawing.width:.4g}in"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" {size} '
        'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif">'
    ]
    for tag, attributes, text in svg_shapes(drawing):
        written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
        lines.append(f"<{tag} {written}>{escape(text)}</{tag}>" if text else f"<{tag} {written}/>")
    return "\n".join([*lines, "</svg>"]) + "\n"


def svg_shapes(drawing: Drawing) -> list[Shape]:
    """Return what a machine that is laid out consists of, on a white ground."""
    arrow_ink, rim_ink = MACHINE_INKS["svg"]
    shapes: list[Shape] = [
        ("rect", {"width": f"{drawing.width:.0f}", "height": f"{drawing.height:.0f}", "fill": WHITE}, "")
    ]

    def add_box(box: Box, **look: str) -> None:
        left, top, right, bottom = box
        named = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        shapes.append(("rect", {name: f"{value:.1f}" for name, value in named.items()} | look, ""))

    def add_text(x: float, y: float, text: str, size: float, colour: str) -> None:
        look = {"font-size": f"{size:g}", "text-anchor": "middle", "fill": colour}
        shapes.append(("text", {"x": f"{x:.1f}", "y": f"{y:.1f}"} | look, text))

    for points, before in drawing.lines():
        begin, *others = (f"{x:.1f},{y:.1f}" for x, y in points)
        way = {"d": f"M{begin} {'C' if len(others) > 1 else 'L'}{' '.join(others)}"}
        shapes.append(("path", way | ({"fill": "none"} if len(others) > 1 else {}) | {"stroke": arrow_ink}, ""))
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(before, points[-1]))
        shapes.append(("polygon", {"points": head, "fill": arrow_ink}, ""))
    for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
        add_box(arrow.text_box(), fill=WHITE)
        for text, (x, y) in arrow.lines():
            add_text(x, y + 3.5, text, SIZE, EDGE_TEXT)
    for node in drawing.nodes:
        for rim in node.rims():
            add_box(rim, rx=f"{(rim.bottom - rim.top) / 2:.1f}", fill=NODE_COLOURS[node.role], stroke=rim_ink)
        add_text(node.place[0], node.place[1] + 0.36 * node.size, node.name, node.size, "#000")
    return shapes


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
    for (u, v), texts in joined_edges(machine).items():
        label = "\\n".join(_quoted(text)[1:-1] for text in texts)
        lines.append(f'  {_quoted(u)} -> {_quoted(v)} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(machine: RewardMachine) -> str:
    """Write a machine as a Mermaid state diagram, which many web pages show as a picture.

    A second colon would end a text of Mermaid, so it is written as the entity ``#58;``, which is shown as a colon.

    >>> print(to_mermaid(RewardMachine.sequence("a")), end="")
    stateDiagram-v2
      direction LR
      [*] --> u0
      u0 --> done : a #58; 1
      u0 --> u0 : else #58; 0
      done --> [*]
    """
    lines = ["stateDiagram-v2", "  direction LR", f"  [*] --> {_plain(machine.start)}"]
    for (u, v), texts in joined_edges(machine).items():
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
    check_width(width, 1)
    drawing, (arrow_ink, rim_ink) = lay_out(machine), MACHINE_INKS["figure"]
    scale = 1.0 if width is None else 72 * width / drawing.width
    with style():
        from matplotlib.patches import PathPatch, Polygon
        from matplotlib.path import Path

        figure = new_figure(scale * drawing.width / 72, scale * drawing.height / 72)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, drawing.width)
        axis.set_ylim(drawing.height, 0)
        axis.set_axis_off()
        middle: dict[str, Any] = {"parse_math": False, "ha": "center", "va": "center"}
        for points, before in drawing.lines():
            path = Path(points, [Path.MOVETO, *([Path.CURVE4] * 3 if len(points) > 2 else [Path.LINETO])])
            axis.add_patch(PathPatch(path, facecolor="none", edgecolor=arrow_ink, linewidth=scale, capstyle="butt"))
            axis.add_patch(Polygon(arrow_head(before, points[-1]), facecolor=arrow_ink, edgecolor="none"))
        for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
            axis.text(
                *arrow.text_at, "\n".join(arrow.text), fontsize=_LETTER * SIZE * scale, color=EDGE_TEXT,
                linespacing=LINE / SIZE, gid="label", **middle,
                bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 0.5 * scale},
            )  # fmt: skip
        for node in drawing.nodes:
            look: dict[str, Any] = {"facecolor": NODE_COLOURS[node.role], "edgecolor": rim_ink, "linewidth": scale}
            for rim in node.rims():
                axis.add_patch(Polygon(pill_outline(rim), **look))
            axis.text(*node.place, node.name, fontsize=_LETTER * node.size * scale, **middle)
    return figure


class GraphImage:
    """A machine laid out to fit into a width and a height, in pixels, from left to right or downwards.

    Every pixel of this room is `fine` pixels of the image that `paint` draws on: an image that is made smaller
    afterwards has smooth lines.
    """

    def __init__(self, machine: RewardMachine, width: int, height: int, fine: int = 1) -> None:
        drawings = [lay_out(machine, downwards) for downwards in (True, False)]
        fits = [(min(1.5, width / drawing.width, height / drawing.height), drawing) for drawing in drawings]
        self.scale, self.drawing = max(fits, key=lambda fit: fit[0])
        """Pixels per point: letters have 10 times as many."""
        self._fine = fine

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels of the room."""
        return self.scale * self.drawing.width, self.scale * self.drawing.height

    def paint(self, image: Image, corner: Point, here: str) -> None:
        """Draw the machine with its top left corner at a place in pixels of the room, the state `here` highlighted."""
        from PIL import ImageDraw, ImageFont

        pen, k, (ink, _) = ImageDraw.Draw(image), self._fine * self.scale, MACHINE_INKS["image"]

        def at(point: Sequence[float]) -> Point:
            return self._fine * corner[0] + k * point[0], self._fine * corner[1] + k * point[1]

        def text(place: Point, words: str, size: float, colour: str) -> None:
            pen.text(at(place), words, fill=colour, font=ImageFont.load_default(size=size * k), anchor="mm")

        thin = max(1, round(1.1 * k))
        for points, before in self.drawing.lines():
            way = points.points().tolist() if isinstance(points, Curve) else points
            pen.line([at(point) for point in way], fill=ink, width=thin, joint="curve")
            pen.polygon([at(point) for point in arrow_head(before, way[-1])], fill=ink)
        for arrow in self.drawing.arrows:
            left, top, right, bottom = arrow.text_box()
            pen.rectangle((*at((left, top)), *at((right, bottom))), fill=WHITE)
            for words, place in arrow.lines():
                text(place, words, SIZE, EDGE_TEXT)
        for node in sorted(self.drawing.nodes, key=lambda node: node.name == here):  # the highlighted one last
            is_here = node.name == here
            for k_rim, box in enumerate(node.rims()):
                rim = [at(point) for point in pill_outline(box).tolist()]
                pen.polygon(rim, fill=HERE_COLOUR if is_here else NODE_COLOURS[node.role])
                pen.line([*rim, rim[0]], fill=WHITE if is_here and k_rim else ink, width=thin, joint="curve")
            text(node.place, node.name, node.size, WHITE if is_here else ink)
