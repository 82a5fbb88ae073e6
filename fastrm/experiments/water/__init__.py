"""Experiments on Water world, whose runs are not those of a plan."""

from fastrm.experiments.water.study import WaterRow, WaterStudy, study_worlds
from fastrm.experiments.water.table import fill_table, read_table

__all__ = ["WaterRow", "WaterStudy", "fill_table", "read_table", "study_worlds"]
