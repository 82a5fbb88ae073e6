"""fastrm: reward-machine reinforcement learning in tabular domains, at the speed of C.

The names below are the public interface; each is imported when it is first used, so that ``import fastrm`` and the
command line start at once.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.lazy import lazy_names

if TYPE_CHECKING:  # the one list of public names; `lazy_names` reads it too
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
    from fastrm.exact import (
        Advice as Advice,
        Check as Check,
        Finding as Finding,
        Guarantee as Guarantee,
        KindAdvice as KindAdvice,
        Solution as Solution,
        advise as advise,
        check as check,
        guarantee as guarantee,
        lint as lint,
        optimal_arps as optimal_arps,
        solve as solve,
    )
    from fastrm.experiments import Experiment as Experiment, run as run
    from fastrm.inference import Learned as Learned, equivalent as equivalent, infer as infer, learn as learn
    from fastrm.learners import (
        Composition as Composition,
        Evaluation as Evaluation,
        HrmFixedPoint as HrmFixedPoint,
        Run as Run,
        compose as compose,
        hrm_fixed_point as hrm_fixed_point,
        load_run as load_run,
        register as register,
        train as train,
        train_many as train_many,
    )
    from fastrm.machines import RewardMachine as RewardMachine, task as task
    from fastrm.problems import (
        AgendaProblem as AgendaProblem,
        PointProblem as PointProblem,
        Problem as Problem,
        TabularProblem as TabularProblem,
        WaterProblem as WaterProblem,
        compile as compile,
    )
    from fastrm.results import Results as Results, load as load
    from fastrm.schedules import (
        Schedule as Schedule,
        exponential as exponential,
        harmonic as harmonic,
        linear as linear,
    )
    from fastrm.worlds import (
        GridMap as GridMap,
        PointMass as PointMass,
        TableWorld as TableWorld,
        WaterWorld as WaterWorld,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
    __all__ += ["__version__"]

__version__ = "0.1.0"


class _Checkout:
    """Finds ``fastrm.kernels`` and ``fastrm.bench``, which in a checkout are folders beside this one."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in ("fastrm.kernels", "fastrm.bench"):
            return None
        return PathFinder.find_spec(name, [str(Path(__file__).resolve().parents[1])])


if not Path(__file__).with_name("kernels").is_dir():  # an installed package holds both
    sys.meta_path.insert(0, _Checkout)
