"""The values of a run, one row each: columns of the file, statistics, and words of `Results`.

A result file has the dimensions ``run`` and ``tick``. To add a value, add its row to `VALUES`. A value with `of` is
then computed from every `Run`, stored, loaded, documented, and reads as missing in files that were written before. A
value with `derive` is computed from the columns when it is asked for and is in no file. Either is a word of
`Results.curves` or `Results.per_run_values`, and, where its row says so, of `Results.compare` and `Results.summary`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from fastrm.learners import Run

PLAIN_TEXT = r"[^\x00-\x1f\x7f-\x9f]*"
"""Text without control characters."""
SCHEMA = 2
"""Rises when older files can no longer be read."""

COORDINATES = ("setup", "grid", "task", "algo", "kind", "shaping", "label", "seed")
"""What distinguishes runs: text, except ``shaping`` and ``seed``."""
NUMBERS = {"run": "i8", "tick": "i8", "step": "i8", "shaping": "i1", "seed": "i4"}
"""Types of the dimensions, of the steps at every tick, and of the coordinates that are numbers."""
SETTINGS = tuple(field.name for field in fields(LearnerConfig) if field.name != "tick")
"""Settings of the learners. Where runs of a file differ in one it is a further coordinate: a float64, or text."""

Frame = dict[str, Array]
"""Columns of some runs: ``run``, their numbers in the experiment, and every variable.

The column ``error`` is as wide as the longest message.
"""


class Runs(Protocol):
    """What files must know of an experiment: how many runs, at which steps, and what distinguishes them."""

    @property
    def count(self) -> int:
        """Number of runs."""

    @property
    def seeds(self) -> int:
        """Number of neighbouring runs that differ only in their seed."""

    @property
    def ticks(self) -> int:
        """Number of ticks."""

    @property
    def step(self) -> Array:
        """Steps made at every tick."""

    @property
    def swept(self) -> tuple[str, ...]:
        """Settings of the learners in which runs differ; coordinates besides those that all files have."""

    @property
    def requests(self) -> tuple[str, ...]:
        """Which of the values on request they have: ``greedy_ticks`` and ``learned machines``."""

    @property
    def has_means(self) -> bool:
        """Whether lengths are means over several starts."""

    def coordinate(self, name: str, runs: Array) -> Array:
        """Return one coordinate of runs, text as bytes."""

    def attributes(self) -> dict[str, str]:
        """Return ``identity``, ``semantics``, ``experiment`` and ``plan`` as text."""


class Variable(NamedTuple):
    """One value of a run."""

    name: str
    dtype: str
    per: Literal["run", "tick"]
    meaning: str
    missing: Any
    """Its value for runs that failed, and in files that do not have it."""
    of: Callable[[Run], Any] | None = None
    """Computes it from a run; None for what only the experiment knows."""
    derive: Callable[[Mapping[str, Array]], Array] | None = None
    """Computes it for all runs from the columns; None for a column of the file."""
    low: float = -math.inf
    high: float = math.inf
    """The range of its numbers; NaN is in it where it is the missing value."""
    pattern: str = ""
    """What its text must match, where it is text."""
    widest: int = 0
    """Most bytes of its text, where they are not those of the type."""
    better: Literal["", "more", "fewer"] = ""
    """Which of two runs is better, where runs are compared by it; of fewer steps, where NaN means never."""
    summary: tuple[tuple[str, str], ...] = ()
    """What `Results.summary` gives of it: pairs of a figure (see `stats.FIGURES`) and the name of its column."""
    on_request: Literal["", "greedy_ticks", "learned machines"] = ""
    """Which experiments alone have it: those with ``greedy_ticks``, or those in which machines are learned."""


def steps_to(curves: Array, steps: Array, threshold: Any) -> Array:
    """Return the step at which each curve first reaches a threshold, NaN where it never does.

    >>> steps_to(np.array([[0.1, 0.9], [0.1, 0.2]]), np.array([10, 20]), 0.5).tolist()
    [20.0, nan]
    """
    reached = np.nan_to_num(curves, nan=-np.inf) >= threshold
    first = reached.argmax(axis=1) if curves.shape[1] else np.zeros(len(curves), dtype=np.int64)
    return np.where(reached.any(axis=1), steps[first].astype(np.float64) if len(steps) else np.nan, np.nan)


def area(curves: Array, steps: Array) -> Array:
    """Return the mean height of each curve over its steps; before its first episode a run has 0.

    A tick counts for the steps since the one before.

    >>> area(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([10, 40])).tolist()
    [0.75, 0.25]
    """
    weights = np.diff(steps, prepend=0)
    heights = np.nan_to_num(curves)
    if (weights == weights[:1]).all():  # a plain mean, rounded as one
        return np.asarray(heights.mean(axis=1))
    return np.asarray((heights * weights).sum(axis=1) / steps[-1])


def settled(curves: Array, steps: Array) -> Array:
    """Return the mean height of each curve at the ticks in the last tenth of the steps.

    These are equally good samples of what the run settles at, however far apart they lie. Before its first episode a
    run has 0.

    >>> settled(np.array([[0.0, 1.0, 2.0]]), np.array([10, 95, 100])).tolist()
    [1.5]
    """
    last = steps > 0.9 * steps[-1]
    return np.asarray(np.nan_to_num(curves[:, last]).mean(axis=1))


def steps_to_plateau(curves: Array, steps: Array, share: float = 0.98) -> Array:
    """Return the step at which each curve first reaches a share of what it settles at, NaN where that is 0 or less."""
    height = settled(curves, steps)
    return steps_to(curves, steps, np.where(height > 0, share * height, np.inf)[:, None])


def _of_score(statistic: Callable[[Array, Array], Array]) -> Callable[[Mapping[str, Array]], Array]:
    """Return a statistic of the columns from one of curves, of scores; NaN for runs whose rows were never logged."""

    def derive(columns: Mapping[str, Array]) -> Array:
        is_blank = (np.isnan(columns["score"]) & np.isnan(columns["reward"])).all(axis=1)
        is_known = (columns["error"] != b"") | ~is_blank
        return np.where(is_known, statistic(columns["score"], columns["step"]), np.nan)

    return derive


def _total_shortest(run: Run) -> float:
    return 0 if any(map(math.isnan, run.shortest)) else sum(run.shortest)


def _total_length(run: Run) -> float:
    reached = [length for length in run.greedy_lengths if length is not None]
    return sum(reached) if len(reached) == len(run.greedy_lengths) else -1


GUESS = ("steps", "episodes", "states", "nodes", "equivalent", "regret")
"""What ``Run.more["log"]`` has of every machine that a run believed in; see `fastrm.inference.Hypothesis`."""


def _last_guess(run: Run, name: str, missing: float) -> float:
    """Return a number of the last machine that a run believed in."""
    return float(run.more["log"][-1][GUESS.index(name)]) if "log" in run.more else missing


def _steps_to_lasting(run: Run, name: str, wanted: float) -> float:
    """Return the steps from which a number of the machines believed in was as wanted; NaN if the last one is not."""
    if "log" not in run.more:
        return math.nan
    log = run.more["log"]
    others = np.flatnonzero(log[:, GUESS.index(name)] != wanted)
    since = int(others[-1]) + 1 if others.size else 0
    return float(log[since, 0]) if since < len(log) else math.nan


# fmt: off
VALUES = (
    Variable("settled", "f8", "run", "mean score at the ticks in the last tenth of the steps",
             math.nan, derive=_of_score(settled), better="more", summary=(("quartiles", "settled"), ("iqm", "iqm"))),
    Variable("area", "f8", "run", "mean score over the whole run",
             math.nan, derive=_of_score(area), better="more", summary=(("mean", "area"),)),
    Variable("reached_90", "i1", "run", "1 if the score ever reached 0.9",
             0, derive=lambda columns: (~np.isnan(columns["steps_to_90"])).astype(np.int8),
             better="more", summary=(("share", "reached_90"),)),
    Variable("shortest", "i4", "run", "length of a shortest path; a mean over starts where there are several",
             0, _total_shortest, low=0),
    Variable("optimal_arps", "f8", "run",
             "unit of the score: expected task reward per step of the best policy (or total own reward, where scored)",
             math.nan, lambda run: sum(run.unit) / len(run.unit)),
    Variable("ceiling", "f8", "run",
             "largest expected task reward per step of any policy that must explore, NaN for scores by own reward; "
             "ceiling / optimal_arps is the largest score to settle at",
             math.nan),
    Variable("greedy_length", "i4", "run",
             "steps of the learned greedy policy to complete the task, a mean like `shortest`; -1 if it does not",
             -1, _total_length, low=-1),
    Variable("solved", "i1", "run", "1 if the learned greedy policy takes a shortest path from every start",
             0, lambda run: run.solved, low=0, high=1, better="more", summary=(("share", "shortest_share"),)),
    Variable("steps_to_90", "f8", "run", "steps until the score first reached 0.9, NaN if it never did",
             math.nan, lambda run: steps_to(run.score[None], run.step, 0.9)[0], low=1, high=2**53,
             better="fewer", summary=(("quartiles", "steps_to_90"),)),
    Variable("steps_to_plateau", "f8", "run", "steps until the score first reached 98 % of what the run settles at",
             math.nan, derive=_of_score(steps_to_plateau), better="fewer", summary=(("median", "steps_to_plateau"),)),
    Variable("steps_to_shortest", "f8", "run",
             "steps at the first tick at which the greedy policy took a shortest path, NaN if it never did",
             math.nan, lambda run: run.steps_to_shortest, low=1, high=2**53,
             better="fewer", summary=(("median", "steps_to_shortest"),), on_request="greedy_ticks"),
    Variable("steps_to_lasting_shortest", "f8", "run",
             "steps at the first tick from which every greedy path was a shortest one, NaN if the last one was not",
             math.nan, lambda run: run.steps_to_lasting_shortest, low=1, high=2**53,
             better="fewer", summary=(("median", "steps_to_lasting_shortest"),), on_request="greedy_ticks"),
    Variable("equivalent", "i1", "run", "1 if the machine that was learned is right on the map, -1 if none was learned",
             -1, lambda run: _last_guess(run, "equivalent", -1), low=-1, high=1,
             better="more", summary=(("share", "equivalent_share"),), on_request="learned machines"),
    Variable("machine_states", "i4", "run", "states of the machine that was learned, 0 if none was",
             0, lambda run: _last_guess(run, "states", 0), low=0,
             summary=(("median", "machine_states"),), on_request="learned machines"),
    Variable("regret", "f8", "run", "discounted reward lost by acting best for the machine that was learned",
             math.nan, lambda run: _last_guess(run, "regret", math.nan), low=0,
             summary=(("median", "regret"),), on_request="learned machines"),
    Variable("steps_to_machine", "f8", "run", "steps after which no machine was inferred any more, NaN if none was",
             math.nan, lambda run: _last_guess(run, "steps", math.nan), low=0, high=2**53,
             better="fewer", summary=(("median", "steps_to_machine"),), on_request="learned machines"),
    Variable("steps_to_equivalent", "f8", "run",
             "steps after which the machine was right on the map, NaN if it never is",
             math.nan, lambda run: _steps_to_lasting(run, "equivalent", 1.0), low=0, high=2**53,
             better="fewer", summary=(("median", "steps_to_equivalent"),), on_request="learned machines"),
    Variable("steps_to_no_regret", "f8", "run", "steps from which no machine had any regret, NaN if the last one has",
             math.nan, lambda run: _steps_to_lasting(run, "regret", 0.0), low=0, high=2**53,
             better="fewer", summary=(("median", "steps_to_no_regret"),), on_request="learned machines"),
    Variable("train_seed", "u8", "run", "the seed that fastrm.train takes to repeat the run, 0 where none is known",
             0, lambda run: run.seed, low=0),
    Variable("run_id", "S16", "run", "hash of everything that determines the numbers of the run",
             b"", pattern="([0-9a-f]{16})?"),
    Variable("error", "S1", "run", "why the run failed, empty if it did not",
             b"", pattern=PLAIN_TEXT, widest=4096),
    Variable("score", "f8", "tick",
             "mean over the last episodes of task reward per step, in units of optimal_arps; NaN before the first",
             math.nan, lambda run: run.score),
    Variable("reward", "f8", "tick", "sum of the machine's own rewards so far",
             math.nan, lambda run: run.reward),
    Variable("completions", "i8", "tick", "episodes that completed the task so far",
             0, lambda run: run.completions, low=0),
    Variable("episodes", "i8", "tick", "episodes that ended so far",
             0, lambda run: run.episodes, low=0),
    Variable("greedy_curve", "f8", "tick",
             "steps of the greedy policy to complete the task, a mean like `shortest`; NaN where it does not",
             math.nan, lambda run: run.greedy_curve, low=1, on_request="greedy_ticks"),
)
# fmt: on
VARIABLES = tuple(value for value in VALUES if value.derive is None)
"""Columns of a file, in its order."""
PER_RUN = tuple(value.name for value in VARIABLES if value.per == "run")
PER_TICK = tuple(value.name for value in VARIABLES if value.per == "tick")
DERIVED = tuple(value.name for value in VALUES if value.derive is not None)


def find_number(name: object, compared: bool = False, columns: Collection[str] = ()) -> Variable:
    """Return the row of a number per run, one that runs are compared by if so asked; ConfigError where there is none.

    What is on request must be among the `columns` of the file. Steps until shares of the unit other than 0.9 are
    numbers, too.

    >>> find_number("settled").better, find_number("steps_to_50").better, find_number("steps_to_0.25").name
    ('more', 'fewer', 'steps_to_0.25')
    """
    per_run = [v for v in VALUES if v.per == "run" and not v.dtype.startswith("S") and (v.better or not compared)]
    known = {v.name: v for v in per_run if not v.on_request or v.name in columns}
    if isinstance(name, str) and name in known:
        return known[name]
    match = (
        re.fullmatch(r"steps_to_(?:(100|[0-9]{1,2}|0[0-9]{2})|(0\.[0-9]+))", name) if isinstance(name, str) else None
    )
    share = 0.0 if match is None else int(match[1]) / 100 if match[1] else float(match[2])
    if share == 0.0:
        check_name("number", name, (*known, "steps_to_0.5"))
    derive = _of_score(partial(steps_to, threshold=share))
    return known["steps_to_plateau"]._replace(name=str(name), derive=derive, summary=())


LENGTHS = ("shortest", "greedy_length")
"""Whole numbers where every map has one start; means, and then float64, where some have several."""
MAX_BYTES = 4 << 30
"""Bytes that a result file may hold, uncompressed: it is built and checked in memory."""
MAX_ERROR = 200
"""Bytes of the message of a run that failed."""


def as_stored(value: Any, is_text: bool) -> Any:
    """Return a value of a coordinate as files hold it; None if it is neither a word nor a number.

    >>> as_stored(0.5, is_text=True), as_stored(True, is_text=True), as_stored(3, is_text=False)
    ('0.5', 'true', 3)
    >>> as_stored("0.5", is_text=False), as_stored("x", is_text=False)
    (0.5, 'x')
    """
    if not isinstance(value, str | int | float | np.integer | np.floating):
        return None
    if is_text:
        return str(value).lower() if isinstance(value, bool) else str(value)
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def check_name(what: str, name: object, known: Iterable[str], aliases: tuple[str, ...] = ()) -> None:
    """Raise ConfigError, with the nearest of the names, unless `name` is a known one or an alias of one."""
    names = tuple(known)
    if not isinstance(name, str) or name not in names + aliases:
        near = did_you_mean(name, names + aliases)
        raise ConfigError(f"no {what} {name!r:.60}{near}; there are {', '.join(names)}")


def variables_of(*requests: str) -> tuple[Variable, ...]:
    """Return the columns of a file, with those that are on one of these requests."""
    return tuple(variable for variable in VARIABLES if variable.on_request in ("", *requests))


def bytes_of_run(runs: Runs) -> int:
    """Return the most bytes of a run in a result file, uncompressed."""
    first = np.zeros(1, dtype=np.int64)
    names = sum(runs.coordinate(name, first).itemsize for name in (*COORDINATES, *runs.swept))
    sizes = {"run": first.itemsize + names, "tick": 0}
    for variable in variables_of(*runs.requests):
        sizes[variable.per] += MAX_ERROR if variable.name == "error" else np.dtype(dtype_of(variable, runs)).itemsize
    return sizes["run"] + runs.ticks * sizes["tick"]


def check_fits(runs: Runs, count: int) -> None:
    """Raise ConfigError unless a file can hold `count` of the runs: better now than after a day."""
    size = count * bytes_of_run(runs)
    if size > MAX_BYTES:
        raise ConfigError(
            f"{count} runs of {runs.ticks} ticks make a file of {size / 2**30:.3g} GiB, and one holds at most "
            f"{MAX_BYTES >> 30}; take fewer maps or seeds, a longer tick, or at least {size // MAX_BYTES + 1} shards, "
            "which load as one"
        )


def dtype_of(variable: Variable, runs: Runs) -> str:
    """Return the type of a variable in the file of an experiment."""
    return "f8" if variable.name in LENGTHS and runs.has_means else variable.dtype


def blank(variable: Variable, runs: int, ticks: int, dtype: Any = None) -> Array:
    """Return a column of a variable's missing value."""
    shape = (runs,) if variable.per == "run" else (runs, ticks)
    return np.full(shape, variable.missing, dtype=dtype or variable.dtype)


def empty_frame(runs: Runs, numbers: list[int]) -> Frame:
    """Return columns for some runs, every value missing."""
    ticks = len(runs.step)
    return {"run": np.array(numbers, dtype=np.int64)} | {
        v.name: blank(v, len(numbers), ticks, dtype_of(v, runs)) for v in variables_of(*runs.requests)
    }


def fill_in(frame: Frame, row: int, run: Run) -> None:
    """Write the values of a run into its row of a frame, in place."""
    for variable in VARIABLES:
        if variable.of is not None and variable.name in frame:
            frame[variable.name][row] = variable.of(run)
