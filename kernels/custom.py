"""The names that kernels of custom learners may import; they stay where later versions move the modules behind them."""

from fastrm.kernels._jit import jit, part
from fastrm.kernels.lanes import flatten, go_on
from fastrm.kernels.learners.cross_product import begin_next, bootstraps, is_over, move
from fastrm.kernels.learners.qrm import enter, leave, own
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import count, row_best, row_ties
from fastrm.kernels.td import td

# fmt: off
__all__ = [
    "begin_next", "bootstraps", "choose", "count", "draw", "enter", "flatten", "go_on", "is_over", "jit", "leave",
    "move", "own", "part", "row_best", "row_ties", "td",
]
# fmt: on
