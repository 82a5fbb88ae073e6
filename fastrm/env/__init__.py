"""The Gymnasium door: any map and any machine as an environment, one at a time or thousands at once.

Importing this room makes ``fastrm/Craft-v0``, ``fastrm/Office-v0`` and ``fastrm/WaterWorld-v0`` known to Gymnasium,
which it needs.
"""

from fastrm.env.single import RewardMachineEnv, make_craft, make_office
from fastrm.env.vector import RewardMachineVectorEnv, make_craft_vector, make_office_vector
from fastrm.env.water import WaterEnv, WaterVectorEnv

__all__ = [
    "RewardMachineEnv", "RewardMachineVectorEnv", "WaterEnv", "WaterVectorEnv", "make_craft", "make_craft_vector",
    "make_office", "make_office_vector",
]  # fmt: skip
