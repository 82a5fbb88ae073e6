"""Coupled learning beside CRM on targets in any order: time per step with planning apart, and bytes of a run."""

from __future__ import annotations

import time
from typing import Any

from fastrm import GridMap, compile
from fastrm.learners import Batch
from fastrm.machines import RewardMachine, task
from fastrm.problems import MOST_PLANNED, Problem

TARGETS = (2, 4, 8, 10, 12, 16, 32)
MOST_STATES = 10
"""Targets of the largest machine with a state for every set of them."""


def agenda_problem(targets: int, size: int = 41, seed: int = 0) -> Problem:
    """Return so many targets in any order on an open map; more than 26 are several objects of a type."""
    per_type = -(-targets // 26)
    letters = "abcdefghijklmnopqrstuvwxyz"[: targets // per_type]
    grid = GridMap.generate("".join(f"{per_type}{x}" for x in letters), size=size, seed=seed)
    if per_type == 1:
        return compile(grid, task("{" + ",".join(letters) + "}"))
    names = " ".join(f"{x}{k}" for x in letters for k in range(1, per_type + 1))
    return compile(grid, RewardMachine.parse(f"start u0\nsuccess done\nu0 -> done agenda {names} reward 1"))


def agenda_row(targets: int, steps: int, repeats: int) -> dict[str, Any]:
    """Measure both learners with so many targets, CRM only where its machine has at most 1024 states.

    A step is what remains of coupled learning that goes to the nearest target and plans nothing; planning is what plans
    cost beside it.
    """
    problem = agenda_problem(targets)
    row: dict[str, Any] = {"targets": targets, "crm_ns_per_step": None, "crm_bytes": None}
    step, _ = _best_of(problem, "coupled", steps, repeats, plan="nearest")
    whole, batch = _best_of(problem, "coupled", steps, repeats)
    row |= {
        "coupled_ns_per_step": step / steps * 1e9,
        "planning_ns_per_step": max(0.0, whole - step) / steps * 1e9 if targets <= MOST_PLANNED else None,
        "plans": int(batch.state.own.plans[0]),
        "coupled_bytes": batch.bytes_per_seed,
    }
    if targets <= MOST_STATES:
        best, batch = _best_of(problem, "crm", max(10_000, steps // 2**targets * 8), repeats)
        row |= {"crm_ns_per_step": best / batch.steps * 1e9, "crm_bytes": batch.bytes_per_seed}
    return row


def _best_of(problem: Problem, algo: str, steps: int, repeats: int, **settings: Any) -> tuple[float, Batch]:
    """Return the least seconds of some repeats inside the kernel, and the last batch."""
    best = float("inf")
    for _ in range(repeats + 1):  # the first may compile
        batch = Batch(problem, algo, steps=steps, seeds=[0], optimum=[1.0], **settings)
        start = time.perf_counter()
        batch.advance(steps)
        best = min(best, time.perf_counter() - start)
    return best, batch
