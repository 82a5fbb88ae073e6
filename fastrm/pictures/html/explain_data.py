"""What a page needs to walk a problem by itself: where moves lead, what machines pay, and what policies do.

Policies are tables of actions. A learner with options has a table per option, and a table that says which option it
takes up; a learner without them has a table per machine state. So one rule follows both: take up an option, keep it
until the machine state is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.exact import Solution, highest_action
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.learners import Run, registry
from fastrm.pictures.html.page import smallest
from fastrm.pictures.policies import visits
from fastrm.problems import Problem
from fastrm.worlds import START, WALL


class Policy(NamedTuple):
    """Actions, and how good a page shows them to be."""

    actions: Array
    """uint8 [n_s, n_o]: the action of every cell in every option (or machine state)."""
    choice: Array | None
    """[n_s, n_u]: the option taken up in every cell and machine state; None where options are machine states."""
    value: Array
    """float64 [n_s, n_u]: NaN where nothing was ever learned."""
    visits: Array | None = None
    """[n_s, n_u]: how often the agent is there."""


def columns_of(problem: Problem, machine: int) -> slice:
    """Return the columns of one machine's states."""
    mine = [column for column, (number, _) in enumerate(problem.states) if number == machine]
    return slice(mine[0], mine[-1] + 1)


def exact_policy(solution: Solution) -> Policy:
    """Return the optimal policy, ties to the highest action."""
    here = columns_of(solution.problem, solution.machine)
    q = np.zeros((*solution.policy.shape, N_ACTIONS))
    np.put_along_axis(q, solution.policy[:, :, None].astype(np.int64), 1.0, axis=2)
    count = visits(solution.problem, q)[:, here]
    return Policy(solution.policy[:, here].astype(np.uint8), None, solution.value[:, here], count)


def shortest_policy(problem: Problem, machine: int) -> Array:
    """Return an action that begins a shortest path, ties to the highest; any where none succeeds."""
    tables, steps = problem.tables, problem.steps_to_go.astype(np.int64)
    here = columns_of(problem, machine)
    u = np.arange(here.start, here.stop)
    after = np.empty((len(tables.next_s), len(u), N_ACTIONS), dtype=np.int64)
    for a in range(N_ACTIONS):
        e = tables.event[:, a].astype(np.int64)
        after[:, :, a] = steps[tables.next_s[:, a][:, None], tables.delta[e][:, u]]
        outcome = tables.outcome[e][:, u]
        after[:, :, a][outcome == 1] = 0
        after[:, :, a][outcome == 2] = np.iinfo(np.int64).max
    best = after == after.min(axis=2, keepdims=True)
    return highest_action((best << np.arange(N_ACTIONS)).sum(axis=2).astype(np.uint8)).astype(np.uint8)


def learned_policy(problem: Problem, run: Run, machine: int) -> Policy | None:
    """Return what a run does greedily; None for a learner whose rule the page does not know."""
    here, first = columns_of(problem, machine), run.more.get("first_option")
    if registry.find(run.algo).per_state:
        value = _known_values(run.q[:, here], run.config.q_init)
        count = visits(problem, run.q, run.last_epsilon, run.config.episode_limit)[:, here]
        return Policy(_greedy(run.q)[:, here], None, value, count)
    if first is None or run.controller is None:
        return None
    options = first.astype(np.int64)
    begin, end = options[here.start], options[here.stop]
    choice = np.empty((len(run.q), here.stop - here.start), dtype=np.int64)
    for k, u in enumerate(range(here.start, here.stop)):
        mine = run.controller[:, options[u] : options[u + 1]]
        choice[:, k] = options[u] - begin + _last_best(mine)
    q = np.take_along_axis(run.q[:, begin:end], choice[:, :, None], axis=1)
    return Policy(_greedy(run.q[:, begin:end]), choice, _known_values(q, run.config.q_init))


def _known_values(q: Array, initial: float) -> Array:
    """Return the best value of every pair, NaN where no action was ever updated."""
    known: Array = np.where((q == initial).all(axis=2), np.nan, q.max(axis=2))
    return known


def _last_best(values: Array) -> Array:
    """Return the last of the largest along the last axis, as roll-outs choose."""
    last: Array = values.shape[-1] - 1 - values[..., ::-1].argmax(axis=-1)
    return last


def _greedy(q: Array) -> Array:
    return _last_best(q).astype(np.uint8)


def world_data(problem: Problem) -> dict[str, Any]:
    """Return the map: its rows, fences, kinds of objects and start."""
    grid = problem.grid
    return {
        "rows": list(grid.rows),
        "wall": WALL,
        "startTile": START,
        "fences": sorted([*here, int(there[0] > here[0])] for here, there in grid.fences),
        "objects": list(grid.objects),
        "start": problem.start,
    }


def rule_arrays(problem: Problem, machine: int) -> dict[str, Array]:
    """Return where moves lead and what they pay, for one machine."""
    tables, here = problem.tables, columns_of(problem, machine)
    cells = problem.terrain.cells
    moves = (tables.next_s != np.arange(len(cells))[:, None]) << np.arange(N_ACTIONS)
    used, event = np.unique(tables.event, return_inverse=True)
    delta = np.minimum(tables.delta[used, here].astype(np.int64) - here.start, here.stop - here.start)
    amounts, index = np.unique(tables.reward[used, here], return_inverse=True)
    return {
        "cells": smallest(cells[:, 0].astype(np.int64) * problem.grid.size[1] + cells[:, 1]),
        "moves": moves.sum(axis=1).astype(np.uint8),
        "event": smallest(event.reshape(-1)),
        "delta": smallest(delta),
        "outcome": tables.outcome[used, here],
        "amounts": amounts.astype(np.float64),
        "reward": smallest(index.reshape(delta.shape).T),
    }


LEVELS = 48
"""Levels of values and of visits that a page tells apart."""


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
    """Return the level of every value in its column, [n_s, n_u], and a value of every level, [n_u, LEVELS]."""
    level = np.zeros(values.shape, dtype=np.uint8)
    scale = np.full((values.shape[1], LEVELS), np.nan)
    for u in range(values.shape[1]):
        known = np.isfinite(values[:, u])
        different, place, count = np.unique(values[known, u], return_inverse=True, return_counts=True)
        if not len(different):
            continue
        middle = (count.cumsum() - count / 2) / count.sum()  # equal values share a level
        mine = np.minimum((LEVELS * middle).astype(np.int64), LEVELS - 1)
        level[known, u] = 1 + mine[place.reshape(-1)]
        scale[u, mine] = different
        scale[u, : mine[0]], scale[u, mine[-1] :] = different[0], different[-1]
    return level, scale.astype(np.float32)
