"""Exact answers on Water world, layer of time by layer of time."""

from fastrm.exact.water.solve import WaterGuarantee, WaterSolution, guarantee_water, solve_water

__all__ = ["WaterGuarantee", "WaterSolution", "guarantee_water", "solve_water"]
