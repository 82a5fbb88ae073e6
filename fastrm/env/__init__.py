"""The Gymnasium door: any world and any machine as an environment, one at a time or thousands at once.

Importing this room makes ``fastrm/Craft-v0``, ``fastrm/Office-v0`` and ``fastrm/WaterWorld-v0`` known to Gymnasium,
which it needs.
"""

from typing import Any

from fastrm.errors import MissingExtra

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode as _NewInVersion1_1  # noqa: F401
except ImportError:
    raise MissingExtra("environments need gymnasium 1.1; install it with: pip install 'fastrm[gym]'") from None

from fastrm.env import tabular as _tabular, water as _water  # noqa: F401  (rows of the tables by kind of problem)
from fastrm.env.named_problems import add_office, add_water
from fastrm.env.single import RewardMachineEnv
from fastrm.env.vector import RewardMachineVectorEnv

__all__ = [
    "RewardMachineEnv",
    "RewardMachineVectorEnv",
    "make_craft",
    "make_craft_vector",
    "make_office",
    "make_office_vector",
    "make_water",
    "make_water_vector",
]


def make_craft(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Craft-v0``: objects on an open map, a sequence to visit them in."""
    return RewardMachineEnv(**settings)


def make_craft_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Craft-v0``."""
    return RewardMachineVectorEnv(**settings)


def make_office(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/Office-v0``: coffee and mail to the office, nothing broken on the way."""
    return RewardMachineEnv(**add_office(settings))


def make_office_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/Office-v0``."""
    return RewardMachineVectorEnv(**add_office(settings))


def make_water(**settings: Any) -> RewardMachineEnv:
    """Make the environment of ``fastrm/WaterWorld-v0``: balls in a box, colours to touch in order."""
    return RewardMachineEnv(**add_water(settings))


def make_water_vector(**settings: Any) -> RewardMachineVectorEnv:
    """Make many environments of ``fastrm/WaterWorld-v0``."""
    return RewardMachineVectorEnv(**add_water(settings))


for _name, _maker in (("Craft", "make_craft"), ("Office", "make_office"), ("WaterWorld", "make_water")):
    if f"fastrm/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"fastrm/{_name}-v0", entry_point=f"fastrm.env:{_maker}", vector_entry_point=f"fastrm.env:{_maker}_vector",
            disable_env_checker=True,
        )  # fmt: skip
