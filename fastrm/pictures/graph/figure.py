"""A machine as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastrm.checks import check_number
from fastrm.machines import RewardMachine
from fastrm.pictures.graph.drawing import LINE, SIZE
from fastrm.pictures.graph.geometry import pill_outline
from fastrm.pictures.graph.layout import lay_out
from fastrm.pictures.graph.routes import arrow_head
from fastrm.pictures.style import EDGE_TEXT, NODE_COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LETTER = 0.9  # an em of a font is larger than its letters; the layout counts in ems of SIZE


def draw_machine(machine: RewardMachine, width: float | None = None) -> Figure:
    """Draw a machine as a graph, as `to_svg` does; `width` in inches scales everything, letters included."""
    check_number("width", 1 if width is None else width, 1, 40)
    drawing = lay_out(machine)
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

        def draw_line(points: Any, codes: Any, tip_from: tuple[float, float]) -> None:
            path = Path(points, codes)
            axis.add_patch(PathPatch(path, facecolor="none", edgecolor="0.27", linewidth=scale, capstyle="butt"))
            axis.add_patch(Polygon(arrow_head(tip_from, points[-1]), facecolor="0.27", edgecolor="none"))

        for arrow in drawing.arrows:
            draw_line(arrow.curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4], arrow.curve.second_bend)
        draw_line(drawing.entry, [Path.MOVETO, Path.LINETO], drawing.entry[0])
        for arrow in drawing.arrows:  # the white box keeps the text readable where another arrow has to pass
            axis.text(
                *arrow.text_at, "\n".join(arrow.text), fontsize=_LETTER * SIZE * scale, color=EDGE_TEXT,
                linespacing=LINE / SIZE, gid="label", **middle,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5 * scale},
            )  # fmt: skip
        for node in drawing.nodes:
            for inset in (0.0, *((3.5,) if node.role != "state" else ())):  # terminals have two rims
                rim = pill_outline(node.box(-inset))
                fill = NODE_COLOURS[node.role]
                axis.add_patch(Polygon(rim, facecolor=fill, edgecolor="0.13", linewidth=scale))
            axis.text(*node.place, node.name, fontsize=_LETTER * node.size * scale, **middle)
    return figure
