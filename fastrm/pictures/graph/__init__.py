"""Reward machines as graphs: laid out once, then drawn as SVG, figure or image; and as DOT and Mermaid."""

from fastrm.pictures.graph.figure import draw_machine
from fastrm.pictures.graph.image import GraphImage
from fastrm.pictures.graph.text_forms import to_dot, to_mermaid, to_svg

__all__ = ["GraphImage", "draw_machine", "to_dot", "to_mermaid", "to_svg"]
