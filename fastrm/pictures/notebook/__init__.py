"""How objects show themselves in notebooks: SVG and HTML as text, written without matplotlib, every name escaped."""

from fastrm.pictures.notebook.cards import guarantee_card, problem_card, results_card, run_card
from fastrm.pictures.notebook.drawings import machine_svg, map_svg, score_svg

__all__ = ["guarantee_card", "machine_svg", "map_svg", "problem_card", "results_card", "run_card", "score_svg"]
