"""``info``: the content and the origin of a result file."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from fastrm.checks import refuse_given
from fastrm.errors import printable

from .console import (
    MODULE,
    SCRIPT,
    add_file,
    add_json,
    describe_state,
    failures,
    format_int,
    format_shape,
    format_values,
    print_json,
    print_pairs,
)

if TYPE_CHECKING:
    from fastrm.results import Results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_file(parser)
    add_json(parser, "print everything as JSON, for programs")
    parser.add_argument("--compare", nargs=2, metavar=("ONE", "TWO"), help="compare two methods instead, run by run")
    parser.add_argument("--by", metavar="COORDINATE", help="compare two of these, such as two tasks (default method)")
    parser.add_argument("--value", metavar="NUMBER", help="compare this, such as steps_to_90 (default settled)")


def run(arguments: argparse.Namespace) -> int:
    """Print shape and provenance, or a comparison."""
    from fastrm.results import load

    results = load(arguments.file)
    if arguments.compare is not None:
        one, two = arguments.compare
        pair = results.compare(one, two, arguments.value or "settled", by=arguments.by or "method")
        print_json(pair) if arguments.json else sys.stdout.write(f"{printable(str(pair))}\n")
        return 0
    refuse_given({"by": arguments.by, "value": arguments.value}, "goes with --compare", "--{}".format)
    if arguments.json:
        print_json(as_dict(results))
    else:
        print_pairs(in_words(results))
    return 0


def as_dict(results: Results) -> dict[str, Any]:
    """Return everything that is known about a file, for programs."""
    plan, failed = results.plan, results["error"] != ""
    return {
        "file": results.path,
        "complete": results.complete,
        "runs": results.runs,
        "runs_planned": plan.count,
        "ticks": plan.ticks,
        "steps": plan.steps,
        "seeds": plan.seeds,
        "setups": list(dict.fromkeys(plan.values("setup"))),
        "maps": [{"setup": setup, "name": name} for setup, name, _ in plan.grids],
        "tasks": plan.values("task"),
        "methods": plan.values("label"),
        "sweep": dict(plan.sweep),
        "variables": {name: str(column.dtype) for name, column in results.columns.items()},
        "failed": [
            {"run": run, "error": error}
            for run, error in zip(results["run"][failed], results["error"][failed], strict=True)
        ],
        "attributes": {name: _read(value) for name, value in results.attributes.items()},
    }


def in_words(results: Results) -> dict[str, str]:
    """Return the first things to know about a file, by name."""
    about, plan = results.attributes, results.plan
    tick = plan.learner.tick_within(plan.steps)
    maps, tasks, methods, _, seeds = plan.shape
    shape = format_shape(maps, tasks, methods, dict(plan.sweep), seeds)
    ticks = f"{format_int(plan.ticks)} ticks" + (", logarithmic" if tick == "log" else f" of {format_int(tick)}")
    return {
        "what": describe_state(results),
        "when": f"{_time(_text(about, 'started'))} to {_time(_text(about, 'ended'))}",
        "command": _command(_text(about, "command")),
        "versions": _versions(about),
        "machine": _machine(_read(about.get("machine", ""))),
        "shape": f"{shape}; {format_int(plan.steps)} steps a run, {ticks} steps",
        "setups": ", ".join(dict.fromkeys(plan.values("setup"))),
        "tasks": ", ".join(plan.values("task")),
        "methods": ", ".join(plan.values("label")),
        **({"start": plan.start} if plan.start else {}),
        **({"warm starts": ", ".join(f"{one} from {two}" for one, two in plan.warm_start)} if plan.warm_start else {}),
        **{name: format_values(plan.values(name)) for name in plan.swept},
        "failed": failures(results) or "none",
    }


def _text(about: dict[str, Any], name: str) -> str:
    return printable(str(about.get(name, ""))) or "unknown"


def _time(text: str) -> str:
    """Format an ISO time in UTC for people."""
    match = re.fullmatch(r"(\S{10})T(\d\d:\d\d:\d\d)\+00:00", text)
    return f"{match[1]} {match[2]} UTC" if match else text


def _read(value: Any) -> Any:
    """Parse a JSON object or list; return other texts, such as a version, unchanged."""
    text = str(value)
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _command(line: str) -> str:
    """Name the program as people start it, not by the path of its file."""
    line = re.sub(r"^\S*fastrm[/\\]bench[/\\]__main__\.py", MODULE, line)
    return re.sub(r"^\S*[/\\]fastrm(?=\s|$)", SCRIPT, line)


def _versions(about: dict[str, Any]) -> str:
    commit, semantics = str(about.get("git_commit", "")), _read(about.get("semantics", ""))
    learners = ", ".join(f"{name} {n}" for name, n in semantics.items()) if isinstance(semantics, dict) else "unknown"
    at = f" (commit {commit[:12]}{'-dirty' if commit.endswith('-dirty') else ''})" if commit else ""
    return f"fastrm {_text(about, 'fastrm')}{at}; schema {_text(about, 'schema')}; semantics {learners}"


def _machine(machine: Any) -> str:
    if not isinstance(machine, dict):
        return str(machine) or "unknown"
    versions = (f"{name.capitalize() if name == 'python' else name} {machine[name]}"
                for name in ("python", "numba", "numpy") if name in machine)  # fmt: skip
    return ", ".join([str(machine.get("cpu", "")), f"{machine.get('cores', '?')} cores", *versions])
