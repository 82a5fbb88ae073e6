"""fastrm: reward-machine reinforcement learning in tabular domains, at the speed of C.

The names below are the public interface; each is imported when it is first used, so that ``import fastrm`` and the
command line start at once.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastrm.config import LearnerConfig, Profile
    from fastrm.errors import ConfigError, FastrmError, FastrmWarning, MachineError, MapError, StoreError
    from fastrm.exact.guarantees import Guarantee, guarantee
    from fastrm.exact.lint import Finding, lint
    from fastrm.exact.solve import Solution, solve
    from fastrm.exact.unit import optimal_arps
    from fastrm.experiments.experiment import Experiment
    from fastrm.experiments.runner import run
    from fastrm.learners.hrm_fixed_point import HrmFixedPoint, hrm_fixed_point
    from fastrm.learners.training import Run, train, train_many
    from fastrm.machines.machine import RewardMachine
    from fastrm.machines.tasks import task
    from fastrm.problems.compiler import Problem, compile
    from fastrm.results.dataset import Results, load
    from fastrm.worlds.grid import GridMap

__version__ = "0.1.0"

_HOME = {
    "ConfigError": "errors",
    "Experiment": "experiments.experiment",
    "FastrmError": "errors",
    "FastrmWarning": "errors",
    "Finding": "exact.lint",
    "GridMap": "worlds.grid",
    "Guarantee": "exact.guarantees",
    "HrmFixedPoint": "learners.hrm_fixed_point",
    "LearnerConfig": "config",
    "MachineError": "errors",
    "MapError": "errors",
    "Problem": "problems.compiler",
    "Profile": "config",
    "Results": "results.dataset",
    "RewardMachine": "machines.machine",
    "Run": "learners.training",
    "Solution": "exact.solve",
    "StoreError": "errors",
    "compile": "problems.compiler",
    "guarantee": "exact.guarantees",
    "hrm_fixed_point": "learners.hrm_fixed_point",
    "lint": "exact.lint",
    "load": "results.dataset",
    "optimal_arps": "exact.unit",
    "run": "experiments.runner",
    "solve": "exact.solve",
    "task": "machines.tasks",
    "train": "learners.training",
    "train_many": "learners.training",
}

__all__ = [
    "ConfigError",
    "Experiment",
    "FastrmError",
    "FastrmWarning",
    "Finding",
    "GridMap",
    "Guarantee",
    "HrmFixedPoint",
    "LearnerConfig",
    "MachineError",
    "MapError",
    "Problem",
    "Profile",
    "Results",
    "RewardMachine",
    "Run",
    "Solution",
    "StoreError",
    "__version__",
    "compile",
    "guarantee",
    "hrm_fixed_point",
    "lint",
    "load",
    "optimal_arps",
    "run",
    "solve",
    "task",
    "train",
    "train_many",
]

# In a checkout the kernels lie beside this folder; an installed package holds them inside it.
_here = Path(__file__).resolve().parent
if not (_here / "kernels").is_dir() and (_here.parent / "kernels" / "__init__.py").is_file():
    __path__.append(str(_here.parent))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fastrm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fastrm.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
