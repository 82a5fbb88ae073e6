"""The measurements behind ``speed``: kernels against C and the oracle, growth with states and cells, two workers.

Compile time is measured apart, in a process without a cache. Ratios compare the best of several repeats that alternate
between the two sides, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fastrm import FastrmError, GridMap, RewardMachine, compile
from fastrm.bench.measure import agendas, c_limit
from fastrm.bench.measure.checkout import checkout_file
from fastrm.bench.measure.environments import environments
from fastrm.bench.measure.water import water
from fastrm.learners import Batch, registry
from fastrm.machines import PAPER_KINDS, Kind, task
from fastrm.machines.language import (
    Binary,
    Chain,
    Feature,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Truth,
    Unary,
)
from fastrm.problems import Problem

Figures = dict[str, Any]
STATES = (1, 2, 4, 8, 16, 32, 64)
TARGETS = (2, 4, 6, 8, 10)
SIDES = (41, 201, 1001)
NAIVE_STEPS = 20_000


def everything(steps: int, repeats: int, say: Callable[[str], None] = lambda _: None) -> Figures:
    """Take all measurements; `say` hears what is being measured."""
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        library = c_limit.build(Path(folder))
        say("compiling everything without a cache")
        compile_s = cold_compile_seconds()
        for algo, kind, side in cases():
            say(f"{algo} on a {kind} machine, {side} x {side}")
            is_small = side == SIDES[0]  # large tables take a while to make
            effort = (steps, repeats) if is_small else (max(10_000, steps // 4), min(repeats, 3))
            kernels.append(kernel_row(algo, kind, side, *effort, library))
    say("growth with machine states")
    growth = {
        "machine_states": [states_row(n, steps // 4, repeats) for n in STATES],
        "any_order": [any_order_row(n, steps // 8, repeats) for n in TARGETS],
        "agendas": [agendas.agenda_row(n, steps // 4, min(repeats, 3)) for n in agendas.TARGETS],
    }
    say("two workers, environments, and Water world")
    return {
        "kernels": kernels, "growth": growth, "scaling": scaling(steps, repeats), "cold_compile_s": compile_s,
        "vector_environment": environments(repeats), "water": water(steps, min(repeats, 2)),
    }  # fmt: skip


def cases() -> list[tuple[str, Kind, int]]:
    """Return learner, kind of machine and side of all measurements: those with a twin in C on all kinds and sides."""
    names = registry.names()
    return [
        *product(c_limit.LEARNERS, PAPER_KINDS, SIDES[:1]),
        *product(c_limit.LEARNERS, PAPER_KINDS[:1], SIDES[1:]),
        *product([name for name in names if name not in c_limit.LEARNERS], PAPER_KINDS[:1], SIDES[:1]),
    ]


def paper_problem(kind: Kind, size: int = 41) -> Problem:
    """Return task a-b-c on a generated 1a1b1c map."""
    return compile(GridMap.generate("1a1b1c", size=size), RewardMachine.sequence("a-b-c", kind=kind))


def timed(problem: Problem, algo: str, steps: int, seeds: Sequence[int] = (0,)) -> tuple[float, Batch]:
    """Train some seeds; return the seconds inside the kernel."""
    batch = Batch(problem, algo, steps=steps, seeds=seeds, optimum=[1.0])
    start = time.perf_counter()
    batch.advance(steps)
    return time.perf_counter() - start, batch


def kernel_row(algo: str, kind: Kind, side: int, steps: int, repeats: int, library: Any) -> Figures:
    """Measure one kernel on one kind of machine: one seed, and six, beside C one by one and three in turn."""
    problem = paper_problem(kind, side)
    steps -= steps % 10_000  # the C loop makes whole ticks
    timed(problem, algo, 10_000)
    best: dict[str, float] = {}
    for _, (lanes, seeds) in product(range(repeats), ((1, [0]), (3, list(range(6))))):
        seconds, batch = timed(problem, algo, steps, seeds)
        _keep_best(best, f"ours {lanes}", seconds / steps / len(seeds))
        if c_limit.has(library, algo):
            seconds, tables = c_limit.run_limit(library, Batch(problem, algo, steps=steps, seeds=seeds), lanes)
            _keep_best(best, f"C {lanes}", seconds / steps / len(seeds))
            if any(one.tobytes() != other.tobytes() for one, other in zip(tables, c_limit.learned(batch), strict=True)):
                raise FastrmError(f"{algo} {kind}: the C loop learned another table, so its speed means nothing")
    naive = naive_rate(problem, algo) if side == SIDES[0] else None
    return {
        "algo": algo,
        "kind": kind,
        "side": side,
        "steps_per_s": 1 / best["ours 1"],
        "steps_per_s_six": 1 / best["ours 3"],
        "vs_c": best["C 1"] / best["ours 1"] if "C 1" in best else None,
        "six_vs_c": best["C 1"] / best["ours 3"] if "C 1" in best else None,
        "six_vs_lanes_in_c": best["C 3"] / best["ours 3"] if "C 3" in best else None,
        "c_note": library if isinstance(library, str) else None,
        "vs_naive": 1 / best["ours 1"] / naive if naive else None,
    }


def _keep_best(best: dict[str, float], name: str, seconds: float) -> None:
    best[name] = min(best.get(name, math.inf), seconds)


def naive_rate(problem: Problem, algo: str) -> float | None:
    """Return the steps per second of the oracle, None where the tests are not at hand or do not have it."""
    oracle = checkout_file("tests", "naive.py")
    if oracle is None:
        return None
    spec = importlib.util.spec_from_file_location("fastrm_naive", oracle)
    if spec is None or spec.loader is None:
        return None
    naive = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(naive)
    if algo not in naive.LEARNERS:
        return None
    learner = naive.LEARNERS[algo](problem.grid.render(), [oracle_spec(m) for m in problem.machines], 0)
    learner.run(NAIVE_STEPS // 10)
    start = time.perf_counter()
    learner.run(NAIVE_STEPS)
    return NAIVE_STEPS / (time.perf_counter() - start)


def oracle_spec(machine: RewardMachine) -> Figures:
    """Write a machine in the oracle's form."""
    edges = [(e.source, _tuples(e.guard), e.target, _tuples(e.reward)) for e in machine.edges]
    stages = [] if machine.agenda is None else list(zip(machine.agenda.targets, machine.agenda.needs, strict=True))
    return {
        "states": list(machine.states), "start": machine.start, "success": list(machine.success),
        "failure": list(machine.failure), "edges": edges, "score": machine.score,
        "agenda": [(target, [i for i in range(len(stages)) if needs >> i & 1]) for target, needs in stages],
    }  # fmt: skip


def _tuples(node: Guard) -> Any:
    match node:
        case Otherwise():
            return "otherwise"
        case Number(value):
            return ("num", value)
        case Truth(value):
            return ("true",) if value else ("not", ("true",))
        case Proposition(name):
            return ("prop", name)
        case Feature(function, name):
            return (function, name)
        case Unary(sign, operand):
            return ("not" if sign == "!" else "neg", _tuples(operand))
        case Binary(sign, left, right):
            return (sign, _tuples(left), _tuples(right))
        case Chain(sign, operands):
            return ({"&": "and", "|": "or"}.get(sign, sign), *(_tuples(operand) for operand in operands))


def states_row(states: int, steps: int, repeats: int) -> Figures:
    """Measure CRM on a sequence of so many targets, 41 x 41."""
    text = "-".join("abc"[i % 3] for i in range(states))
    problem = compile(GridMap.generate("1a1b1c"), RewardMachine.sequence(text))
    seconds = min(timed(problem, "crm", steps)[0] for _ in range(repeats))
    return {"states": states, "ns_per_step": seconds / steps * 1e9, "ns_per_update": seconds / steps / states * 1e9}


def any_order_row(targets: int, steps: int, repeats: int) -> Figures:
    """Measure CRM on so many targets in any order, 41 x 41, numeric: twice the states with every target."""
    letters = "abcdefghij"[:targets]
    grid = GridMap.generate("".join(f"1{letter}" for letter in letters))
    start = time.perf_counter()
    problem = compile(grid, task("{" + ",".join(letters) + "}", kind="numeric"))
    compile_s, states = time.perf_counter() - start, 2**targets
    seconds = min(timed(problem, "crm", steps)[0] for _ in range(repeats))
    per_step = seconds / steps * 1e9
    return {"targets": targets, "states": states, "ns_per_update": per_step / (states - 1), "compile_s": compile_s}


def scaling(steps: int, repeats: int) -> Figures:
    """Compare two threads that train one seed each with one thread that trains both."""
    problem = paper_problem("boolean")

    def seconds(workers: int) -> float:
        batches = [Batch(problem, "crm", steps=steps, seeds=[seed]) for seed in range(2)]
        lists = [batches] if workers == 1 else [[batch] for batch in batches]
        threads = [threading.Thread(target=lambda mine=mine: [b.advance(steps) for b in mine]) for mine in lists]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    best = {workers: float("inf") for workers in (1, 2)}
    for _ in range(repeats):
        for workers in best:
            best[workers] = min(best[workers], seconds(workers))
    return {"workers": [1, 2], "seconds": list(best.values()), "speedup": best[1] / best[2]}


_COLD = """
import time, fastrm
from fastrm.bench.measure.kernels import paper_problem
from fastrm.bench.measure import c_limit
from fastrm.learners import Batch
start = time.perf_counter()
problem = paper_problem("boolean")
print("compiler", time.perf_counter() - start)
for algo in c_limit.LEARNERS:
    start = time.perf_counter()
    Batch(problem, algo, steps=10, seeds=[0], tick=10, optimum=[1.0]).advance(10)
    print(algo, time.perf_counter() - start)
start = time.perf_counter()
fastrm.guarantee(problem), fastrm.optimal_arps(problem)
print("exact", time.perf_counter() - start)
"""


def cold_compile_seconds() -> dict[str, float]:
    """Return the seconds that compiling takes in a new process without a cache."""
    environment = {**os.environ, "FASTRM_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", _COLD], env=environment, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
