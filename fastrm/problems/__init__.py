"""World x machines -> Problem: the only builder of the arrays that the kernels read."""

from fastrm.problems.agenda import MOST_PLANNED, MOST_TOURED, Per, Tour, find_tour, objects_of_columns, tabulate_columns
from fastrm.problems.compatibility import check_features, leaves_read
from fastrm.problems.compiler import compile, survey
from fastrm.problems.episode import Episode, Moment, find_actions, retrace, slide
from fastrm.problems.events import Evaluator, find_events
from fastrm.problems.tabular import Problem, Step, check_problem, distances, every_action, mean_length
from fastrm.problems.terrain import ANYWHERE, METRICS, Metric, Start, Terrain
from fastrm.problems.water import WaterProblem, WaterWalk, colours_of
from fastrm.problems.water_tables import reward_bounds

__all__ = [
    "ANYWHERE", "METRICS", "MOST_PLANNED", "MOST_TOURED", "Episode", "Evaluator", "Metric", "Moment", "Per",
    "Problem", "Start", "Step", "Terrain", "Tour", "WaterProblem", "WaterWalk", "check_features", "check_problem",
    "colours_of", "compile", "distances", "every_action", "find_actions", "find_events", "find_tour", "leaves_read",
    "mean_length", "objects_of_columns", "retrace", "reward_bounds", "slide", "survey", "tabulate_columns",
]  # fmt: skip
