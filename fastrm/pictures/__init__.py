"""All drawing: curves, maps, machines, policies, episodes and web pages. The only importer of matplotlib and Pillow."""

from fastrm.pictures.animation import save_episode
from fastrm.pictures.curves import COLUMN_WIDTHS, learning_curves, parity_curves
from fastrm.pictures.figures import figures_of, optimism_sweep
from fastrm.pictures.graph import draw_machine, to_dot, to_mermaid, to_svg
from fastrm.pictures.html import explain_page, explain_water_page, report_page
from fastrm.pictures.map_views import draw_maps, paint, show, starts_to_mark
from fastrm.pictures.notebook import (
    guarantee_card,
    machine_svg,
    map_svg,
    problem_card,
    results_card,
    run_card,
    score_svg,
)
from fastrm.pictures.policies import draw_learning, draw_run, visits
from fastrm.pictures.style import DPI, have_matplotlib, save
from fastrm.pictures.text_curves import ASCII_BARS, BARS, curves_as_text
from fastrm.pictures.water import draw_gaps, draw_water, save_water_episode, show_water

__all__ = [
    "ASCII_BARS",
    "BARS",
    "COLUMN_WIDTHS",
    "DPI",
    "curves_as_text",
    "draw_gaps",
    "draw_learning",
    "draw_machine",
    "draw_maps",
    "draw_run",
    "draw_water",
    "explain_page",
    "explain_water_page",
    "figures_of",
    "guarantee_card",
    "have_matplotlib",
    "learning_curves",
    "machine_svg",
    "map_svg",
    "optimism_sweep",
    "paint",
    "parity_curves",
    "problem_card",
    "report_page",
    "results_card",
    "run_card",
    "save",
    "save_episode",
    "save_water_episode",
    "score_svg",
    "show",
    "show_water",
    "starts_to_mark",
    "to_dot",
    "to_mermaid",
    "to_svg",
    "visits",
]  # fmt: skip
