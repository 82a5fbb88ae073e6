"""``check``: does the optimal policy take a shortest path? Verdict, thresholds, and a drawn witness."""

from __future__ import annotations

import argparse
import json
import math
import warnings
from typing import Any

from fastrm.bench.inputs import add_map_and_machine, read_machine, read_map


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_map_and_machine(parser)
    parser.add_argument("--gamma", type=float, default=0.9, help="discount factor (default 0.9)")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def run(options: argparse.Namespace) -> int:
    """Check and print."""
    from fastrm.bench.tables import print_check
    from fastrm.exact import check_gamma
    from fastrm.problems import compile

    check_gamma(options.gamma)
    grid, machine = read_map(options), read_machine(options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = compile(grid, machine, options.profile, options.metric)
        report = examine(problem, options.gamma)
    report["warnings"] = [str(warning.message) for warning in caught]
    if options.json:
        print(json.dumps(_plain(report), indent=1))  # noqa: T201
    else:
        print_check(grid, report)
    return 0


def examine(problem: Any, gamma: float) -> dict[str, Any]:
    """Collect everything that is known about a problem."""
    from fastrm.exact import guarantee, lint, optimal_arps
    from fastrm.learners import hrm_fixed_point

    verdict = guarantee(problem, gamma)
    witness = verdict.witness
    report: dict[str, Any] = {
        "map": problem.grid.source,
        "machine": problem.machines[0].source,
        "gamma": gamma,
        "verdict": verdict.verdict,
        "shortest": verdict.shortest,
        "some_shortest": verdict.some_shortest,
        "reason": verdict.reason,
        "optimal_length": verdict.length,
        "shortest_length": verdict.shortest_length,
        "optimal_return": witness.optimal_return,
        "shortest_return": witness.shortest_return,
        "optimal_arps": optimal_arps(problem, gamma)[0],
        "leaves_at": witness.leaves_at,
        "state": witness.state,
        "path": witness.path,
        "loop": witness.loop,
        "shortest_path": witness.shortest_path,
    }
    if gamma < 1:
        fixed = hrm_fixed_point(problem, gamma)
        report |= {
            "critical_reward": verdict.critical_reward,
            "critical_scale": verdict.critical_scale,
            "critical_step_reward": verdict.critical_step_reward,
            "gamma_interval": verdict.gamma_interval,
            "hrm_length": fixed.length,
            "hrm_regret": fixed.regret,
            "findings": [
                {"kind": f.kind, "state": f.state, "message": f.message}
                for f in lint(problem.machines[0], problem.grid, gamma, problem.profile, problem.terrain.metric)
            ],
        }
    return report


def _plain(value: Any) -> Any:
    """Make infinities and NaN strings: JSON has none."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
