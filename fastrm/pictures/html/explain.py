"""The page that explains a problem: the map, the machine, what was learned, and what is exactly true."""

from __future__ import annotations

import math
import re
from typing import Any

import fastrm
from fastrm.errors import ConfigError, printable
from fastrm.exact import Guarantee, check_gamma, guarantee, solve
from fastrm.learners import Run
from fastrm.pictures.html import page, still
from fastrm.pictures.html.explain_data import (
    columns_of,
    exact_policy,
    learned_policy,
    policy_arrays,
    rule_arrays,
    shortest_policy,
    world_data,
)
from fastrm.pictures.html.machine_graph import machine_graph
from fastrm.problems import Problem, check_problem
from fastrm.worlds import GridMap

SCRIPTS = (
    "dom.js", "unpack.js", "walk.js", "map_view.js", "machine_view.js", "player.js", "legend.js", "explain.js",
)  # fmt: skip
"""What draws a problem."""
MOST_PAIRS = 600_000
"""Cells times machine states of a page: more make it too large to send, and no cell could be seen."""
MOST_RULES = 4_000_000
"""Kinds of moves times machine states."""

_MEANING = {
    "shortest": "Every optimal policy takes a shortest path.",
    "shortest for some optimal policies only": "Some optimal policies take a shortest path, others do not.",
    "never finishes": "The optimal policy never completes the task: going round in a loop earns it more.",
    "ends in failure": "The optimal policy ends in a failure: that earns it more than completing the task.",
    "undecided": "Whether every optimal policy takes a shortest path could not be decided.",
}


def explain_page(
    problem: Problem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, command: str = ""
) -> str:
    """Return a web page, in one file, on which a problem can be looked at and walked.

    It shows the map, the machine, the values and the greedy actions of every machine state, and an episode step by
    step from any cell. Beside what was learned stand the exact optimum and the verdict of `fastrm.guarantee`.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    run : Run, optional
        What was learned; without it the page shows the optimal policy.
    gamma : float
        Discount factor of the exact answers; that of the run where there is one.
    machine : int
        Which machine of a multi-task problem.
    command : str
        The command that makes the page again, to be shown on it.

    Raises
    ------
    ConfigError
        When the problem is too large for a page.

    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> page = explain_page(fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b")))
    >>> page.startswith("<!DOCTYPE html>"), len(page) < 100_000
    (True, True)
    """
    data = explain_data(problem, run, gamma=gamma, machine=machine)
    title = f"{data['machine']['name']} on {data['map']['name']}"
    data |= {"title": title, "command": command, "version": fastrm.__version__}
    fallback = still.explained(problem, data)
    return page.assemble(title, (*SCRIPTS, "explain_page.js"), data, fallback)


def explain_data(
    problem: Problem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, brief: bool = False
) -> dict[str, Any]:
    """Return what the script needs; `brief` leaves out the range of discounts, which takes longest."""
    check_problem(problem)
    gamma = run.config.gamma if run is not None else gamma
    check_gamma(gamma)
    if not 0 <= machine < len(problem.machines):
        raise ConfigError(f"machine={machine}: the problem has {len(problem.machines)}, counted from 0")
    problem = problem.at(gamma)
    _check_size(problem)
    verdict = guarantee(problem, gamma, machine) if not problem.slip else None
    best = verdict.solution if verdict else solve(problem, gamma, machine)
    policies: dict[str, Any] = {}
    arrays = rule_arrays(problem, machine)
    learned = learned_policy(problem, run, machine) if run is not None else None
    for key, policy in (("learned", learned), ("optimal", exact_policy(best) if learned is None else None)):
        if policy is not None:
            arrays |= {f"{key}.{name}": array for name, array in policy_arrays(policy).items()}
            policies[key] = {"columns": policy.actions.shape[1]}
    if learned is not None:
        here = columns_of(problem, machine)
        arrays["optimal.actions"] = best.policy[:, here].astype("uint8")
        policies["optimal"] = {"columns": here.stop - here.start}
    arrays["shortest.actions"] = shortest_policy(problem, machine)
    policies["shortest"] = {"columns": len(problem.machines[machine].states)}
    return {
        "map": {"name": _bare(problem.source), **world_data(problem)},
        "machine": _machine(problem, machine),
        "gamma": gamma,
        "slip": problem.slip,
        "run": _told(run, machine, is_followed=learned is not None),
        "policies": policies,
        "verdict": _verdict(verdict, brief) if verdict else None,
        "arrays": page.pack(arrays),
    }


def _check_size(problem: Problem) -> None:
    if not isinstance(problem.terrain.world, GridMap):
        raise ConfigError(f"{problem.source}: the page shows maps; draw what was learned with Run.plot(problem)")
    pairs, rules = len(problem.terrain.cells) * problem.tables.n_u, problem.tables.reward.size
    if pairs > MOST_PAIRS or rules > MOST_RULES:
        raise ConfigError(
            f"{problem.source}: {len(problem.terrain.cells)} cells with {problem.tables.n_u} machine states are "
            f"too many for a page (at most {MOST_PAIRS} pairs and {MOST_RULES} rules); take a smaller map or machine"
        )


def _machine(problem: Problem, number: int) -> dict[str, Any]:
    machine = problem.machines[number]
    first = int(problem.tables.first_u[number]) - columns_of(problem, number).start
    return {
        "name": machine.name or _bare(machine.source),
        "states": list(machine.states),
        "first": first,
        "ends": {"success": list(machine.success), "failure": list(machine.failure)},
        "task": [number + 1, len(problem.machines)],
        "text": machine.write().rstrip("\n").split("\n"),
        "graph": machine_graph(machine),
    }


def _bare(source: str) -> str:
    """Return the name of something generated without the brackets that mark it as no file.

    >>> _bare("<1a1b size 9 seed 1>"), _bare("maps/lake.map")
    ('1a1b size 9 seed 1', 'maps/lake.map')
    """
    return source[1:-1] if re.fullmatch("<[^<>]*>", source) else source


def _told(run: Run | None, machine: int, *, is_followed: bool) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "learner": run.algo.upper() + (" with reward shaping" if run.shaping else ""),
        "seed": str(run.seed),
        "steps": run.steps,
        "length": run.greedy_lengths[machine],
        "shortest": run.shortest[machine],
        "qInit": run.config.q_init,
        "isFollowed": is_followed,
        "path": [] if is_followed else [list(cell) for cell in run.greedy_paths[machine]],
    }


def _verdict(verdict: Guarantee, brief: bool) -> dict[str, Any]:
    witness, gamma = verdict.witness, verdict.solution.gamma
    meaning = _MEANING.get(verdict.verdict, "The optimal policy takes a detour.")
    table: dict[str, Any] = {
        "verdict": verdict.verdict,
        "kind": "good" if verdict.is_shortest else "unsure" if verdict.verdict == "undecided" else "bad",
        "meaning": meaning,
        "reason": printable(verdict.reason or ""),
        "length": verdict.length,
        "shortest": verdict.shortest,
        "optimalReturn": witness.optimal_return,
        "shortestReturn": witness.shortest_return,
        "path": witness.path,
        "loop": witness.loop,
        "leavesAt": witness.leaves_at,
        "state": witness.state,
        "thresholds": [],
    }
    if gamma < 1:
        table["thresholds"] = _thresholds(verdict, brief)
    return table


def _thresholds(verdict: Guarantee, brief: bool) -> list[list[str]]:
    """Return symbol, value and meaning of what would change the verdict."""
    reward, step = verdict.critical_reward, verdict.critical_step_reward
    rows = [["R*", _number(reward), "above this terminal reward every optimal policy takes a shortest path"]]
    if step is not None:
        rows.append(["r*", _number(step), "below this step reward every optimal policy takes a shortest path"])
    if not brief:
        ends = verdict.gamma_interval
        shown = "none" if ends is None else f"{ends[0]:.4g} to {ends[1]:.4g}"
        rows.append(["γ", shown, "discount factors for which every optimal policy takes a shortest path"])
    return rows


def _number(value: float) -> str:
    if math.isinf(value):
        return "any" if value < 0 else "none is enough"
    return f"{value:.6g}".replace("-", "−")
