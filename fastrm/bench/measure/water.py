"""Water world behind ``speed``: linear learners as machines grow, and the vector environment by what it shows."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np

from fastrm import WaterWorld, compile, task
from fastrm.bench.measure.environments import time_steps
from fastrm.errors import MissingExtra
from fastrm.learners import WaterLearner
from fastrm.problems import WaterProblem

STATES = (1, 3, 6)
COUNT = 4096


def water(steps: int, repeats: int) -> dict[str, Any]:
    """Take all measurements on Water world."""
    learners = [
        learner_row(algo, features, states, steps, repeats)
        for algo, features, states in product(("qrm", "crm"), ("memory", "sight"), STATES)
    ]
    return {"learners": learners, "environments": environments(repeats)}


def sequence(states: int) -> WaterProblem:
    """Return a sequence of so many colours, hence machine states, in a generated world of twelve balls."""
    problem: WaterProblem = compile(WaterWorld.generate(seed=0), task("-".join("abcdef"[:states])))
    return problem


def learner_row(algo: str, features: str, states: int, steps: int, repeats: int) -> dict[str, Any]:
    """Measure one linear learner with one set of features: one seed, from the first step on."""
    learner = WaterLearner(sequence(states), algo, steps=steps, features=features, optimum=[1.0])
    learner.start(seed=0)
    learner.advance(1000)  # may compile
    best = float("inf")
    for _ in range(repeats):
        learner.start(seed=0)
        begun = time.perf_counter()
        learner.advance(steps)
        best = min(best, time.perf_counter() - begun)
    return {"algo": algo, "features": features, "states": states, "steps_per_s": steps / best}


def environments(repeats: int) -> list[dict[str, Any]] | None:
    """Time random actions in 4 096 environments, one row by kind of observation; None where gymnasium is missing."""
    try:
        from fastrm.env import WaterVectorEnv
    except MissingExtra:
        return None
    problem, rows = sequence(3), []
    actions = np.random.default_rng(0).integers(0, 5, (64, COUNT))
    for observation in ("states", "numbers"):
        rate = time_steps(WaterVectorEnv(COUNT, problem, observation=observation), actions, 100, repeats)
        rows.append({"observation": observation, "environments": COUNT, "steps_per_s": rate})
    return rows
