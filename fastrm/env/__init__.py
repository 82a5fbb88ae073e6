"""The Gymnasium door: any world and any machine as an environment, one at a time or thousands at once.

Importing this room makes ``fastrm/Craft-v0``, ``fastrm/Office-v0``, ``fastrm/WaterWorld-v0`` and
``fastrm/PointMass-v0`` known to Gymnasium, which it needs.
"""

from fastrm.env import (
    agents as _agents,  # noqa: F401  (first, as it says so where Gymnasium is missing)  # noqa: F401  (first, as it says so where Gymnasium is missing)
    point as _point,  # noqa: F401  (enters a row)
)
from fastrm.env.buffers import CounterfactualBuffer, Samples
from fastrm.env.environments import (
    RewardMachineEnv,
    RewardMachineVectorEnv,
    make_craft,
    make_craft_vector,
    make_office,
    make_office_vector,
    make_point,
    make_point_vector,
    make_water,
    make_water_vector,
)
from fastrm.env.wrapping import (
    MachineVectorWrapper,
    MachineWrapper,
    ShapedRewards,
    machine_monitor,
    shape_rewards,
    wrap,
    wrap_vector,
)

__all__ = [
    "CounterfactualBuffer", "MachineVectorWrapper", "MachineWrapper", "RewardMachineEnv", "RewardMachineVectorEnv",
    "Samples", "ShapedRewards", "machine_monitor", "make_craft", "make_craft_vector", "make_office",
    "make_office_vector", "make_point", "make_point_vector", "make_water", "make_water_vector", "shape_rewards", "wrap",
    "wrap_vector",
]  # fmt: skip
