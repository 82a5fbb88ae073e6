"""The pages that explain a problem: the map or box, the machine, what was learned, and what is exactly true.

A page walks a map by itself: it has tables of where moves lead, what machines pay and what policies do. Where moves are
certain it also solves the problem by itself, for any terminal reward R, step reward r and discount. What it says of
shortest paths does not come from these floating-point values: the thresholds of R are worked out here in rationals, for
some two dozen discounts, and the page compares the reader's numbers with them exactly. Learned policies are
tables of actions. A learner with options has a table per option, and one of the option that it chooses; a learner
without them has a table per machine state. So one rule follows both: choose an option, keep it until the machine state
is left. The page of a water world has episodes step by step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import fastrm
from fastrm import exact
from fastrm.arrays import Array
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, printable
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.learners import Run, registry
from fastrm.machines import RewardMachine
from fastrm.pages import page
from fastrm.pages.page import smallest
from fastrm.plots import drawn_form, joined_edges, known_values, last_best, palette, visits
from fastrm.problems import Problem, TabularProblem, WaterProblem, check_tabular, unsupported
from fastrm.worlds import START, WALL

SCRIPTS = (
    "dom.js", "unpack.js", "walk.js", "solve.js", "finding.js", "map_view.js", "machine_view.js", "player.js",
    "legend.js", "heat.js", "facts.js", "knobs.js", "explain.js",
)  # fmt: skip
"""What draws a problem."""
MOST_PAIRS = 600_000
"""Cells times machine states of a page: more make it too large to send, and no cell could be seen."""
MOST_RULES = 4_000_000
"""Kinds of moves times machine states."""
GAMMAS = (
    0.5, 0.6, 0.65, 0.7, 0.75, 0.78, 0.8, 0.82, 0.84, 0.86, 0.88, 0.89, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97,
    0.975, 0.98, 0.985, 0.99, 0.995,
)  # fmt: skip
"""Stops of the knob of the discount; the problem's own is one more."""
FEW_GAMMAS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
"""Stops on problems so large that thresholds take long."""
MANY_STATES = 12
"""Machine states beyond which the page shows the current one and its neighbours, and the whole drawing on demand."""
MANY_PAIRS, MOST_TURNED = 20_000, 120_000
"""Cells times machine states from which there are few stops, and beyond which there is one."""

_MEANING = {
    "shortest": "Every optimal policy takes a shortest path.",
    "shortest for some optimal policies only": "Some optimal policies take a shortest path, others do not.",
    "never finishes": "The optimal policy never completes the task: going round in a loop earns it more.",
    "ends in failure": "The optimal policy ends in a failure: that earns it more than completing the task.",
    "undecided": "Whether every optimal policy takes a shortest path could not be decided.",
}


class Policy(NamedTuple):
    """Actions, their values, and the visits of an agent that takes them."""

    actions: Array
    """uint8 [n_s, n_o]: the action of every cell in every option (or machine state)."""
    choice: Array | None
    """[n_s, n_u]: the option chosen in every cell and machine state; None where options are machine states."""
    value: Array
    """float64 [n_s, n_u]: NaN where nothing was learned."""
    visits: Array | None = None
    """[n_s, n_u]: how often the agent is there."""


def columns_of(problem: TabularProblem, machine: int) -> slice:
    """Return the columns of one machine's states."""
    columns = [column for column, (number, _) in enumerate(problem.states) if number == machine]
    return slice(columns[0], columns[-1] + 1)


def exact_policy(solution: exact.TabularSolution) -> Policy:
    """Return the optimal policy, ties to the highest action."""
    here = columns_of(solution.problem, solution.machine)
    q = np.zeros((*solution.policy.shape, N_ACTIONS))
    np.put_along_axis(q, solution.policy[:, :, None].astype(np.int64), 1.0, axis=2)
    count = visits(solution.problem, q)[:, here]
    return Policy(solution.policy[:, here].astype(np.uint8), None, solution.value[:, here], count)


def learned_policy(problem: TabularProblem, run: Run, machine: int) -> Policy | None:
    """Return what a run does greedily; None for a learner whose rule the page does not know."""
    here, first = columns_of(problem, machine), run.more.get("first_option")
    if registry.find(run.algo).per_state:
        value = known_values(run.q[:, here], float(run.config.q_init))
        count = visits(problem, run.q, run.last_epsilon, run.config.episode_limit)[:, here]
        return Policy(last_best(run.q)[:, here].astype(np.uint8), None, value, count)
    if first is None or run.controller is None:
        return None
    options = first.astype(np.int64)
    begin, end = options[here.start], options[here.stop]
    choice = np.empty((len(run.q), here.stop - here.start), dtype=np.int64)
    for k, u in enumerate(range(here.start, here.stop)):
        choice[:, k] = options[u] - begin + last_best(run.controller[:, options[u] : options[u + 1]])
    q = np.take_along_axis(run.q[:, begin:end], choice[:, :, None], axis=1)
    actions = last_best(run.q[:, begin:end]).astype(np.uint8)
    return Policy(actions, choice, known_values(q, float(run.config.q_init)))


def rule_arrays(problem: TabularProblem, machine: int) -> dict[str, Array]:
    """Return where moves lead and what they pay, potentials aside, for one machine."""
    tables, here = problem.tables, columns_of(problem, machine)
    cells = problem.terrain.cells
    moves = (tables.next_s != np.arange(len(cells))[:, None]) << np.arange(N_ACTIONS)
    used, event = np.unique(tables.event, return_inverse=True)
    guide = {}
    if problem.potential is not None:
        levels, place = np.unique(problem.potential[:, here], return_inverse=True)
        guide = {"phiLevels": levels, "phi": smallest(place.reshape(-1, here.stop - here.start).T)}
    delta = np.minimum(tables.delta[used, here].astype(np.int64) - here.start, here.stop - here.start)
    amounts, index = np.unique(problem.plain[used, here], return_inverse=True)
    return guide | {
        "cells": smallest(cells[:, 0].astype(np.int64) * problem.grid.size[1] + cells[:, 1]),
        "moves": moves.sum(axis=1).astype(np.uint8),
        "event": smallest(event.reshape(-1)),
        "delta": smallest(delta),
        "outcome": tables.outcome[used, here],
        "amounts": amounts.astype(np.float64),
        "reward": smallest(index.reshape(delta.shape).T),
    }


def policy_arrays(policy: Policy) -> dict[str, Array]:
    """Return a policy as small numbers.

    Values become levels from 1 on, 0 where there is none, equally many cells of a machine state on each, so that small
    differences show beside large ones; ``scale`` has the value of every level. Visits become levels too.
    """
    arrays = {"actions": policy.actions}
    if policy.choice is not None:
        arrays["choice"] = smallest(policy.choice)
    arrays["value"], arrays["scale"] = _levels(policy.value)
    if policy.visits is not None:
        arrays["visits"], _ = _levels(np.where(policy.visits > 0, policy.visits, np.nan))
    return arrays


def _levels(values: Array) -> tuple[Array, Array]:
    """Return the level of every value in its column, [n_s, n_u], and a value of every level, [n_u, n_levels]."""
    level, most = np.zeros(values.shape, dtype=np.uint8), palette.VALUE_LEVELS
    scale = np.full((values.shape[1], most), np.nan)
    for u in range(values.shape[1]):
        known = np.isfinite(values[:, u])
        different, place, count = np.unique(values[known, u], return_inverse=True, return_counts=True)
        if not len(different):
            continue
        middle = (count.cumsum() - count / 2) / count.sum()  # equal values share a level
        own = np.minimum((most * middle).astype(np.int64), most - 1)
        level[known, u] = 1 + own[place.reshape(-1)]
        scale[u, own] = different
        scale[u, : own[0]], scale[u, own[-1] :] = different[0], different[-1]
    return level, scale.astype(np.float32)


@by_kind
def explain_page(
    problem: Problem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, command: str = ""
) -> str:
    """Return a web page, in one file, on which a problem can be looked at and walked.

    It shows the map, the machine, the values and the greedy actions of every machine state, and an episode step by
    step from any cell. It also shows the exact optimum and the verdict of `fastrm.guarantee`.

    Parameters
    ----------
    problem : Problem
        The compiled world and machines.
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
    raise unsupported(problem)


@add_row(explain_page, TabularProblem)
def explain_tables(
    problem: TabularProblem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, command: str = ""
) -> str:
    """Return the page of a map and a machine."""
    data = explain_data(problem, run, gamma=gamma, machine=machine)
    title = f"{data['machine']['name']} on {data['map']['name']}"
    data |= {"title": title, "command": command, "version": fastrm.__version__}
    about = f"{title}: turn the rewards and the discount, and watch the best policy"
    return page.assemble(title, (*SCRIPTS, "explain_page.js"), data, _still(problem, data), about)


def _still(problem: TabularProblem, data: Mapping[str, Any]) -> str:
    """Return the page without scripts: the map, the machine as text, and the verdict."""
    verdict, text = data["verdict"], page.text
    meaning = f"<p>{text(verdict['verdict'])}: {text(verdict['meaning'])}</p>" if verdict else ""
    machine = text("\n".join(data["machine"]["text"])).replace("\\n", "\n")
    return (
        f"<h1>{text(data['title'])}</h1><p>This page needs JavaScript to walk the map.</p>{meaning}"
        f"{page.still_map(problem.grid)}<pre>{machine}</pre>"
    )


def explain_data(
    problem: Problem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, brief: bool = False
) -> dict[str, Any]:
    """Return the data of the page; `brief` leaves out the range of discounts, which takes longest."""
    problem = check_tabular(problem)
    gamma = run.config.gamma if run is not None else gamma
    exact.check_gamma(gamma)
    if not 0 <= machine < len(problem.machines):
        raise ConfigError(f"machine={machine}: the problem has {len(problem.machines)}, counted from 0")
    problem = problem.at(gamma)
    _check_size(problem)
    verdict = exact.guarantee_tables(problem, gamma, machine) if problem.is_certain else None
    best = verdict.solution if verdict else exact.solve(problem, gamma, machine)
    here, task, arrays = columns_of(problem, machine), problem.machines[machine], rule_arrays(problem, machine)
    learned = learned_policy(problem, run, machine) if run is not None else None
    policies = {} if learned is None else {"learned": learned}
    if not problem.is_certain or gamma == 1:  # elsewhere the page finds it
        policies["optimal"] = exact_policy(best)
    for key, policy in policies.items():
        arrays |= {f"{key}.{name}": array for name, array in policy_arrays(policy).items()}
    return {
        "map": {
            "name": _bare(problem.source),
            "rows": list(problem.grid.rows),
            "wall": WALL,
            "startTile": START,
            "fences": sorted([*here, int(after[0] > here[0])] for here, after in problem.grid.fences),
            "objects": list(problem.grid.objects),
            "start": problem.start,
        },
        "machine": _machine_data(task)
        | {
            "name": task.name or _bare(task.source),
            "first": int(problem.tables.first_u[machine]) - here.start,
            "task": [machine + 1, len(problem.machines)],
        },
        "gamma": gamma,
        "slip": problem.slip,
        "run": None if run is None else _run_data(run, machine, is_followed=learned is not None),
        "policies": {name: {"columns": policy.actions.shape[1]} for name, policy in policies.items()},
        "verdict": _verdict_data(verdict, brief) if verdict else None,
        "knobs": _knobs_data(problem, verdict, machine, brief) if verdict and gamma < 1 else None,
        "starts": int(problem.tables.starts.size),
        "arrays": page.pack(arrays),
    }


def _check_size(problem: TabularProblem) -> None:
    if not problem.terrain.is_map:
        raise ConfigError(f"{problem.source}: the page shows maps; draw what was learned with Run.plot(problem)")
    pairs, rules = len(problem.terrain.cells) * problem.tables.n_u, problem.tables.reward.size
    if pairs > MOST_PAIRS or rules > MOST_RULES:
        raise ConfigError(
            f"{problem.source}: {len(problem.terrain.cells)} cells with {problem.tables.n_u} machine states are "
            f"too many for a page (at most {MOST_PAIRS} pairs and {MOST_RULES} rules); take a smaller map or machine"
        )


def _machine_data(machine: RewardMachine) -> dict[str, Any]:
    names = page.names_by_what_is_done(machine)
    is_many = len(machine.states) > MANY_STATES and drawn_form(machine) is machine
    near: list[list[list[str]]] = [[] for _ in machine.states]
    if is_many:
        for (u, v), texts in joined_edges(machine).items():
            near[machine.states.index(u)].append([names.get(v, v), *texts])
    return {
        "states": [names.get(u, u) for u in machine.states],
        "isNamedByDone": bool(names),
        "near": near if is_many else None,
        "ends": {"success": list(machine.success), "failure": list(machine.failure)},
        "text": machine.write().rstrip("\n").split("\n"),
        "graph": page.machine_graph(machine, names),
        "narrow": page.machine_graph(machine, names, downwards=True) if len(machine.states) <= MANY_STATES else None,
    }


def _bare(source: str) -> str:
    """Return the name of a file, or that of something generated without its brackets.

    >>> _bare("<1a1b size 9 seed 1>"), _bare("maps/lake.map")
    ('1a1b size 9 seed 1', 'maps/lake.map')
    """
    return source[1:-1] if re.fullmatch("<[^<>]*>", source) else source


def _run_data(run: Run, machine: int, *, is_followed: bool) -> dict[str, Any]:
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


def _verdict_data(verdict: exact.TabularGuarantee, brief: bool) -> dict[str, Any]:
    witness = verdict.witness
    return {
        "verdict": verdict.verdict,
        "kind": "good" if verdict.is_shortest else "unsure" if verdict.verdict == "undecided" else "bad",
        "meaning": _MEANING.get(verdict.verdict, "The optimal policy takes a detour."),
        "reason": printable(verdict.reason or ""),
        "length": verdict.length,
        "shortest": verdict.shortest,
        "optimalReturn": witness.optimal_return,
        "shortestReturn": witness.shortest_return,
        "thresholds": _thresholds(verdict, brief) if verdict.solution.gamma < 1 else [],
    }


def _knobs_data(
    problem: TabularProblem, verdict: exact.TabularGuarantee, machine: int, brief: bool
) -> dict[str, Any] | None:
    """Return the rewards that can be turned, and what is exactly true at every stop of the discount.

    Where all edges into a success pay the same R, a stop has the phases of R, their thresholds as fractions; where the
    only other reward is r, thresholds are proportional to r. Elsewhere a stop has the one verdict.
    """
    reward, step = verdict.terminal_reward, verdict.step_reward
    if verdict.verdict == "undecided":
        return None
    own = verdict.solution.gamma
    pairs = len(problem.terrain.cells) * len(problem.machines[machine].states)
    some = () if brief or pairs > MOST_TURNED else FEW_GAMMAS if pairs > MANY_PAIRS else GAMMAS
    gammas = sorted({own, *some})
    stops = []
    for gamma in gammas:
        if reward is None:
            found = verdict if gamma == own else exact.guarantee_tables(problem, gamma, machine)
            stops.append([[None, found.length, found.verdict]])
        else:
            phases = exact.reward_phases(problem, gamma, machine)
            stops.append([[_fraction(above), length, "failure" * fails] for above, length, fails in phases])
    return {
        "reward": reward,
        "step": step if reward is not None and step is not None and step > 0 else None,
        "gammas": gammas,
        "stops": stops,
        "fewest": int(problem.from_start(problem.starts[0]).shortest[machine]),
    }


def _fraction(value: Fraction | None) -> str | None:
    """Write a fraction as two whole numbers."""
    return None if value is None else f"{value.numerator}/{value.denominator}"


def _thresholds(verdict: exact.TabularGuarantee, brief: bool) -> list[list[str]]:
    """Return symbol, value and meaning of the numbers that decide the verdict."""
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


@add_row(explain_page, WaterProblem)
def explain_water(
    problem: WaterProblem, run: Run | None = None, *, gamma: float = 0.9, machine: int = 0, command: str = ""
) -> str:
    """Return the page of a water world, on which episodes can be played; what was learned comes first."""
    gamma = run.config.gamma if run is not None else gamma
    verdict = exact.guarantee_water(problem, gamma)
    episodes: dict[str, Any] = {}
    if run is not None:
        episodes["learned"] = _episode(problem, run.greedy_actions[0], f"{run.algo.upper()}, seed {run.seed}")
    episodes["optimal"] = _episode(problem, verdict.solution.actions, "optimal")
    if not verdict.is_shortest:
        episodes["shortest"] = _episode(problem, verdict.shortest_actions, "fewest steps")
    last = max(len(one["path"]) for one in episodes.values())
    world, task = problem.world, problem.machines[0]
    title = f"{task.name or task.source} on {world.source.strip('<>')}"
    data: dict[str, Any] = {
        "title": title,
        "about": f"discount {gamma:g}, profile {'icarte2022' if problem.delay else 'clean'}",
        "command": command,
        "version": fastrm.__version__,
        "world": {"side": world.side, "radius": world.radius, "colours": [ball.colour for ball in world.balls]},
        "balls": problem.physics.balls[:last, :, :2].round(2).tolist(),
        "machine": _machine_data(task),
        "episodes": episodes,
        "facts": _facts(verdict, run),
    }
    told = "".join(f"<p>{page.text(fact)}</p>" for fact in data["facts"])
    still = f"<h1>{page.text(title)}</h1><p>This page needs JavaScript to play episodes.</p>{told}"
    return page.assemble(title, ("dom.js", "machine_view.js", "player.js", "water.js"), data, still)


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


def _facts(verdict: exact.WaterGuarantee, run: Run | None) -> list[str]:
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
