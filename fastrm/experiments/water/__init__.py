"""Experiments on Water world, whose runs are not those of a plan."""

from fastrm.experiments.water.study import WaterRow, WaterStudy, run_study, study_worlds

__all__ = ["WaterRow", "WaterStudy", "run_study", "study_worlds"]
