"""World x machines -> Problem: the only builder of the arrays that the kernels read."""

from fastrm.problems.agenda import AgendaProblem
from fastrm.problems.cells import (
    MOST_PLANNED,
    MOST_TOURED,
    CellProblem,
    Per,
    Tour,
    find_tour,
    mean_length,
    objects_of_columns,
    stages_at,
    tabulate_columns,
)
from fastrm.problems.events import TableEvaluator, check_features, find_events, leaves_read
from fastrm.problems.labels import NOTHING, Label, LabelledWorld, Output, by_labels
from fastrm.problems.monitor import MachineMonitor, MachineMove, Monitors, Sweep, counterfactuals_of, names_in
from fastrm.problems.point import PointEpisode, PointProblem, PointTerrain
from fastrm.problems.problem import Episode, Problem, compile, unsupported
from fastrm.problems.tabular import (
    Moment,
    Step,
    TabularEpisode,
    TabularProblem,
    check_tabular,
    compile_on,
    direct_actions,
    distances,
    every_action,
    find_actions,
    list_states,
    pairs_within_reach,
    retrace,
    slide,
)
from fastrm.problems.terrain import ANYWHERE, METRICS, Metric, Start, Terrain, survey
from fastrm.problems.water import WaterEpisode, WaterProblem, WaterWalk, colours_of, new_scratch

__all__ = [
    "ANYWHERE", "METRICS", "MOST_PLANNED", "MOST_TOURED", "NOTHING", "AgendaProblem", "CellProblem", "Episode", "Label",
    "LabelledWorld", "MachineMonitor", "MachineMove", "Metric", "Moment", "Monitors", "Output", "Per", "PointEpisode",
    "PointProblem", "PointTerrain", "Problem", "Start", "Step", "Sweep", "TableEvaluator", "TabularEpisode",
    "TabularProblem", "Terrain", "Tour", "WaterEpisode", "WaterProblem", "WaterWalk", "by_labels", "check_features",
    "check_tabular", "colours_of", "compile", "compile_on", "counterfactuals_of", "direct_actions", "distances",
    "every_action", "find_actions", "find_events", "find_tour", "leaves_read", "list_states", "mean_length", "names_in",
    "new_scratch", "objects_of_columns", "pairs_within_reach", "retrace", "slide", "stages_at", "survey",
    "tabulate_columns", "unsupported",
]  # fmt: skip
