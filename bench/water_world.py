"""What ``check`` prints about a water world."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from fastrm.dispatch import add_row
from fastrm.problems import WaterProblem
from fastrm.worlds import WATER_ACTIONS

from .check import report
from .console import FAILED, print_json
from .inputs import print_run, run_facts

if TYPE_CHECKING:
    from fastrm.exact import Check, WaterGuarantee
    from fastrm.learners import Run


@add_row(report, WaterProblem)
def report_on_water(
    problem: WaterProblem, run: Run | None, arguments: argparse.Namespace, caught: Sequence[Any]
) -> int:
    """Print whether the optimal policy takes the fewest steps, and its actions."""
    from rich.console import Console

    from fastrm.exact import check

    begun = time.perf_counter()
    found = check(problem, arguments.gamma)
    seconds = time.perf_counter() - begun
    if arguments.json:
        print_json(as_dict(found, seconds) | run_facts(run))
    else:
        print_water(found, seconds)
        print_run(Console(highlight=False, emoji=False), run)
    return FAILED if arguments.fail and not found.guarantee.is_shortest else 0


def as_dict(found: Check, seconds: float) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    verdict = cast("WaterGuarantee", found.guarantee)
    best = verdict.solution
    return {
        "world": best.problem.world.source,
        "machine": best.problem.machines[0].source,
        "gamma": best.gamma,
        "verdict": verdict.verdict,
        "is_shortest": verdict.is_shortest,
        "optimal_length": best.length,
        "shortest": best.shortest,
        "optimal_return": best.value,
        "shortest_return": verdict.shortest_return,
        "actions": best.actions,
        "shortest_actions": verdict.shortest_actions,
        "optimal_arps": found.optimal_arps,
        "findings": [{"kind": f.kind, "state": f.state, "message": f.message} for f in found.findings],
        "layers": best.horizon,
        "seconds": seconds,
    }


def print_water(found: Check, seconds: float) -> None:
    """Print the found."""
    from rich.console import Console

    console, verdict = Console(highlight=False, emoji=False), cast("WaterGuarantee", found.guarantee)
    best = verdict.solution
    colour = "green" if verdict.is_shortest else "red" if verdict.verdict == "never finishes" else "yellow"
    console.print(f"[bold {colour}]{verdict.verdict}[/] at gamma {best.gamma:g}")
    length = verdict.verdict if best.length is None else f"{best.length} steps"
    console.print(f"  optimal policy   {length}, return {best.value:.8g}")
    console.print(f"  fewest steps     {best.shortest}, return {verdict.shortest_return:.8g}")
    if best.problem.delay and best.problem.soonest_paid[0]:
        console.print(f"  paid soonest     {best.problem.soonest_paid[0]} steps, falling off included")
    console.print(f"  optimal actions  {_in_words(best.actions)}")
    console.print(f"  worked out       {best.horizon} layers of time in {seconds:.1f} s")
    for finding in found.findings:
        console.print(f"  [yellow]{finding.kind}[/]: {finding.message}")


def _in_words(actions: tuple[int, ...]) -> str:
    """Return actions by their first letters, many at once: n none, u up, r right, d down, l left."""
    letters = "".join(WATER_ACTIONS[action][0] for action in actions[:120])
    return letters + ("..." if len(actions) > 120 else "") + "  (none, up, right, down, left)"
