"""``check``: does the optimal policy take a shortest path? Verdict, thresholds, and a drawn witness."""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, printable
from fastrm.problems import Problem, TabularProblem, WaterProblem, unsupported
from fastrm.worlds import FLOOR, START, WALL, WATER_ACTIONS, GridMap

from .console import FAILED, add_json, encodable, new_console, print_json
from .inputs import add_problem, compile_problem, print_run, run_facts, train_learner

if TYPE_CHECKING:
    from fastrm.exact import Check, Guarantee, TabularSolution, WaterGuarantee
    from fastrm.learners import HrmFixedPoint, Run

_log = logging.getLogger("fastrm.bench")
MAX_DRAWN = 80
MOST_STARTS = 8
"""Starts that are printed one by one; of more, only the mean."""
COLOURS = {"shortest": "green", "never finishes": "red"}
"""Of verdicts; all others are yellow."""
MARKS, ASCII_MARKS = "•@!", "*@!"
"""The optimal path, its loop, and where it leaves the shortest routes: no letters, which stand for objects."""
MARK_COLOURS = ("green", "bold red", "bold yellow")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_problem(parser, "train, and tell what was learned beside the optimum")
    parser.add_argument("--advise", action="store_true", help="say which kinds of reward are safe, and recommend one")
    parser.add_argument("--fail", action="store_true", help="exit with code 1 unless the verdict is 'shortest'")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check and print."""
    from fastrm.exact import check_gamma

    check_gamma(arguments.gamma)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = compile_problem(arguments)
        _log.info("compiled %r", problem)
        if arguments.advise:
            return print_advice(problem, arguments)
        run = train_learner(problem, arguments) if arguments.learn else None
        return report(problem, run, arguments, caught)


def print_advice(problem: Problem, arguments: argparse.Namespace) -> int:
    """Print which kinds of reward are safe for the task on the map, and a machine to begin with."""
    from fastrm.exact import advise

    for name in ("fail", "learn"):
        if getattr(arguments, name):
            raise ConfigError(f"--{name}: is about one machine, and --advise about all kinds; leave out one of the two")
    advice = advise(problem, gamma=arguments.gamma)
    if arguments.json:
        rows = [vars(row) | {"machine": row.machine and row.machine.write()} for row in advice.kinds]
        print_json(vars(advice) | {"kinds": rows, "recommended": advice.recommended.name})
    else:
        for line in str(advice).splitlines():
            new_console().print(printable(line), markup=False, highlight=False, soft_wrap=True)
    return 0


@by_kind
def report(problem: Problem, run: Run | None, arguments: argparse.Namespace, caught: Sequence[Any]) -> int:
    """Print what is known about a problem; return the exit code. `caught` are warnings, which may still grow."""
    raise unsupported(problem)


@add_row(report, TabularProblem)
def report_on_tables(
    problem: TabularProblem, run: Run | None, arguments: argparse.Namespace, caught: Sequence[Any]
) -> int:
    """Print verdict, thresholds and witness on a map or a table."""
    from fastrm.exact import check
    from fastrm.learners import hrm_fixed_point

    if not problem.is_certain:
        return _report_expected(problem, run, arguments)
    gamma = arguments.gamma
    found, hrm = check(problem, gamma), hrm_fixed_point(problem, gamma) if gamma < 1 else None
    _log.info("decided: %s", found.guarantee.verdict)
    messages = [str(warning.message) for warning in caught]
    if arguments.json:
        print_json(as_dict(found, hrm, messages) | run_facts(run))
    else:
        print_check(found, hrm, messages, run)
    return FAILED if arguments.fail and found.guarantee.verdict != "shortest" else 0


def as_dict(report: Check, hrm: HrmFixedPoint | None, messages: list[str]) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    verdict, witness = report.guarantee, report.guarantee.witness
    problem = verdict.solution.problem
    table = {"map": problem.source, "machine": problem.machines[0].source, "gamma": verdict.solution.gamma}
    table |= _some(verdict, "verdict", "is_shortest", "some_are_shortest", "reason")
    table |= {"optimal_length": verdict.length, "shortest": verdict.shortest}
    table |= _some(witness, "optimal_return", "shortest_return") | {"optimal_arps": report.optimal_arps}
    table |= _some(witness, "leaves_at", "state", "path", "loop", "shortest_path")
    if hrm is not None:
        table |= _some(verdict, "critical_reward", "critical_scale", "critical_step_reward", "gamma_interval")
        table |= {"hrm_length": hrm.length, "hrm_regret": hrm.regret, "findings": _findings(report)}
    return table | {"warnings": messages}


def _some(source: object, *names: str) -> dict[str, Any]:
    """Return some attributes of an object by their names."""
    return {name: getattr(source, name) for name in names}


def _findings(report: Check) -> list[dict[str, str]]:
    return [_some(finding, "kind", "state", "message") for finding in report.findings]


def _report_expected(problem: TabularProblem, run: Run | None, arguments: argparse.Namespace) -> int:
    """Print what can be expected where moves slip or have outcomes by chance, and no path is certain."""
    from fastrm.exact import solve

    if arguments.fail:
        raise ConfigError("--fail is about certain paths, and moves slip or are left to chance; leave out --fail")
    best = solve(problem, arguments.gamma)
    facts = {
        "value": best.start_value, "success_probability": best.success_probability(horizon=1000),
        "expected_length": best.expected_length(), "optimal_arps": best.arps(),
    }  # fmt: skip
    if arguments.json:
        print_json({"map": problem.source, "slip": problem.slip, "gamma": arguments.gamma} | facts | run_facts(run))
        return 0
    console = new_console()
    why = f"moves slip with probability {problem.slip:g}" if problem.slip else "moves have several outcomes by chance"
    console.print(
        f"{why}, so no path is certain; the best policy should\n"
        f"  earn             {facts['value']:.8g} at gamma {arguments.gamma:g}\n"
        f"  complete         {facts['success_probability']:.6g} of all episodes within 1000 steps\n"
        f"  take             {facts['expected_length']:.6g} steps when it does\n"
        f"  optimal ARpS     {facts['optimal_arps']:.8g} (reward per step, epsilon 0.1)"
    )
    print_run(console, run)
    return 0


def _print_verdict(verdict: Guarantee) -> Console:
    """Print the verdict in its colour; return the console."""
    console, colour = new_console(), COLOURS.get(verdict.verdict, "yellow")
    console.print(f"[bold {colour}]{verdict.verdict}[/] at gamma {verdict.solution.gamma:g}")
    return console


def _length(verdict: Guarantee) -> str:
    return verdict.verdict if verdict.length is None else f"{verdict.length} steps"


def _print_starts(console: Console, solution: TabularSolution, worst: object) -> None:
    """Print every start, or the mean of many, and the start that the rest of the report is about."""
    cells = solution.problem.starts
    if len(cells) == 1:
        return
    for one in map(solution.from_start, cells if len(cells) <= MOST_STARTS else ()):
        length = "never completes" if one.length is None else f"{one.length} steps"
        console.print(f"  from {one.problem.starts[0]!s:12} optimal {length}, shortest {one.shortest} steps")
    mean = "never completes from some" if solution.length is None else f"{solution.length:.6g} steps"
    console.print(f"  mean of {len(cells)} starts: optimal {mean}, shortest {solution.shortest:.6g} steps")
    console.print(f"  the verdict is that of the start {worst}:")


def print_check(report: Check, hrm: HrmFixedPoint | None, messages: list[str], run: Run | None = None) -> None:
    """Print the report."""
    verdict, witness = report.guarantee, report.guarantee.witness
    console = _print_verdict(verdict)
    if verdict.reason:
        console.print(printable(f"no verdict: {verdict.reason}"), markup=False)
    _print_starts(console, verdict.solution, witness.path[0])
    console.print(f"  optimal policy   {_length(verdict)}, return {witness.optimal_return:.8g}")
    console.print(f"  shortest path    {verdict.shortest} steps, return {witness.shortest_return:.8g}")
    console.print(f"  optimal ARpS     {report.optimal_arps:.8g} (task reward per step, epsilon 0.1)")
    if hrm is not None:
        _print_thresholds(console, report, hrm)
    print_run(console, run)
    grid = verdict.solution.problem.layout
    if witness.leaves_at is not None:
        where = "row {}, column {}".format(*witness.leaves_at) if grid else f"cell {witness.leaves_at}"
        console.print(f"  leaves the shortest routes at {where}; machine state {witness.state}")
    for finding in report.findings:
        console.print(f"  [yellow]{finding.kind}[/]: {escape(printable(finding.message))}")
    for message in messages:
        console.print(f"  [yellow]warning[/]: {escape(printable(message))}")
    if grid is None:
        trail = " ".join(map(str, witness.path[:40])) + (" ..." if len(witness.path) > 40 else "")
        console.print(f"  (a world without a layout is not drawn; optimal path {trail})")
    elif max(grid.size) <= MAX_DRAWN:
        console.print(draw_witness(grid, report, encodable(MARKS, ASCII_MARKS, console.encoding)))
    else:
        console.print(f"  (a map of {grid.size[0]} x {grid.size[1]} is not drawn)")


def _print_thresholds(console: Console, report: Check, hrm: HrmFixedPoint) -> None:
    verdict = report.guarantee
    console.print(f"  terminal reward  above {verdict.critical_reward:.8g} every optimal path is a shortest one")
    if verdict.critical_step_reward is not None:
        console.print(f"  step reward      below {verdict.critical_step_reward:.8g}")
    ends = verdict.gamma_interval
    console.print(f"  gamma            {'none' if ends is None else f'{ends[0]:.6f} to {ends[1]:.6f}'}")
    end = f"a failure after {len(hrm.path) - 1} steps" if hrm.fails else "a loop: it never finishes"
    settled = end if hrm.length is None else f"{hrm.length:g} steps"
    loss = f", losing {hrm.regret:.6g} of return" if hrm.regret > 1e-9 else ""
    console.print(f"  HRM settles on   {settled}{loss} (exploration left out)")


def draw_witness(grid: GridMap, report: Check, marks: str = MARKS) -> Text:
    """Draw the map with the path of the optimal policy, its loop, and where it leaves the shortest routes."""
    from fastrm.plots import starts_to_mark

    witness = report.guarantee.witness
    tiles = [[FLOOR if tile == START else tile for tile in row] for row in grid.rows]
    starts, unmarked = starts_to_mark(report.guarantee.solution.problem.starts)
    for row, column in starts:
        if tiles[row][column] == FLOOR:
            tiles[row][column] = START
    styles: dict[tuple[int, int], str] = {}
    leaves = [] if witness.leaves_at is None else [witness.leaves_at]
    shown = ((witness.path, "optimal path"), (witness.loop, "its loop"), (leaves, "leaves the shortest routes"))
    for (cells, _), mark, colour in zip(shown, marks, MARK_COLOURS, strict=True):
        for row, column in cells:
            styles[row, column] = colour
            if tiles[row][column] in (FLOOR, *marks):
                tiles[row][column] = mark
    text = Text()
    for r, line in enumerate(grid.render(["".join(row) for row in tiles]).splitlines()):
        for c, tile in enumerate(line):
            cell = ((r + 1) // 2, (c + 1) // 2) if grid.fences else (r, c)  # with fences at twice the size
            is_cell = not grid.fences or (r % 2 and c % 2)
            style = styles.get(cell, "") if is_cell and tile != WALL else "dim"
            text.append("#" if tile == WALL else tile, style)
        text.append("\n")
    legend = []
    for (cells, meaning), mark in zip(shown, marks, strict=True):
        letters = sorted({tiles[row][column] for row, column in cells} - {*marks, START, FLOOR})
        if any(tiles[row][column] == mark for row, column in cells):
            legend.append(f"{mark} {meaning}")
        elif letters and cells is witness.loop:  # it has no mark of its own on the map
            legend.append(f"{meaning} is on {', '.join(letters)}")
    text.append("   ".join([*legend, unmarked or f"{START} start", "letters objects"]))
    return text


@add_row(report, WaterProblem)
def report_on_water(
    problem: WaterProblem, run: Run | None, arguments: argparse.Namespace, caught: Sequence[Any]
) -> int:
    """Print whether the optimal policy takes the fewest steps, and its actions."""
    from fastrm.exact import check

    begun = time.perf_counter()
    found = check(problem, arguments.gamma)
    seconds = time.perf_counter() - begun
    if arguments.json:
        print_json(water_as_dict(found, seconds) | run_facts(run))
    else:
        print_water(found, seconds)
        print_run(new_console(), run)
    return FAILED if arguments.fail and not found.guarantee.is_shortest else 0


def water_as_dict(found: Check, seconds: float) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    verdict = cast("WaterGuarantee", found.guarantee)
    best = verdict.solution
    return {
        "world": best.problem.world.source, "machine": best.problem.machines[0].source, "gamma": best.gamma,
        **_some(verdict, "verdict", "is_shortest"),
        "optimal_length": best.length, "shortest": best.shortest,
        "optimal_return": best.value, "shortest_return": verdict.shortest_return,
        "actions": best.actions, "shortest_actions": verdict.shortest_actions,
        "optimal_arps": found.optimal_arps, "findings": _findings(found),
        "layers": best.horizon, "seconds": seconds,
    }  # fmt: skip


def print_water(found: Check, seconds: float) -> None:
    """Print the report."""
    verdict = cast("WaterGuarantee", found.guarantee)
    console, best = _print_verdict(verdict), verdict.solution
    console.print(f"  optimal policy   {_length(verdict)}, return {best.value:.8g}")
    console.print(f"  fewest steps     {best.shortest}, return {verdict.shortest_return:.8g}")
    if best.problem.delay and best.problem.soonest_paid[0]:
        console.print(f"  paid soonest     {best.problem.soonest_paid[0]} steps, falling off included")
    letters = "".join(WATER_ACTIONS[action][0] for action in best.actions[:120])
    more = "..." if len(best.actions) > 120 else ""
    console.print(f"  optimal actions  {letters}{more}  (none, up, right, down, left)")
    console.print(f"  worked out       {best.horizon} layers of time in {seconds:.1f} s")
    for finding in found.findings:
        console.print(f"  [yellow]{finding.kind}[/]: {finding.message}")
