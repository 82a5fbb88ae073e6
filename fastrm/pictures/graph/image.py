"""A machine as an image of pixels, with one of its states highlighted: for animations. Needs Pillow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastrm.machines import RewardMachine
from fastrm.pictures.graph.drawing import LINE, SIZE, Drawing, Node
from fastrm.pictures.graph.geometry import Point, pill_outline
from fastrm.pictures.graph.layout import lay_out
from fastrm.pictures.graph.routes import arrow_head
from fastrm.pictures.style import EDGE_TEXT, HERE_COLOUR, NODE_COLOURS

if TYPE_CHECKING:
    from PIL.Image import Image

_INK, _WHITE = (60, 60, 60), (255, 255, 255)


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
            pen.line([at((x, y)) for x, y in points], fill=_INK, width=thin, joint="curve")
            pen.polygon([at(point) for point in arrow_head(before, tuple(points[-1]))], fill=_INK)
        font = ImageFont.load_default(size=SIZE * k)
        for arrow in drawing.arrows:
            left, top, right, bottom = arrow.text_box()
            pen.rectangle((*at((left, top)), *at((right, bottom))), fill=_WHITE)
            for row, line in enumerate(arrow.text):
                x, y = arrow.text_at[0], arrow.text_at[1] + LINE * (row - (len(arrow.text) - 1) / 2)
                pen.text(at((x, y)), line, fill=EDGE_TEXT, font=font, anchor="mm")
        for node in _marked(drawing, here):
            is_here = node.name == here
            for inset in (0.0, *((3.5,) if node.role != "state" else ())):
                rim: list[Any] = [at((x, y)) for x, y in pill_outline(node.box(-inset)).tolist()]
                pen.polygon(rim, fill=HERE_COLOUR if is_here else NODE_COLOURS[node.role])
                pen.line([*rim, rim[0]], fill=_WHITE if is_here and inset else _INK, width=thin, joint="curve")
            name = ImageFont.load_default(size=node.size * k)
            pen.text(at(node.place), node.name, fill=_WHITE if is_here else _INK, font=name, anchor="mm")


def _marked(drawing: Drawing, here: str) -> list[Node]:
    """Return the states, the highlighted one last."""
    return sorted(drawing.nodes, key=lambda node: node.name == here)
