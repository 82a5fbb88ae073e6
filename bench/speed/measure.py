"""The measurements behind ``speed``: kernels beside C and the oracle, growth, two workers, environments, Water world.

Compile time is measured apart, in a process without a cache. Ratios compare the best of several repeats that alternate
between the two sides, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import ctypes
import math
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from fastrm import FastrmError, GridMap, RewardMachine, WaterWorld, compile, kernels, task
from fastrm.arrays import Array, aligned_full
from fastrm.errors import ConfigError, MissingExtra
from fastrm.kernels.contracts import Hierarchy
from fastrm.learners import Batch, registry
from fastrm.machines import PAPER_KINDS, Kind
from fastrm.machines.language import Binary, Chain, Feature, Guard, Number, Otherwise, Proposition, Truth, Unary
from fastrm.problems import MOST_PLANNED, TabularProblem, WaterProblem, check_tabular
from fastrm.schedules import value_at

Figures = dict[str, Any]
STATES = (1, 2, 4, 8, 16, 32, 64)
TARGETS = (2, 4, 6, 8, 10)
SIDES = (41, 201, 1001)
NAIVE_STEPS = 20_000
COUNT = 4096
"""Environments that are stepped at once."""
AGENDA_TARGETS = (2, 4, 8, 10, 12, 16, 32)
MOST_STATES = 10
"""Targets of the largest machine with a state for every set of them."""
WATER_STATES = (1, 3, 6)
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
SOURCE = Path(__file__).with_name("limit.c")

IN_C = ("qrm", "crm", "hrm")
"""Learners that are written in C."""
_ARRAYS = {"moves": np.uint64, "delta": np.uint32, "own": np.float64, "reward": np.float64, "outcome": np.uint8}


def everything(steps: int, repeats: int, announce: Callable[[str], None] = lambda _: None) -> Figures:
    """Take all measurements; `announce` is called with what is measured next."""
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        library = build_limit(Path(folder))
        announce("compiling everything without a cache")
        compile_s = cold_compile_seconds()
        for algo, kind, side in cases():
            announce(f"{algo} on a {kind} machine, {side} x {side}")
            is_small = side == SIDES[0]  # large tables take a while to make
            effort = (steps, repeats) if is_small else (max(10_000, steps // 4), min(repeats, 3))
            kernels.append(kernel_row(algo, kind, side, *effort, library))
    announce("growth with machine states")
    growth = {
        "machine_states": [states_row(n, steps // 4, repeats) for n in STATES],
        "any_order": [any_order_row(n, steps // 8, repeats) for n in TARGETS],
        "agendas": [agenda_row(n, steps // 4, min(repeats, 3)) for n in AGENDA_TARGETS],
    }
    announce("two workers, environments, and Water world")
    return {
        "kernels": kernels, "growth": growth, "scaling": scaling(steps, repeats), "cold_compile_s": compile_s,
        "vector_environment": environments(repeats), "water": water(steps, min(repeats, 2)),
    }  # fmt: skip


def cases() -> list[tuple[str, Kind, int]]:
    """Return learner, kind of machine and side of all measurements: those with a twin in C on all kinds and sides."""
    names = registry.names()
    return [
        *product(IN_C, PAPER_KINDS, SIDES[:1]),
        *product(IN_C, PAPER_KINDS[:1], SIDES[1:]),
        *product([name for name in names if name not in IN_C], PAPER_KINDS[:1], SIDES[:1]),
    ]


def paper_problem(kind: Kind, size: int = 41) -> TabularProblem:
    """Return task a-b-c on a generated 1a1b1c map."""
    return compile(GridMap.generate("1a1b1c", size=size), RewardMachine.sequence("a-b-c", kind=kind))


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _advance(
    problem: TabularProblem, algo: str, steps: int, seeds: Sequence[int] = (0,), **settings: Any
) -> tuple[float, Batch]:
    """Train some seeds; return the seconds inside the kernel, and the batch."""
    batch = Batch(problem, algo, steps=steps, seeds=seeds, optimum=[1.0], **settings)
    return seconds_of(lambda: batch.advance(steps)), batch


def _best_of(repeats: int, problem: TabularProblem, algo: str, steps: int, **settings: Any) -> tuple[float, Batch]:
    """Return the fewest seconds inside the kernel of some repeats, and a batch."""
    return min((_advance(problem, algo, steps, **settings) for _ in range(repeats)), key=itemgetter(0))


def kernel_row(algo: str, kind: Kind, side: int, steps: int, repeats: int, library: Any) -> Figures:
    """Measure one kernel on one kind of machine: one seed, and six, beside C one by one and three in turn."""
    problem = paper_problem(kind, side)
    steps = max(10_000, steps // registry.slowness(algo) // 10_000 * 10_000)  # the C loop makes whole ticks
    _advance(problem, algo, 10_000)  # may compile
    best: dict[str, float] = defaultdict(lambda: math.inf)
    for _, (lanes, seeds) in product(range(repeats), ((1, [0]), (3, list(range(6))))):
        seconds, batch = _advance(problem, algo, steps, seeds)
        best[f"ours {lanes}"] = min(best[f"ours {lanes}"], seconds / steps / len(seeds))
        if hasattr(library, f"limit_{algo}"):
            seconds, tables = run_limit(library, Batch(problem, algo, steps=steps, seeds=seeds), lanes)
            best[f"C {lanes}"] = min(best[f"C {lanes}"], seconds / steps / len(seeds))
            if [table.tobytes() for table in tables] != [table.tobytes() for table in tables_of(batch)]:
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


class _Job(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in _ARRAYS),
        *((name, ctypes.c_uint64) for name in ("n_s", "n_u", "n_cols", "n_quiet", "start", "first_u")),
        *((name, ctypes.c_void_p) for name in ("first", "owner", "ends", "earns")),
        *((name, ctypes.c_uint64) for name in ("n_o", "n_ocols")),
        *((name, ctypes.c_double) for name in ("alpha", "gamma", "controller_alpha")),
        *((name, ctypes.c_uint64) for name in ("explore_below", "limit", "steps", "tick", "window")),
        ("seeds", ctypes.c_void_p),
        *((name, ctypes.c_uint64) for name in ("n", "lanes", "far")),
        *((name, ctypes.c_void_p) for name in ("q", "controller")),
        *((name, ctypes.c_uint64) for name in ("q_size", "controller_size")),
    )


class _Result(ctypes.Structure):
    _fields_ = (
        ("episodes", ctypes.c_uint64), ("completions", ctypes.c_uint64),
        ("banked", ctypes.c_double), ("score", ctypes.c_double),
    )  # fmt: skip


def build_limit(folder: Path) -> ctypes.CDLL | str:
    """Compile the C loop, with the system's compiler, into `folder`; return the library, or why there is none."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler (cc) found"
    target = folder / "limit.so"
    done = subprocess.run([compiler, *FLAGS, "-o", target, SOURCE], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"cc failed: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}"
    return ctypes.CDLL(str(target))


def tables_of(batch: Batch) -> list[Array]:
    """Return the tables of a batch: its values, and HRM's controller."""
    own = batch.state.own
    return [batch.state.q, *([own.controller] if isinstance(own, Hierarchy) else [])]


def run_limit(library: ctypes.CDLL, batch: Batch, lanes: int) -> tuple[float, list[Array]]:
    """Run the C loop on the problem and the seeds of a fresh batch, one by one or three in turn.

    Returns the seconds and the tables it learned, which the caller compares with the kernels'. Only what the speed
    suite needs is written in C: the clean profile, one machine, whole ticks.
    """
    problem, config, own = check_tabular(batch.problem), batch.config, batch.state.own
    tables, options = problem.tables, own.options if isinstance(own, Hierarchy) else None
    copies = []
    for table in tables_of(batch):
        copies.append(aligned_full(table.shape))
        copies[-1][...] = table
    sources = tables.moves, tables.delta, tables.reward, batch.setting.reward, tables.outcome
    typed = zip(_ARRAYS.items(), sources, strict=True)
    arrays: dict[str, Array] = {name: np.ascontiguousarray(array, dtype) for (name, dtype), array in typed}
    arrays["seeds"], arrays["q"], arrays["controller"] = np.array(batch.seeds, np.uint64), copies[0], copies[-1]
    if options is not None:
        arrays["first"], arrays["owner"] = options.first.astype(np.int64), options.owner
        arrays["ends"], arrays["earns"] = options.delta, options.reward
    job = _Job(
        **{name: array.ctypes.data for name, array in arrays.items()},
        n_s=len(tables.next_s), n_u=tables.n_u, n_cols=tables.reward.shape[1], n_quiet=tables.n_quiet,
        start=int(tables.starts[0]), first_u=int(tables.first_u[0]),
        n_o=len(options.owner) if options else 0, n_ocols=options.reward.shape[1] if options else 0,
        alpha=config.alpha, gamma=config.gamma, controller_alpha=config.controller_alpha,
        explore_below=math.floor(value_at(config.epsilon, 0) * 2**32),
        limit=config.episode_limit, steps=batch.steps, tick=config.tick, window=config.window or 100,
        n=len(batch.seeds), lanes=lanes, far=batch.setting.far is not None,
        q_size=copies[0][0].size, controller_size=copies[-1][0].size,
    )  # fmt: skip
    results = (_Result * len(batch.seeds))()
    function = getattr(library, f"limit_{batch.learner.name}")
    start = time.perf_counter()
    function(ctypes.byref(job), results)
    return time.perf_counter() - start, copies


def naive_rate(problem: TabularProblem, algo: str) -> float | None:
    """Return the steps per second of the oracle, None where the tests are not at hand or do not have it."""
    oracle = checkout_file("tests", "naive.py")
    if oracle is None:
        return None
    learners = runpy.run_path(str(oracle))["LEARNERS"]
    if algo not in learners:
        return None
    learner = learners[algo](problem.grid.render(), [oracle_spec(m) for m in problem.machines], 0)
    learner.run(NAIVE_STEPS // 10)
    return NAIVE_STEPS / seconds_of(lambda: learner.run(NAIVE_STEPS))


def oracle_spec(machine: RewardMachine) -> Figures:
    """Return a machine in the oracle's form."""
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


def checkout_file(*names: str) -> Path | None:
    """Return a file of the checkout that fastrm runs from, None where it is installed or the file is not there.

    Beside an installed package lie files of other packages, and the files looked for are executed. Kernels lie beside
    the package in a checkout and inside it when installed, which tells the two apart. A link out of the checkout does
    not count either.
    """
    root = Path(__file__).resolve().parents[2]
    if Path(str(kernels.__file__)).resolve().parent != root / "kernels":
        return None
    path = root.joinpath(*names).resolve()
    return path if path.is_file() and path.is_relative_to(root) else None


def states_row(states: int, steps: int, repeats: int) -> Figures:
    """Measure CRM on a sequence of `states` targets, 41 x 41."""
    text = "-".join("abc"[i % 3] for i in range(states))
    problem = compile(GridMap.generate("1a1b1c"), RewardMachine.sequence(text))
    per_step = _best_of(repeats, problem, "crm", steps)[0] / steps * 1e9
    return {"states": states, "ns_per_step": per_step, "ns_per_update": per_step / states}


def any_order_row(targets: int, steps: int, repeats: int) -> Figures:
    """Measure CRM on `targets` targets in any order, 41 x 41, numeric: twice the states with every target."""
    letters, states = "abcdefghij"[:targets], 2**targets
    grid = GridMap.generate("".join(f"1{letter}" for letter in letters))
    start = time.perf_counter()
    problem = compile(grid, task("{" + ",".join(letters) + "}", kind="numeric"))
    compile_s = time.perf_counter() - start
    per_step = _best_of(repeats, problem, "crm", steps)[0] / steps * 1e9
    return {"targets": targets, "states": states, "ns_per_update": per_step / (states - 1), "compile_s": compile_s}


def agenda_problem(targets: int, size: int = 41, seed: int = 0) -> TabularProblem:
    """Return a task of `targets` targets in any order on an open map; more than 26 are several objects of a type."""
    per_type = -(-targets // 26)
    letters = "abcdefghijklmnopqrstuvwxyz"[: targets // per_type]
    grid = GridMap.generate("".join(f"{per_type}{x}" for x in letters), size=size, seed=seed)
    if per_type == 1:
        return compile(grid, task("{" + ",".join(letters) + "}"))
    names = " ".join(f"{x}{k}" for x in letters for k in range(1, per_type + 1))
    return compile(grid, RewardMachine.parse(f"start u0\nsuccess done\nu0 -> done agenda {names} reward 1"))


def agenda_row(targets: int, steps: int, repeats: int) -> Figures:
    """Measure coupled learning with `targets` targets, and CRM where its machine has at most 1024 states.

    A step is what remains of coupled learning that goes to the nearest target and plans nothing; planning is what plans
    cost beside it.
    """
    problem = agenda_problem(targets)
    row: Figures = {"targets": targets, "crm_ns_per_step": None, "crm_bytes": None}
    step, _ = _best_of(repeats + 1, problem, "coupled", steps, plan="nearest")  # the first may compile
    whole, batch = _best_of(repeats + 1, problem, "coupled", steps)
    row |= {
        "coupled_ns_per_step": step / steps * 1e9,
        "planning_ns_per_step": max(0.0, whole - step) / steps * 1e9 if targets <= MOST_PLANNED else None,
        "plans": int(batch.state.own.plans[0]),
        "coupled_bytes": batch.bytes_per_seed,
    }
    if targets <= MOST_STATES:
        best, batch = _best_of(repeats + 1, problem, "crm", max(10_000, steps // 2**targets * 8))
        row |= {"crm_ns_per_step": best / batch.steps * 1e9, "crm_bytes": batch.bytes_per_seed}
    return row


def scaling(steps: int, repeats: int) -> Figures:
    """Compare two threads that train one seed each with one thread that trains both."""
    problem = paper_problem("boolean")

    def train(workers: int) -> tuple[float, float]:
        """Return the seconds, and how many cores the threads had."""
        batches = [Batch(problem, "crm", steps=steps, seeds=[seed]) for seed in range(2)]
        parts = [batches] if workers == 1 else [[batch] for batch in batches]
        threads = [threading.Thread(target=lambda part=part: [b.advance(steps) for b in part]) for part in parts]
        start, used = time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - start
        return seconds, (time.process_time() - used) / seconds

    (one, _), (two, cores) = (min(found) for found in zip(*((train(1), train(2)) for _ in range(repeats)), strict=True))
    return {"workers": [1, 2], "seconds": [one, two], "speedup": one / two, "cores": cores}


def environments(repeats: int) -> Figures | None:
    """Time random actions in 4 096 environments, both ways; None where gymnasium is missing."""
    try:
        from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv
    except ConfigError:
        return None
    from gymnasium.vector import SyncVectorEnv

    ours = RewardMachineVectorEnv(COUNT)
    singles = SyncVectorEnv([lambda: RewardMachineEnv(ours.problem)] * COUNT)
    best, sync = time_steps(ours, 4, 200, repeats), time_steps(singles, 4, 1, repeats)
    return {"environments": COUNT, "steps_per_s": best, "vs_sync": best / sync}


def time_steps(envs: Any, n_a: int, calls: int, repeats: int) -> float:
    """Return the steps a second of the best repeat, each of `calls` calls with 64 rows of random actions in turn."""
    actions = np.random.default_rng(0).integers(0, n_a, (64, COUNT))

    def walk() -> None:
        for k in range(calls):
            envs.step(actions[k % len(actions)])

    envs.reset(seed=0)
    envs.step(actions[0])  # may compile
    return float(calls * COUNT / min(seconds_of(walk) for _ in range(repeats)))


def water(steps: int, repeats: int) -> Figures:
    """Measure linear learners on Water world as machines grow, and the vector environment by its observation."""
    learners = [
        water_row(algo, features, states, steps, repeats)
        for algo, features, states in product(("qrm", "crm"), ("memory", "sight"), WATER_STATES)
    ]
    return {"learners": learners, "environments": water_environments(repeats)}


def water_problem(states: int) -> WaterProblem:
    """Return a sequence of `states` colours, hence machine states, in a generated world of twelve balls."""
    problem: WaterProblem = compile(WaterWorld.generate(seed=0), task("-".join("abcdef"[:states])))
    return problem


def water_row(algo: str, features: str, states: int, steps: int, repeats: int) -> Figures:
    """Measure one linear learner with one set of features: one seed, from the first step on."""
    batch = Batch(water_problem(states), algo, steps=steps, features=features, optimum=[1.0])

    def train(steps: int) -> float:
        batch.start([0])
        return seconds_of(lambda: batch.advance(steps))

    train(1000)  # may compile
    best = min(train(steps) for _ in range(repeats))
    return {"algo": algo, "features": features, "states": states, "steps_per_s": steps / best}


def water_environments(repeats: int) -> list[Figures] | None:
    """Time random actions in 4 096 environments, one row by kind of observation; None where gymnasium is missing."""
    try:
        from fastrm.env import RewardMachineVectorEnv
    except MissingExtra:
        return None
    problem, rows = water_problem(3), []
    for observation in ("states", "numbers"):
        rate = time_steps(RewardMachineVectorEnv(COUNT, problem, observation=observation), 5, 100, repeats)
        rows.append({"observation": observation, "environments": COUNT, "steps_per_s": rate})
    return rows


_COLD = """
import time, fastrm
from fastrm.bench.speed.measure import IN_C, paper_problem
from fastrm.learners import Batch
start = time.perf_counter()
problem = paper_problem("boolean")
print("compiler", time.perf_counter() - start)
for algo in IN_C:
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
