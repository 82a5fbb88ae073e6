"""Which runs, and getting them done: experiments, plans, batches, and the ways to run them in parallel."""

from fastrm.experiments.batches import MONITOR_FILE, Monitor, peak_bytes, read_monitor, work
from fastrm.experiments.execution import Interrupted, Progress, merge, run, write_episodes
from fastrm.experiments.experiment import Experiment, Method, method_of
from fastrm.experiments.foreign import read_any_plan, write_runs
from fastrm.experiments.plan import Plan
from fastrm.experiments.replaying import find_row, problem_of, replay
from fastrm.experiments.suites import Suite, find_suite, list_suites, read_suite, reference_folder, suite_file, where_in

__all__ = [
    "MONITOR_FILE", "Experiment", "Interrupted", "Method", "Monitor", "Plan", "Progress", "Suite", "find_row",
    "find_suite", "list_suites", "merge", "method_of", "peak_bytes", "problem_of", "read_any_plan", "read_monitor",
    "read_suite", "reference_folder", "replay", "run", "suite_file", "where_in", "work", "write_episodes", "write_runs",
]  # fmt: skip
