"""The page that explains a problem on Water world: the box, the machine, and episodes step by step."""

from __future__ import annotations

from typing import Any

import fastrm
from fastrm.exact import WaterGuarantee, guarantee
from fastrm.learners import Run
from fastrm.pictures.html import page
from fastrm.pictures.html.machine_graph import machine_graph
from fastrm.problems import WaterProblem

SCRIPTS = ("dom.js", "machine_view.js", "player.js", "water.js")


def explain_water_page(problem: WaterProblem, run: Run | None = None, *, gamma: float = 0.9, command: str = "") -> str:
    """Return a web page, in one file, on which episodes of a water world can be played.

    Parameters
    ----------
    problem : WaterProblem
        The compiled world and machine.
    run : Run, optional
        What was learned; it comes first.
    gamma : float
        Discount factor of the exact answers; that of the run where there is one.
    command : str
        The command that makes the page again, to be shown on it.
    """
    gamma = run.config.gamma if run is not None else gamma
    verdict = guarantee(problem, gamma)
    episodes: dict[str, Any] = {}
    if run is not None:
        actions = run.more["greedy_actions"].tolist()
        episodes["learned"] = _episode(problem, actions, f"{run.algo.upper()}, seed {run.seed}")
    episodes["optimal"] = _episode(problem, verdict.solution.actions, "optimal")
    if not verdict.is_shortest:
        episodes["shortest"] = _episode(problem, verdict.shortest_actions, "fewest steps")
    last = max(len(one["path"]) for one in episodes.values())
    world, machine = problem.world, problem.machines[0]
    title = f"{machine.name or machine.source} on {world.source.strip('<>')}"
    data = {
        "title": title,
        "about": f"discount {gamma:g}, profile {'icarte2022' if problem.delay else 'clean'}",
        "command": command,
        "version": fastrm.__version__,
        "world": {"side": world.side, "radius": world.radius, "colours": [ball.colour for ball in world.balls]},
        "balls": problem.physics.balls[:last, :, :2].round(2).tolist(),
        "machine": {
            "states": list(machine.states),
            "ends": {"success": list(machine.success), "failure": list(machine.failure)},
            "text": machine.write().rstrip("\n").split("\n"),
            "graph": machine_graph(machine),
        },
        "episodes": episodes,
        "facts": _facts(verdict, run),
    }
    still = f"<h1>{page.text(title)}</h1><p>This page needs JavaScript to play episodes.</p>" + "".join(
        f"<p>{page.text(fact)}</p>" for fact in _facts(verdict, run)
    )
    return page.assemble(title, SCRIPTS, data, still)


def _episode(problem: WaterProblem, actions: Any, title: str) -> dict[str, Any]:
    walk = problem.walk(actions)
    path = [(round(x, 2), round(y, 2)) for x, y in problem.positions(walk.states)]
    return {
        "title": title,
        "path": path,
        "actions": [int(action) for action in list(actions)[: len(walk.rewards)]],
        "states": walk.states[:, 2].tolist(),
        "labels": list(walk.labels),
        "rewards": walk.rewards.tolist(),
        "outcome": walk.outcome,
    }


def _facts(verdict: WaterGuarantee, run: Run | None) -> list[str]:
    best = verdict.solution
    facts = [
        f"Verdict: {verdict.verdict}.",
        f"The fewest steps to complete the task are {best.shortest}; such a path earns {verdict.shortest_return:.6g}.",
        f"The optimal policy earns {best.value:.6g}"
        + (f" in {best.length} steps." if best.length else " and does not complete the task."),
    ]
    if run is not None:
        done = f"takes {run.greedy_length} steps" if run.greedy_length else "does not complete the task"
        facts.append(f"The greedy policy that was learned {done}.")
    return facts
