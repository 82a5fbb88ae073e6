"""Pictures of curves, maps, machines, policies and episodes; the only room that imports matplotlib and Pillow."""

from fastrm.plots import palette
from fastrm.plots.animation import save_episode
from fastrm.plots.curves import (
    ASCII_BARS,
    BARS,
    COLUMN_WIDTHS,
    Group,
    ceilings_of,
    curves_as_text,
    groups_of,
    has_curves,
    learning_curves,
    name_of,
    parity_curves,
    value_text,
    with_settings,
)
from fastrm.plots.figures import figures_of
from fastrm.plots.graph import draw_machine, drawn_form, joined_edges, lay_out, svg_shapes, to_dot, to_mermaid, to_svg
from fastrm.plots.map_views import (
    draw_learning,
    draw_maps,
    draw_run,
    draw_world,
    fence_ends,
    known_values,
    last_best,
    paint,
    show,
    show_episode,
    starts_to_mark,
    visits,
)
from fastrm.plots.overall import draw_overall
from fastrm.plots.palette import LEARNER_COLOURS, LEARNER_MARKERS
from fastrm.plots.point import draw_point, paint_point, show_point
from fastrm.plots.style import DPI, STYLE, have_matplotlib, looks_of, save
from fastrm.plots.sweeps import (
    FrontSpot,
    StartPoint,
    StartSpot,
    SweepPoint,
    by_optimism,
    check_findings,
    check_is_plain,
    draw_agendas,
    draw_front,
    draw_gaps,
    draw_starts,
    optimism_sweep,
    short_names,
    start_points,
    sweep_points,
)
from fastrm.plots.water import draw_water, save_water_episode, show_water

__all__ = [
    "ASCII_BARS", "BARS", "COLUMN_WIDTHS", "DPI", "LEARNER_COLOURS", "LEARNER_MARKERS", "STYLE", "FrontSpot",
    "Group", "StartPoint", "StartSpot", "SweepPoint", "by_optimism", "ceilings_of", "check_findings",
    "check_is_plain", "curves_as_text", "draw_agendas", "draw_front", "draw_gaps", "draw_learning", "draw_machine",
    "draw_maps", "draw_overall", "draw_point", "draw_run", "draw_starts", "draw_water", "draw_world", "drawn_form",
    "fence_ends", "figures_of", "groups_of", "has_curves", "have_matplotlib", "joined_edges", "known_values",
    "last_best", "lay_out", "learning_curves", "looks_of", "name_of", "optimism_sweep", "paint", "paint_point",
    "palette", "parity_curves", "save", "save_episode", "save_water_episode", "short_names", "show", "show_episode",
    "show_point", "show_water", "start_points", "starts_to_mark", "svg_shapes", "sweep_points", "to_dot",
    "to_mermaid", "to_svg", "value_text", "visits", "with_settings",
]  # fmt: skip
