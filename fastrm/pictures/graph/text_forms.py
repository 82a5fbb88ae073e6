"""Machines as text that is a picture: SVG, and the languages of Graphviz and Mermaid. Needs nothing but Python."""

from __future__ import annotations

from html import escape

from fastrm.checks import check_number
from fastrm.machines import RewardMachine
from fastrm.pictures.graph.drawing import LINE, SIZE
from fastrm.pictures.graph.geometry import Point
from fastrm.pictures.graph.layout import joined_edges, lay_out, role_of
from fastrm.pictures.graph.routes import arrow_head
from fastrm.pictures.style import EDGE_TEXT, NODE_COLOURS

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
        f'<rect width="{drawing.width:.0f}" height="{drawing.height:.0f}" fill="#ffffff"/>',
    ]
    for arrow in drawing.arrows:
        begin, *others = (f"{x:.1f},{y:.1f}" for x, y in arrow.curve)
        lines.append(f'<path d="M{begin} C{" ".join(others)}" fill="none" stroke="#444"/>')
        lines.append(_head(arrow.curve.second_bend, arrow.curve.end))
    (x0, y0), (x1, y1) = drawing.entry
    lines.append(f'<path d="M{x0:.1f},{y0:.1f} L{x1:.1f},{y1:.1f}" stroke="#444"/>')
    lines.append(_head(*drawing.entry))
    for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
        left, top, right, bottom = arrow.text_box()
        place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        lines.append(f'<rect {place} fill="#ffffff"/>')
        for k, line in enumerate(arrow.text):
            offset = LINE * (k - (len(arrow.text) - 1) / 2)
            lines.append(_text(arrow.text_at[0], arrow.text_at[1] + 3.5 + offset, line, SIZE, EDGE_TEXT))
    for node in drawing.nodes:
        for inset in (0.0, *((3.5,) if node.role != "state" else ())):  # terminals have two rims
            left, top, right, bottom = node.box(-inset)
            lines.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
                f'rx="{node.half_height - inset:.1f}" fill="{NODE_COLOURS[node.role]}" stroke="#222"/>'
            )
        lines.append(_text(node.place[0], node.place[1] + 0.36 * node.size, node.name, node.size, "#000"))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _head(before: Point, tip: Point) -> str:
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow_head(before, tip))
    return f'<polygon points="{head}" fill="#444"/>'


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
