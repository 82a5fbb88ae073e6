"""World x machines -> Problem: the only builder of the arrays that the kernels read."""

from fastrm.problems.compatibility import check_features, leaves_read
from fastrm.problems.compiler import compile
from fastrm.problems.episode import Episode, Moment, retrace, slide
from fastrm.problems.events import find_events
from fastrm.problems.problem import Problem, Step, check_problem
from fastrm.problems.steps_to_go import distances
from fastrm.problems.tabulate import Evaluator
from fastrm.problems.terrain import METRICS, Metric, Terrain

__all__ = [
    "METRICS", "Episode", "Evaluator", "Metric", "Moment", "Problem", "Step", "Terrain", "check_features",
    "check_problem", "compile", "distances", "find_events", "leaves_read", "retrace", "slide",
]  # fmt: skip
