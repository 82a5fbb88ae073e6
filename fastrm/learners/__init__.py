"""How values are learned: one file per learner, a registry of their names, and running many seeds of one.

Names are imported when first used, so that the names of learners are known without Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrm.lazy import lazy_names

if TYPE_CHECKING:  # read by `lazy_names` too
    from fastrm.learners.batch import Batch as Batch
    from fastrm.learners.composition import Composition as Composition, compose as compose, true_columns as true_columns
    from fastrm.learners.files import load_again as load_again, load_file as load_file, loaded_files as loaded_files
    from fastrm.learners.fixed_point import HrmFixedPoint as HrmFixedPoint, hrm_fixed_point as hrm_fixed_point
    from fastrm.learners.hrm import option_pairs as option_pairs
    from fastrm.learners.registry import register as register
    from fastrm.learners.runs import (
        Evaluation as Evaluation,
        Run as Run,
        acts_by_state as acts_by_state,
        check_acts_by_state as check_acts_by_state,
    )
    from fastrm.learners.saving import load_run as load_run
    from fastrm.learners.training import (
        SHARE_FOR_TABLES as SHARE_FOR_TABLES,
        iter_runs as iter_runs,
        train as train,
        train_many as train_many,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
