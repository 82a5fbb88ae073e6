"""What commands share: arguments, messages on standard error, tables, JSON, summaries of results, errors of writing."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import re
import shutil
import sys
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrm.errors import ConfigError, FastrmWarning, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fastrm.results import Results

MODULE, SCRIPT = "python -m fastrm.bench", "fastrm"
"""The two ways to start the program."""
FAILED, BAD_INPUT, INTERRUPTED, KILLED = 1, 2, 3, 130
"""Exit codes."""
LEFT = ("setup", "machine", "task", "method", "map", "algorithm", "features")
"""Columns of words."""


def _argument(*names: str, help: str, **about: Any) -> Callable[..., None]:
    """Return a function that adds an argument to a parser, and may describe it in other words."""

    def add(parser: argparse.ArgumentParser, help: str = help) -> None:
        parser.add_argument(*names, help=help, **about)

    return add


add_file = _argument("file", metavar="FILE", help="a result file")
add_json = _argument("--json", action="store_true", help="print JSON on standard output, for programs")
add_quiet = _argument("-q", "--quiet", action="store_true", help="print nothing but errors")
add_workers = _argument("-j", "--workers", type=int, metavar="N", help="workers (default: one per core)")
add_learner_file = _argument(
    "--learner", action="append", metavar="FILE", help="a Python file that registers your own learner; it is run"
)
"""`__main__` loads it before the command runs."""


def print_message(text: str) -> None:
    """Write a line on standard error; go on where nobody reads it any more."""
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(_one_line(text))


def print_path(path: Path) -> None:
    """Print the path of a file that was written."""
    sys.stdout.write(f"{printable(str(path))}\n")


@contextmanager
def writing(path: Path, start: str = "", cure: str = "", trouble: str = "cannot be written") -> Iterator[None]:
    """Raise ConfigError, its message between `start` and `cure`, where writing `path` fails."""
    try:
        yield
    except (OSError, ValueError) as problem:  # no file is named with a null character
        reason = getattr(problem, "strerror", None) or problem
        raise ConfigError(f"{start}{path}: {trouble}: {reason}{cure}") from None


def check_page_name(path: Path) -> None:
    """Raise ConfigError, before any work is done, unless a path is named like a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {path}: a page ends in .html")


def write_page(path: Path, page: str) -> None:
    """Write a page, and print its path."""
    with writing(path, cure="; choose another --out"):
        path.write_text(page, encoding="utf-8", newline="\n")
    print_path(path)


def encodable(text: str, plain: str, encoding: str | None) -> str:
    """Return `text` if an encoding has all its characters, else `plain`.

    >>> encodable("•", "*", "ascii"), encodable("•", "*", "utf-8")
    ('*', '•')
    """
    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return plain
    return text


def new_console() -> Console:
    """Return a console that prints texts as they are: no numbers in colour, no emoji."""
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def print_json(value: Any) -> None:
    """Write a value as JSON on standard output."""
    sys.stdout.write(as_json(value))


def as_json(value: Any) -> str:
    """Return a value as JSON; named tuples and dataclasses become tables, infinities and NaN strings: JSON has none.

    >>> print(as_json({"a": math.inf}), end="")
    {
     "a": "inf"
    }
    """
    return json.dumps(_plain(value), indent=1) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if hasattr(value, "tolist"):  # of NumPy, which --help need not import
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def format_int(count: int) -> str:
    """Format an integer with a space between thousands.

    >>> format_int(1200)
    '1 200'
    """
    return f"{count:,}".replace(",", " ")


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> format_count(1, "run"), format_count(1200, "run")
    ('1 run', '1 200 runs')
    """
    return f"{format_int(count)} {noun}{'' if count == 1 else 's'}"


def format_shape(maps: int, tasks: int, methods: int, sweep: Mapping[str, Sequence[Any]], seeds: int) -> str:
    """Return how many runs an experiment has along each of its axes.

    >>> format_shape(3, 1, 2, {"alpha": [0.1, 0.5]}, 5)
    '3 maps x 1 task x 2 methods x 2 values of alpha x 5 seeds'
    """
    swept = (f"{format_int(len(values))} value{'s' * (len(values) > 1)} of {name}" for name, values in sweep.items())
    first = format_count(maps, "map"), format_count(tasks, "task"), format_count(methods, "method")
    return " x ".join((*first, *swept, format_count(seeds, "seed")))


def format_values(values: Sequence[float | str]) -> str:
    """Format the values of a setting as a list.

    >>> format_values([0.5, 1.0]), format_values(["0.1", "linear(1, 0.1, 5000)"])
    ('0.5, 1', '0.1; linear(1, 0.1, 5000)')
    """
    words = [value if isinstance(value, str) else f"{value:.12g}" for value in values]
    return ("; " if any("," in word for word in words) else ", ").join(words)


def new_table(title: str, *columns: str, rows: Iterable[Sequence[str]] = ()) -> Table:
    """Make a table: the first column and columns of words on the left, numbers on the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 or column in LEFT else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ([printable(cell).replace("|", "\\|") for cell in row] for row in (head, ["---"] * len(head), *rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values side by side, as wide as the terminal; long values go on below themselves."""
    indent = max(map(len, pairs)) + 4
    width = max(shutil.get_terminal_size().columns - indent, 20)
    for name, value in pairs.items():
        lines = textwrap.wrap(printable(value), width, break_long_words=False, break_on_hyphens=False) or [""]
        sys.stdout.write(f"  {name}".ljust(indent) + f"\n{'':{indent}}".join(lines) + "\n")


def print_summary(results: Results) -> None:
    """Print medians per setup, task, swept setting and method.

    Where that is wider than the terminal, what is the same in all rows goes above the table.
    """
    console = new_console()
    console.print(describe_state(results), markup=False, soft_wrap=True)
    if not results.runs:
        return
    print_failures(results)
    table = _summary_table(results, ())
    if _width(console, table) > console.width:
        names = ("setup", "task", *results.swept)
        table = _summary_table(results, [name for name in names if len(set(results[name].tolist())) == 1])
    if _width(console, table) > console.width:
        from rich.box import SIMPLE_HEAD

        table.box, table.padding = SIMPLE_HEAD, (0, 1, 0, 0)  # lines between columns would cost two characters each
    if _width(console, table) > console.width:
        for column in table.columns:
            if column.header in ("setup", "task", *results.swept):
                column.no_wrap, column.overflow = False, "fold"  # words and schedules give way to numbers
    console.print(table)


def _width(console: Console, table: Table) -> int:
    """Return the width of a table that has all the room it needs."""
    return console.measure(table, options=console.options.update(max_width=1000)).maximum


def _summary_table(results: Results, above: Sequence[str]) -> Table:
    """Make the table of medians, without the columns that its title names."""
    from rich.markup import escape

    failed = results["error"] != ""
    names = ("setup", "task", *results.swept, "method")
    left = [name for name in names if name not in above]
    same = ", ".join(f"{name} {printable(format_values([results[name].tolist()[0]]))}" for name in above)
    more = ["failed"] if failed.any() else []
    title = f"{escape(same)}{'; ' * bool(same)}medians; shortest: share of runs that end with a shortest path"
    lasting = ["to shortest"] * results.plan.greedy_ticks
    note = results.schedule_note
    table = new_table(title, *left, "runs", *more, "settled", "to 90 %" + "*" * bool(note), *lasting, "shortest")
    table.caption, table.caption_justify = note or None, "left"
    for column in table.columns[: len(left)]:
        column.justify = "left"
    where = list(zip(*(results[name].tolist() for name in names), strict=True))
    failures = Counter(key for key, is_failed in zip(where, failed.tolist(), strict=True) if is_failed)
    for row in results.summary():
        count = [str(failures[tuple(row[name] for name in names)])] if more else []
        figures = ["-"] * (3 + len(lasting))
        if row["runs"]:
            medians = [row["steps_to_90_50"], *([row["steps_to_lasting_shortest_50"]] if lasting else [])]
            steps = ["never" if math.isinf(median) else format_int(round(median)) for median in medians]
            figures = [format_score(row["settled_50"]), *steps, f"{row['shortest_share']:.0%}"]
        words = (escape(printable(format_values([row[name]]))) for name in left)
        table.add_row(*words, str(row["runs"]), *count, *figures)
    return table


def describe_state(results: Results) -> str:
    """Return the experiment of a result file, how many of its runs it holds, and whether it is complete."""
    name, count = json.loads(results.attributes["experiment"])["name"], results.plan.count
    state = "complete" if results.complete else "with failures" if results.runs == count else "unfinished"
    return printable(f"{name}: {format_int(results.runs)} of {format_int(count)} runs ({state}), in {results.path}")


def failures(results: Results) -> str:
    """Return how many runs failed and why the first did, empty where none did."""
    errors = results["error"][results["error"] != ""]
    first = " ".join(str(errors[0]).split()) if errors.size else ""
    return f"{format_count(errors.size, 'run')} failed; the first: {first}" if errors.size else ""


def print_failures(results: Results) -> bool:
    """Print on standard error how many runs failed, and why the first did; return whether any did."""
    if text := failures(results):
        print_message(f"{results.path}: {text}")
    return bool(text)


def all_failed(results: Results) -> bool:
    """Return whether there are runs, and all of them failed."""
    return bool(results.runs and (results["error"] != "").all())


def check_has_runs(results: Results) -> None:
    """Raise ConfigError where all runs failed; print a message where some did."""
    if all_failed(results):
        first = failures(results).partition(" failed; ")[2]
        raise ConfigError(f"{results.path}: all {results.runs} runs failed, nothing to show; {first}")
    print_failures(results)


def load_results(path: str) -> Results:
    """Load a file that has something to show; print a message where some of its runs failed."""
    from fastrm.results import load

    results = load(path)
    check_has_runs(results)
    return results


def print_unfinished(path: str, results: Results, basis: str = "told from") -> None:
    """Print on standard error that a file is not complete, if it is not."""
    if not results.complete:
        print_message(f"{path}: {results!r}; {basis} the runs that are there")


def format_score(score: float) -> str:
    """Format a score, or '-' for NaN."""
    return "-" if math.isnan(score) else f"{score:.3f}"


@contextmanager
def one_line_messages(verbose: bool = False) -> Iterator[None]:
    """Show warnings as errors are shown, and messages of fastrm's loggers.

    Without `verbose` only why the first command takes a while, in a terminal.
    """
    log = logging.getLogger("fastrm" if verbose else "fastrm.kernels")
    handler, before = _Lines(verbose), log.level
    if verbose or sys.stderr.isatty():
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        with _warnings_as(_one_line):
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def warnings_with_place(path: Path) -> Iterator[None]:
    """Let warnings about tasks of an experiment begin with the place in its file."""
    from fastrm.experiments import where_in

    def prepend_place(text: str) -> str:
        key = re.match(r"(tasks|machine_files): ([^:]*):", text)
        return _one_line(where_in(path, key[1], key[2]) + text if key else text)

    with _warnings_as(prepend_place):
        yield


def _one_line(text: str) -> str:
    return f"fastrm: {printable(text)}\n"


@contextmanager
def _warnings_as(write: Callable[[str], str]) -> Iterator[None]:
    """Format our own warnings with `write`; where they were raised is nothing to a user of the shell."""
    original = warnings.formatwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **line: Any) -> str:
        is_ours = issubclass(category, FastrmWarning)
        return write(str(message)) if is_ours else original(message, category, *where, **line)

    warnings.formatwarning = show
    try:
        yield
    finally:
        warnings.formatwarning = original


class _Lines(logging.Handler):
    """Writes a line per message, and only one about the compiling of kernels."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self.verbose, self.begun, self.is_announced = verbose, time.time(), False

    def emit(self, record: logging.LogRecord) -> None:
        """Print it; standard error is looked up each time, as a progress bar takes its place."""
        text = record.getMessage()
        if record.name == "fastrm.kernels":
            if self.is_announced:
                return
            self.is_announced, text = True, "compiling kernels (once); this takes some seconds"
        print_message(f"{record.created - self.begun:7.1f} s: {text}" if self.verbose else text)
