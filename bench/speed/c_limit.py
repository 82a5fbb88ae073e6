"""The hand-written C loop that the kernels are measured against: built with the system's compiler, called by ctypes."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

from fastrm.arrays import Array, aligned_full
from fastrm.kernels.contracts import Hierarchy
from fastrm.learners import Batch
from fastrm.problems import check_tabular
from fastrm.schedules import value_at

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
SOURCE = Path(__file__).with_name("limit.c")

LEARNERS = ("qrm", "crm", "hrm")
"""Those that are written in C."""
_ARRAYS = {"moves": np.uint64, "delta": np.uint32, "own": np.float64, "reward": np.float64, "outcome": np.uint8}


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


def build(folder: Path) -> ctypes.CDLL | str:
    """Compile the C loop into `folder`; return the library, or the reason why there is none."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler (cc) found"
    target = folder / "limit.so"
    done = subprocess.run([compiler, *FLAGS, "-o", target, SOURCE], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"cc failed: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}"
    return ctypes.CDLL(str(target))


def has(library: ctypes.CDLL | str, algo: str) -> bool:
    """Return whether there is a C loop of a learner."""
    return not isinstance(library, str) and hasattr(library, f"limit_{algo}")


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
