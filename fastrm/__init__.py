"""fastrm: reward-machine reinforcement learning in tabular domains, at the speed of C.

The names below are the public interface; each is imported when it is first used, so that ``import fastrm`` and the
command line start at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.lazy import lazy_names

if TYPE_CHECKING:  # for type checkers, which cannot look up names in the table below; a test compares the two
    from fastrm.config import LearnerConfig as LearnerConfig, Profile as Profile
    from fastrm.errors import (
        ConfigError as ConfigError,
        FastrmError as FastrmError,
        FastrmWarning as FastrmWarning,
        MachineError as MachineError,
        MapError as MapError,
        MissingExtra as MissingExtra,
        StoreError as StoreError,
    )
    from fastrm.exact import Guarantee as Guarantee, guarantee as guarantee, optimal_arps as optimal_arps
    from fastrm.exact.check import Check as Check, check as check  # not the modules of these names
    from fastrm.exact.lint import Finding as Finding, lint as lint
    from fastrm.exact.solve import Solution as Solution, solve as solve
    from fastrm.experiments import Experiment as Experiment, run as run
    from fastrm.learners import (
        Composition as Composition,
        HrmFixedPoint as HrmFixedPoint,
        Run as Run,
        compose as compose,
        hrm_fixed_point as hrm_fixed_point,
        register as register,
        train as train,
        train_many as train_many,
    )
    from fastrm.machines import RewardMachine as RewardMachine, task as task
    from fastrm.problems import Problem as Problem, WaterProblem as WaterProblem, compile as compile
    from fastrm.results import Results as Results, load as load
    from fastrm.schedules import (
        Schedule as Schedule,
        exponential as exponential,
        harmonic as harmonic,
        linear as linear,
    )
    from fastrm.worlds import GridMap as GridMap, TableWorld as TableWorld, WaterWorld as WaterWorld

__version__ = "0.1.0"

# In a checkout the kernels lie beside this folder; an installed package holds them inside it.
_here = Path(__file__).resolve().parent
if not (_here / "kernels").is_dir() and (_here.parent / "kernels" / "__init__.py").is_file():
    __path__.append(str(_here.parent))

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "config": ("LearnerConfig", "Profile"),
        "errors": (
            "ConfigError",
            "FastrmError",
            "FastrmWarning",
            "MachineError",
            "MapError",
            "MissingExtra",
            "StoreError",
        ),
        "schedules": ("Schedule", "exponential", "harmonic", "linear"),
        "worlds": ("GridMap", "TableWorld", "WaterWorld"),
        "machines": ("RewardMachine", "task"),
        "problems": ("Problem", "WaterProblem", "compile"),
        "exact": ("Check", "Finding", "Guarantee", "Solution", "check", "guarantee", "lint", "optimal_arps", "solve"),
        "learners": (
            "Composition",
            "HrmFixedPoint",
            "Run",
            "compose",
            "hrm_fixed_point",
            "register",
            "train",
            "train_many",
        ),
        "results": ("Results", "load"),
        "experiments": ("Experiment", "run"),
    },
)
__all__ += ["__version__"]
