"""World x machines -> Problem: the only builder of the arrays that the kernels read."""

from fastrm.problems.compatibility import check_features, leaves_read
from fastrm.problems.compiler import compile, survey
from fastrm.problems.episode import Episode, Moment, retrace, slide
from fastrm.problems.events import find_events
from fastrm.problems.problem import Problem, Step, check_problem, mean_length
from fastrm.problems.steps_to_go import distances, every_action
from fastrm.problems.tabulate import Evaluator
from fastrm.problems.terrain import ANYWHERE, METRICS, Metric, Start, Terrain

__all__ = [
    "ANYWHERE", "METRICS", "Episode", "Evaluator", "Metric", "Moment", "Problem", "Start", "Step", "Terrain",
    "check_features", "check_problem", "compile", "distances", "every_action", "find_events", "leaves_read",
    "mean_length", "retrace", "slide", "survey",
]  # fmt: skip
