"""World x machines -> Problem: the only builder of the arrays that the kernels read."""

from fastrm.problems.agendas import (
    MOST_PLANNED,
    MOST_TOURED,
    Per,
    Tour,
    find_tour,
    objects_of_columns,
    tabulate_columns,
)
from fastrm.problems.compatibility import check_features, leaves_read
from fastrm.problems.compiler import compile, survey
from fastrm.problems.episode import Episode, Moment, find_actions, retrace, slide
from fastrm.problems.events import find_events
from fastrm.problems.problem import Problem, Step, check_problem, mean_length
from fastrm.problems.steps_to_go import distances, every_action
from fastrm.problems.tabulate import Evaluator
from fastrm.problems.terrain import ANYWHERE, METRICS, Metric, Start, Terrain
from fastrm.problems.water import WaterProblem, WaterWalk, colours_of, reward_bounds

__all__ = [
    "ANYWHERE", "METRICS", "MOST_PLANNED", "MOST_TOURED", "Episode", "Evaluator", "Metric", "Moment", "Per",
    "Problem", "Start", "Step", "Terrain", "Tour", "WaterProblem", "WaterWalk", "check_features", "check_problem",
    "colours_of", "compile", "distances", "every_action", "find_actions", "find_events", "find_tour", "leaves_read",
    "mean_length", "objects_of_columns", "retrace", "reward_bounds", "slide", "survey", "tabulate_columns",
]  # fmt: skip
