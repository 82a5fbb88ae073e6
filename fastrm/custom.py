"""What a learner of your own may import; these names stay where later versions move the modules behind them.

A fast learner is a Numba kernel on the table of `Qrm` or `Crm` and a subclass that names it. A slow one is a class with
`act` and `learn` in plain Python. Both are made known by `register`. The page *Names for your own learner* of the
documentation describes every name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrm.lazy import lazy_names

if TYPE_CHECKING:  # the one list of these names; `lazy_names` reads it too
    from fastrm.kernels._jit import jit as jit, part as part
    from fastrm.kernels.learners.crm import advance_crm as advance_crm, place_of as place_of, sweep as sweep
    from fastrm.kernels.learners.cross_product import (
        bootstraps as bootstraps,
        choose_action as choose_action,
        draw_number as draw_number,
        learn as learn,
        move as move,
        resume as resume,
        row_of as row_of,
    )
    from fastrm.kernels.learners.qrm import advance_qrm as advance_qrm
    from fastrm.kernels.policy import choose as choose
    from fastrm.kernels.rows import count as count, row_best as row_best, row_mean as row_mean, row_ties as row_ties
    from fastrm.kernels.td import td as td
    from fastrm.learners.crm import Crm as Crm
    from fastrm.learners.plain import Move as Move, PlainLearner as PlainLearner, Trial as Trial
    from fastrm.learners.qrm import Qrm as Qrm, by_cell as by_cell
    from fastrm.learners.registry import Learner as Learner, Values as Values, View as View, register as register
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
