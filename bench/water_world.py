"""What ``check``, ``draw`` and ``play`` do with a water world in place of a map."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastrm.problems import WaterProblem
from fastrm.worlds import WATER_ACTIONS, WATER_LIMIT

from .console import FAILED, print_json
from .inputs import print_run, run_facts, train_learner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fastrm.exact import Check, WaterGuarantee
    from fastrm.learners import Run

KEYS = {
    **{key: action for action, keys in ((0, " ."), (1, "wk"), (2, "dl"), (3, "sj"), (4, "ah")) for key in keys},
    **{f"\x1b[{letter}": action for letter, action in zip("ACBD", (1, 2, 3, 4), strict=True)},
}
"""Letters, and the arrow keys as terminals send them."""
HELP = "arrow keys (or w a s d, or h j k l) push; space waits; r begins again; q leaves"


def check_water(problem: WaterProblem, arguments: argparse.Namespace, run: Run | None) -> int:
    """Decide whether the optimal policy takes the fewest steps, and print the verdict with its witness."""
    from rich.console import Console

    from fastrm.exact import check

    begun = time.perf_counter()
    report = check(problem, arguments.gamma)
    seconds = time.perf_counter() - begun
    if arguments.json:
        print_json(as_dict(report, seconds) | run_facts(run))
    else:
        print_water(report, seconds)
        print_run(Console(highlight=False, emoji=False), run)
    return FAILED if arguments.fail and not report.guarantee.is_shortest else 0


def as_dict(report: Check[WaterGuarantee], seconds: float) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    verdict, best = report.guarantee, report.guarantee.solution
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
        "optimal_arps": report.optimal_arps,
        "findings": [{"kind": f.kind, "state": f.state, "message": f.message} for f in report.findings],
        "layers": best.horizon,
        "seconds": seconds,
    }


def print_water(report: Check[WaterGuarantee], seconds: float) -> None:
    """Print the report."""
    from rich.console import Console

    console, verdict, best = Console(highlight=False, emoji=False), report.guarantee, report.guarantee.solution
    colour = "green" if verdict.is_shortest else "red" if verdict.verdict == "never finishes" else "yellow"
    console.print(f"[bold {colour}]{verdict.verdict}[/] at gamma {best.gamma:g}")
    length = verdict.verdict if best.length is None else f"{best.length} steps"
    console.print(f"  optimal policy   {length}, return {best.value:.8g}")
    console.print(f"  fewest steps     {best.shortest}, return {verdict.shortest_return:.8g}")
    if best.problem.delay and best.problem.soonest_paid[0]:
        console.print(f"  paid soonest     {best.problem.soonest_paid[0]} steps, falling off included")
    console.print(f"  optimal actions  {_in_words(best.actions)}")
    console.print(f"  worked out       {best.horizon} layers of time in {seconds:.1f} s")
    for finding in report.findings:
        console.print(f"  [yellow]{finding.kind}[/]: {finding.message}")


def _in_words(actions: tuple[int, ...]) -> str:
    """Return actions by their first letters, many at once: n none, u up, r right, d down, l left."""
    letters = "".join(WATER_ACTIONS[action][0] for action in actions[:120])
    return letters + ("..." if len(actions) > 120 else "") + "  (none, up, right, down, left)"


def draw_on_water(problem: WaterProblem, arguments: argparse.Namespace, form: str) -> Figure | None:
    """Train, and return what was learned as a figure; write an animation."""
    from fastrm.plots import draw_water, save_water_episode

    path = train_learner(problem, arguments).more["greedy_actions"].tolist()
    if form == "gif":
        save_water_episode(problem, path, arguments.out)
        return None
    return draw_water(problem.world, problem, path, arguments.width)


def play_water(problem: WaterProblem, read: Callable[[], str], write: Callable[[str], object], clear: str = "") -> None:
    """Show the episode, take a key, move; an empty key ends it."""
    from fastrm.plots import show_water

    actions: list[int] = []
    while True:
        walk = problem.walk(actions)
        t, over = len(walk.rewards), walk.outcome != 0 or len(walk.rewards) == WATER_LIMIT
        u = int(walk.states[-1, 2])
        state = "(terminal)" if u == problem.tables.n_u else problem.states[u][1]
        label, paid = (walk.labels[-1] or "-", walk.rewards[-1]) if t else ("-", 0.0)
        write(clear + show_water(problem, walk.states[-1], t))
        write(f"state {state}   label {label}   reward {paid:g}   sum {walk.rewards.sum():g}   step {t}\n")
        ended = f"the episode is over: {'success' if walk.outcome == 1 else 'failure' if walk.outcome else 'cut off'}"
        write(f"{ended}; r begins again; q leaves\n" if over else f"{HELP}\n")
        key = read()
        if key in ("", "q", "\x03", "\x04"):
            return
        if key == "r":
            actions = []
        elif key in KEYS and not over:
            actions.append(KEYS[key])
