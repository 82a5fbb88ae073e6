"""Single-file web pages, and the cards that notebooks show. They need no server and no network."""

from fastrm.pages.cards import guarantee_card, machine_svg, map_svg, problem_card, results_card, run_card, score_svg
from fastrm.pages.explain import explain_page
from fastrm.pages.report import report_page

__all__ = [
    "explain_page", "guarantee_card", "machine_svg", "map_svg", "problem_card", "report_page", "results_card",
    "run_card", "score_svg",
]  # fmt: skip
