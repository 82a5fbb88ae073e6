"""Results of an experiment: columns by name, selections, summaries, comparisons, and exports to xarray and pandas."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, FastrmError, MissingExtra, StoreError, did_you_mean, printable
from fastrm.results.hdf5 import Columns, check_coordinates, check_numbers, read_file, unpack
from fastrm.results.joined import JoinedColumns, find_files, join_files, take_runs
from fastrm.results.overall import LogRank, Profile, Survival, log_rank, overall, profiles, survival, to_rliable
from fastrm.results.schema import COORDINATES, DERIVED, PER_RUN, PER_TICK, VARIABLES, as_stored, check_name, find_number
from fastrm.results.stats import Paired, compare, summarise

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from fastrm.experiments import Plan
    from fastrm.learners import Run

_IN_FILES = {"method": "label"}
"""What a coordinate is called in files: xarray would hide one called ``method`` behind its own function."""


@dataclass(frozen=True, eq=False)
class Results:
    """Runs of an experiment: coordinates and numbers per run, curves per run and tick.

    `fastrm.run` and `fastrm.load` return them. ``results["score"]`` is a column by its name; the page about the result
    file lists all of them.

    Examples
    --------
    >>> import fastrm, tempfile
    >>> tiny = fastrm.Experiment(name="tiny", setups=("1a",), size=7, tasks=("a",), methods=("crm-bool",), steps=20_000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = fastrm.run(tiny, out=f"{folder}/tiny.h5", workers=1)
    ...     print(results, results.select(task="a")["solved"])
    <Results tiny: 1 runs (complete), 2 ticks> [1]
    """

    attributes: dict[str, Any] = field(repr=False)
    """Provenance: the experiment, versions, machine, command and times."""
    path: Path | None = None
    """The file they were loaded from."""
    loaded: Columns | None = field(default=None, repr=False)
    """The columns, where they have been read already."""

    @cached_property
    def columns(self) -> Columns:
        """Everything by name, text as bytes; ``results[name]`` decodes it. Read from the file when first asked for."""
        if self.loaded is not None:
            return self.loaded
        if self.path is None:
            raise StoreError("these results have neither columns nor a file")
        return unpack(read_file(self.path), str(self.path))[0]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.columns["run"])

    @property
    def plan(self) -> Plan:
        """The plan the runs belong to."""
        from fastrm.experiments import read_any_plan

        return read_any_plan(str(self.attributes["plan"]))

    @property
    def complete(self) -> bool:
        """Whether every run of the experiment is there and none failed."""
        return self.runs == self.plan.count and not (self.columns["error"] != b"").any()

    @property
    def swept(self) -> tuple[str, ...]:
        """Settings of the learners that the experiment has several values of; each is a coordinate of the runs."""
        return self.plan.swept

    @property
    def schedule_note(self) -> str:
        """What to say of the steps to 90 % where epsilon follows a schedule; empty where it does not."""
        if not any(isinstance(config.epsilon, str) for config in self.plan.variants):
            return ""
        note = "to 90 %*: epsilon follows a schedule, and the score with it, so these steps measure the schedule"
        return note if self.plan.greedy_ticks else f"{note}; greedy_ticks = true tells when the policy was shortest"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of all coordinates of the runs."""
        return *("method" if name == "label" else name for name in COORDINATES), *self.swept

    def check_requested(self, name: object) -> None:
        """Raise ConfigError for a value that this experiment did not ask for."""
        asked = {value.name: value.on_request for value in VARIABLES if value.on_request}
        if isinstance(name, str) and name in asked and name not in self.columns:
            if asked[name] == "greedy_ticks":
                raise ConfigError(f"{name}: these runs did not look at the greedy policy; run with greedy_ticks = true")
            raise ConfigError(f"{name}: these runs learned no machines; run methods such as learn-merge-bool")

    def _present(self, names: Iterable[str]) -> list[str]:
        """Return those of some variables that the file has."""
        return [name for name in names if name in self.columns]

    def __repr__(self) -> str:
        name = printable(json.loads(self.attributes["experiment"])["name"])
        state = "complete" if self.complete else f"of {self.plan.count}"
        failed = int((self.columns["error"] != b"").sum())
        failures = f", {failed} failed" if failed else ""
        return f"<Results {name}: {self.runs} runs ({state}{failures}), {len(self['step'])} ticks>"

    def __getitem__(self, name: str) -> Array:
        self.check_requested(name)
        check_name("column", name, ("method" if known == "label" else known for known in self.columns), ("label",))
        column = self.columns[_IN_FILES.get(name, name)]
        return np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column

    def select(self, **wanted: Any) -> Self:
        """Return the runs whose coordinates have the given values; a list gives several.

        Raises
        ------
        ConfigError
            When a coordinate is unknown, or nothing is selected.
        """
        keep = np.ones(self.runs, dtype=np.bool_)
        for key, value in wanted.items():
            check_name("coordinate", key, self.coordinates, ("label",))
            column, values = self[key], list[Any]()
            present = np.unique(column).tolist()
            for item in value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]:
                values.append(as_stored(item, is_text=column.dtype.kind == "U"))
                if values[-1] is None:
                    raise ConfigError(f"{key}={item!r:.60}: must be a word, a number, or a list of them")
                if values[-1] not in present:
                    near = did_you_mean(str(item)[:60], map(str, np.unique(column[keep]).tolist()))
                    shown = ", ".join(map(str, present[:20]))
                    raise ConfigError(f"{key}={item!r:.60} selects nothing{near}; there are {shown}")
            keep &= np.isin(column, values)
        if not keep.any():
            given = ", ".join(f"{key}={value!r:.60}" for key, value in wanted.items())
            raise ConfigError(f"nothing is selected by {given} together")
        return type(self)(self.attributes, self.path, take_runs(self.columns, keep))

    def curves(self, value: str = "score", **wanted: Any) -> tuple[Array, Array]:
        """Return the steps, [tick], and one variable of the selected runs, [run, tick].

        Parameters
        ----------
        value : str
            A variable per tick: ``score``, ``reward``, ``completions``, ``episodes`` or, on request, ``greedy_curve``.
        **wanted
            Coordinates as in `select`.

        Raises
        ------
        ConfigError
            When a name is unknown, or nothing is selected.
        """
        self.check_requested(value)
        check_name("curve", value, self._present(PER_TICK))
        chosen = self.select(**wanted)
        return chosen["step"], chosen[value]

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], Array]]:
        """Yield values of coordinates, in the order of the plan, and the rows of their runs that did not fail."""
        if not names:
            raise ConfigError(f"nothing to group by; there are {', '.join(self.coordinates)}")
        for name in names:
            check_name("coordinate", name, self.coordinates, ("label",))
        plan, runs, fine = self.plan, self.columns["run"], self.columns["error"] == b""
        group, known = np.zeros(len(runs), dtype=np.int64), []
        for name in (_IN_FILES.get(name, name) for name in names):
            values = plan.values(name)
            known.append(list(dict.fromkeys(values)))
            rank = {value: k for k, value in enumerate(known[-1])}
            group = group * len(rank) + np.array([rank[value] for value in values])[plan.axis(name, runs)]
        order = np.argsort(group, kind="stable")
        ends = np.flatnonzero(np.diff(group[order])) + 1
        for rows in np.split(order, ends) if len(order) else ():
            ranks = np.unravel_index(group[rows[0]], [len(values) for values in known])
            yield tuple(values[k] for values, k in zip(known, ranks, strict=True)), rows[fine[rows]]

    def per_run_values(self, value: str) -> Array:
        """Return one number per run: a variable of the file that is a number, or one that its curve of scores gives.

        ``settled``
            The mean score of the ticks in the last tenth of the steps; a single tick is noise.
        ``area``
            The mean score over the whole run, in which a tick counts for the steps since the one before.
        ``steps_to_90``
            Steps until the score first reached 0.9 of its unit; other shares are ``steps_to_50`` or ``steps_to_0.5``.
            NaN where a run never gets there.
        ``reached_90``
            1 where it did, else 0.
        ``steps_to_plateau``
            Steps until the score first reached 98 % of what the run itself settles at; NaN where that is 0.
        """
        self.check_requested(value)
        derive = find_number(value, columns=self.columns).derive
        if derive is None:
            return self[value]
        if not isinstance(self.columns, JoinedColumns):
            return derive(self.columns)
        parts = [(derive(columns), places) for columns, places in self.columns.by_file()]
        found = np.empty(self.runs, dtype=parts[0][0].dtype)
        for values, places in parts:
            found[places] = values
        return found

    def summary(
        self, by: Sequence[str] | None = None, over: Literal["maps", "seeds"] | None = None
    ) -> list[dict[str, Any]]:
        """Return a row of numbers per group of runs, failed ones aside: by setup, task, swept settings and method.

        Quartiles of the settled score and of the steps to 90 % (infinite where too few runs got there); the
        inter-quartile mean of the settled score; the mean area under the score; the median steps to the run's own
        plateau; the shares of runs that reached 90 % and that end with shortest paths. ``_low`` and ``_high`` are the
        ends of 95 % intervals: over maps (maps are resampled, and runs within them), or over seeds where a group has
        one map, as the column ``over`` says.
        """
        return summarise(self, ("setup", "task", *self.swept, "method") if by is None else by, over)

    def compare(
        self,
        one: Any,
        two: Any,
        value: str = "settled",
        *,
        by: str = "method",
        over: Literal["maps", "seeds"] | None = None,
        **wanted: Any,
    ) -> Paired:
        """Compare two methods, or two values of another coordinate, run by run.

        The two runs of a pair are alike in all else. On the same map with the same seed they share random numbers.

        Parameters
        ----------
        one, two : str or number
            Names of methods, such as ``crm-num``; or two values of the coordinate that `by` names.
        value : str
            A number of `per_run_values` in which runs can be better: the five above, and ``solved``. More is better, of
            steps fewer; a run that never gets there counts as slower than any other, and with the whole length of the
            run in the difference.
        by : str
            What the two differ in, one of `coordinates`: ``method``; a part of it (``kind``, ``algo``, ``shaping``);
            ``task``, which for machine files is the name of the file without its ending; ``setup``; or a swept setting
            such as ``alpha``. Pairs of all other methods and values count, unless some are selected.
        over : {"maps", "seeds"}, optional
            What the interval is over. By default maps, wherever there is more than one: it then speaks of maps like
            these. Seeds are for one map and speak of it alone.
        **wanted
            Coordinates as in `select`.

        Returns
        -------
        Paired
            Difference and probability of improvement with their intervals, and a p-value; ``print`` of it says all.
            `fastrm.results.holm` corrects the p-values of several comparisons.
        """
        return compare(self, one, two, value, by, over, **wanted)

    def overall(
        self, value: str = "settled", steps: str = "steps_to_90", by: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return a row of numbers per method over all maps and tasks, with one 95 % interval each.

        ``iqm`` is the inter-quartile mean and ``gap`` the optimality gap, how far runs fall short of a score of 1 on
        average. The column named like `steps` is the median of the survival curve. ``_low`` and ``_high`` are the ends
        of intervals over maps, or over the seeds of one map, as the column ``over`` says.

        Parameters
        ----------
        value : str
            A number of `per_run_values` of which more is better.
        steps : str
            One of which fewer is better.
        by : list of str, optional
            Coordinates to group runs by, in place of the method and swept settings.
        """
        return overall(self, value, steps, by)

    def profiles(
        self,
        value: str = "settled",
        thresholds: Sequence[float] | Array | None = None,
        by: Sequence[str] | None = None,
    ) -> dict[tuple[Any, ...], Profile]:
        """Return the performance profile of every method: the share of its runs, on all tasks, above each threshold.

        Keys are the values of the coordinates that runs are grouped by, such as ``("crm-num",)``; see `overall`.
        """
        return profiles(self, value, thresholds, by)

    def survival(self, value: str = "steps_to_90", by: Sequence[str] | None = None) -> dict[tuple[Any, ...], Survival]:
        """Return the survival curve of every method: the share of its runs that have not got there, by steps.

        It is the estimate of Kaplan and Meier, with a 95 % interval at every step; runs that never get there are
        censored at their end. Keys are as those of `profiles`.
        """
        return survival(self, value, by)

    def log_rank(self, one: Any, two: Any, value: str = "steps_to_90", *, by: str = "method", **wanted: Any) -> LogRank:
        """Test whether two methods get there at the same rate, by a log-rank test within setups and tasks.

        Parameters are those of `compare`, and `value` is a number of which fewer is better. ``print`` of the result
        says all; `fastrm.results.holm` corrects the p-values of several tests.
        """
        return log_rank(self, one, two, value, by, **wanted)

    def replay(self, which: int | str, *, episodes: bool = False, **wanted: Any) -> Run:
        """Compute a run once more, to the last bit, with all that it learned; see `fastrm.experiments.replay`."""
        from fastrm.experiments import replay

        return replay(self, which, episodes=episodes, **wanted)

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        from fastrm.pages import results_card

        return results_card(self)

    def plot(self, **options: Any) -> Figure:
        """Draw median and quartiles of the score; options are those of `fastrm.plots.learning_curves`."""
        from fastrm.plots import learning_curves

        return learning_curves(self, **options)

    def to_xarray(self) -> xarray.Dataset:
        """Return everything as an xarray dataset with dimensions ``run`` and ``tick``."""
        try:
            import xarray
        except ImportError:
            raise MissingExtra("to_xarray needs xarray; install it with: pip install 'fastrm[analysis]'") from None
        data: dict[str, Any] = {name: (("run", "tick"), self[name]) for name in self._present(PER_TICK)}
        data |= {name: (("run",), self[name]) for name in self._present(PER_RUN)}
        coords = {name: ("run", self[name]) for name in ("run", *COORDINATES, *self.swept)}
        coords |= {name: ("tick", self[name]) for name in ("tick", "step")}
        return xarray.Dataset(data, coords, attrs=self.attributes)

    def to_rliable(
        self, value: str = "settled", *, by: Sequence[str] | None = None, over: Literal["maps", "seeds"] = "maps"
    ) -> dict[str, Array]:
        """Return a dictionary of arrays, runs x tasks, as the library rliable takes it.

        Parameters
        ----------
        value : str
            A number of `per_run_values` of which more is better.
        by : list of str, optional
            Coordinates to group runs by, in place of the method and swept settings; their values are the keys.
        over : {"maps", "seeds"}
            What a row is, and so what intervals of rliable are over. With ``maps`` it is a map and seed, and a column a
            setup and task. With ``seeds`` it is a seed, and every task on every map has a column.

        Raises
        ------
        ConfigError
            When some columns have more runs than others.
        """
        return to_rliable(self, value, by, over)

    def per_run(self) -> pandas.DataFrame:
        """Return a data frame with a row per run: coordinates, variables per run, and numbers of `per_run_values`."""
        columns = {name: self[name] for name in ("run", *self.coordinates, *self._present(PER_RUN))}
        return _frame(columns | {name: self.per_run_values(name) for name in DERIVED})

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with a row per run and tick."""
        ticks, names = len(self["step"]), ("run", *self.coordinates, *self._present(PER_RUN))
        columns = {name: np.repeat(self[name], ticks) for name in names} | {"step": np.tile(self["step"], self.runs)}
        return _frame(columns | {name: self[name].reshape(-1) for name in self._present(PER_TICK)})


def _frame(columns: Mapping[str, Array]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise MissingExtra("a data frame needs pandas; install it with: pip install 'fastrm[analysis]'") from None
    return pandas.DataFrame(columns)


def load(path: str | Path | Sequence[str | Path]) -> Results:
    """Load a result file, or several of one experiment as one, and check that they are sound.

    Parameters
    ----------
    path : path or sequence of paths
        A file, a pattern such as ``parts/*.h5``, or a list of either. Columns of several files are read when they are
        asked for, so the files must stay where they are. A run that occurs twice must be the same to the bit.

    Raises
    ------
    StoreError
        When a file is missing, damaged, not one of ours, or of another experiment than the first.
    """
    paths = find_files(path)
    if paths is None:
        return _load_one(Path(str(path)))
    first = Results(unpack(read_file(paths[0]), str(paths[0]))[1])
    columns, attributes = join_files(_read_plan(first, paths[0]), paths)
    named = path if isinstance(path, str | Path) else paths[0] if len(paths) == 1 else f"{paths[0]} and others"
    return Results(attributes, Path(named), columns)


def _load_one(path: Path) -> Results:
    columns, attributes = unpack(read_file(path), str(path), everything=True)
    results = Results(attributes, path, dict(columns))
    plan = _read_plan(results, path)
    check_numbers(results.columns, plan, str(path))
    check_coordinates(results.columns, plan, str(path))
    return results


def _read_plan(results: Results, path: Path) -> Plan:
    """Return the plan of results; raise StoreError, naming their file, where it cannot be read."""
    try:
        return results.plan
    except FastrmError as problem:
        raise StoreError(f"{path}: its attribute 'plan' cannot be read: {problem}") from None


def write_runs(path: str | Path, runs: Sequence[Mapping[str, Any]], **settings: Any) -> Results:
    """Write runs that were made elsewhere to a result file, and load it: `fastrm.experiments.write_runs`."""
    from fastrm.experiments import write_runs

    return write_runs(path, runs, **settings)


Rows = Sequence[Mapping[str, Any]]
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def to_csv(rows: Rows) -> str:
    """Write rows as CSV, numbers with six digits; columns are those of all rows, in order.

    >>> print(to_csv([{"task": "a", "score_50": 0.5, "steps": float("inf")}]), end="")
    task,score_50,steps
    a,0.5,inf
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(rows)
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_figure(row.get(name, ""), ".6g") for name in columns)
    return text.getvalue()


def to_latex(rows: Rows, columns: Sequence[str] | None = None) -> str:
    r"""Write rows as a LaTeX table in the style of ``booktabs``, numbers with up to three decimals.

    >>> print(to_latex([{"task": "a_b", "score_50": 0.5}]), end="")
    \begin{tabular}{lr}
    \toprule
    task & score\_50 \\
    \midrule
    a\_b & 0.500 \\
    \bottomrule
    \end{tabular}
    """
    known = _columns(rows)
    names = list(columns or known)
    if unknown := [name for name in names if rows and name not in known]:
        raise ConfigError(f"no column {unknown[0]!r}; there are {', '.join(known)}")
    sides = "".join("r" if any(isinstance(row.get(name), int | float) for row in rows) else "l" for name in names)
    cells = [names, *([_figure(row.get(name, ""), "fixed") for name in names] for row in rows)]
    head, *body = (" & ".join(text.translate(_LATEX) for text in line) + r" \\" for line in cells)
    lines = (rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
    return "\n".join(lines) + "\n"


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _figure(value: Any, form: str) -> str:
    """Format a value, a float as `form` says; `fixed` is up to three decimals."""
    if not isinstance(value, float):
        return str(value)
    if form == "fixed":
        form = ".3f" if abs(value) < 10 else ".1f" if abs(value) < 999.95 else ".0f"
    return f"{value:{form}}"
