"""Water world crossed with machines: look-up tables over states of axes, time and machine states."""

from fastrm.problems.water.problem import WaterProblem, WaterWalk, colours_of, compile_water
from fastrm.problems.water.rewards import reward_bounds

__all__ = ["WaterProblem", "WaterWalk", "colours_of", "compile_water", "reward_bounds"]
