"""Reward machines as pictures: SVG, figures, and the text forms of DOT and Mermaid. Only figures need matplotlib."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from fastrm.machines import RewardMachine
from fastrm.pictures.graph_layout import LINE, RADIUS, SIZE, arrow_head, joined_edges, lay_out, role_of
from fastrm.pictures.style import EDGE_TEXT, NODE_COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def to_svg(machine: RewardMachine) -> str:
    """Draw a machine as SVG."""
    drawing = lay_out(machine)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" '
        f'width="{drawing.width:.0f}" height="{drawing.height:.0f}" font-family="DejaVu Sans, Helvetica, sans-serif">',
        f'<rect width="{drawing.width:.0f}" height="{drawing.height:.0f}" fill="#ffffff"/>',
    ]
    for arrow in drawing.arrows:
        (x0, y0), (bx, by), (x1, y1) = arrow.begin, arrow.bend, arrow.end
        lines.append(f'<path d="M{x0:.1f},{y0:.1f} Q{bx:.1f},{by:.1f} {x1:.1f},{y1:.1f}" fill="none" stroke="#444"/>')
        head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(arrow))
        lines.append(f'<polygon points="{head}" fill="#444"/>')
    for node in drawing.nodes:
        x, y = node.place
        if node.start:
            lines.append(f'<path d="M{x - RADIUS - 18:.1f},{y:.1f} h16" stroke="#444" stroke-width="1.5"/>')
            lines.append(f'<polygon points="{x - RADIUS:.1f},{y:.1f} {x - RADIUS - 7:.1f},{y - 3.5:.1f} '
                         f'{x - RADIUS - 7:.1f},{y + 3.5:.1f}" fill="#444"/>')  # fmt: skip
        centre = f'cx="{x:.1f}" cy="{y:.1f}" stroke="#222"'
        lines.append(f'<circle {centre} r="{RADIUS}" fill="{NODE_COLOURS[node.role]}" stroke-width="1.4"/>')
        if node.role != "state":
            lines.append(f'<circle {centre} r="{RADIUS - 4}" fill="none"/>')
        lines.append(_text(x, y + 4, node.name, 11 if len(node.name) <= 6 else 8, "#000"))
        for k, line in enumerate(node.below):
            lines.append(_text(x, y + RADIUS + LINE * (k + 1), line, SIZE, "#555"))
    for arrow in drawing.arrows:
        for k, line in enumerate(arrow.text):
            offset = LINE * (k - (len(arrow.text) - 1) / 2)
            lines.append(_text(arrow.text_at[0], arrow.text_at[1] + 3.5 + offset, line, SIZE, EDGE_TEXT))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, size: float, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="middle" fill="{colour}" stroke="#ffffff" '
        f'stroke-width="3" paint-order="stroke">{escape(text)}</text>'
    )


def to_dot(machine: RewardMachine) -> str:
    """Write a machine in the language of Graphviz.

    >>> print(to_dot(RewardMachine.sequence("a")), end="")
    digraph machine {
      rankdir=LR;
      "u0" [shape=circle, style=bold];
      "done" [shape=doublecircle];
      "u0" -> "done" [label="a / 1"];
      "u0" -> "u0" [label="else / 0"];
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

    >>> print(to_mermaid(RewardMachine.sequence("a")), end="")
    stateDiagram-v2
      direction LR
      [*] --> u0
      u0 --> done : a / 1
      u0 --> u0 : else / 0
      done --> [*]
    """
    lines = ["stateDiagram-v2", "  direction LR", f"  [*] --> {_plain(machine.start)}"]
    for (u, v), texts in joined_edges(machine):
        lines.append(f"  {_plain(u)} --> {_plain(v)} : {'<br/>'.join(text.replace(';', ',') for text in texts)}")
    lines += [f"  {_plain(u)} --> [*]" for u in (*machine.success, *machine.failure)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(name: str) -> str:
    """Return a name that Mermaid takes, different for different states."""
    if name.isidentifier() and not name.startswith("s_"):
        return name
    return "s_" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in name)


def draw_machine(machine: RewardMachine) -> Figure:
    """Draw a machine as a graph, as `to_svg` does."""
    drawing = lay_out(machine)
    with style():
        from matplotlib.patches import Circle, PathPatch, Polygon
        from matplotlib.path import Path as Curve

        figure = new_figure(drawing.width / 72, drawing.height / 72)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set_xlim(0, drawing.width)
        axis.set_ylim(drawing.height, 0)
        axis.set_axis_off()
        halo: dict[str, Any] = {
            "parse_math": False,
            "ha": "center",
            "va": "center",
            "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        }
        for arrow in drawing.arrows:
            curve = Curve([arrow.begin, arrow.bend, arrow.end], [Curve.MOVETO, Curve.CURVE3, Curve.CURVE3])
            axis.add_patch(PathPatch(curve, facecolor="none", edgecolor="0.27", linewidth=1.0))
            axis.add_patch(Polygon(arrow_head(arrow), facecolor="0.27", edgecolor="none"))
        for node in drawing.nodes:
            x, y = node.place
            if node.start:
                tip = x - RADIUS
                axis.annotate("", (tip, y), (tip - 18, y), arrowprops={"arrowstyle": "-|>", "color": "0.27"})
            for radius in (RADIUS, *((RADIUS - 4,) if node.role != "state" else ())):
                axis.add_patch(Circle((x, y), radius, facecolor=NODE_COLOURS[node.role], edgecolor="0.13"))
            size = 9 if len(node.name) <= 6 else 6.5
            axis.text(x, y, node.name, parse_math=False, fontsize=size, ha="center", va="center")
            for k, line in enumerate(node.below):
                axis.text(x, y + RADIUS + LINE * (k + 0.8), line, fontsize=7.5, color="0.33", **halo)
        for arrow in drawing.arrows:
            text = "\n".join(arrow.text)
            axis.text(*arrow.text_at, text, fontsize=7.5, color=EDGE_TEXT, linespacing=1.0, **halo)
    return figure
