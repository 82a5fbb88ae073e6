"""Pictures of Water world."""

from fastrm.pictures.water.drawing import draw_gaps, draw_water, save_water_episode, show_water

__all__ = ["draw_gaps", "draw_water", "save_water_episode", "show_water"]
