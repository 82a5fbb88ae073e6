"""The hand-written C loop that the kernels are measured against: built with the system's compiler, called by ctypes."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrm.arrays import aligned_full
from fastrm.learners.training import Batch

Array = npt.NDArray[Any]
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
SOURCES = (Path(__file__).parents[2] / "bench" / "limit.c", Path(__file__).parents[1] / "suites" / "limit.c")

_ARRAYS = {
    "next_s": np.uint32, "event": np.uint32, "delta": np.uint32, "own": np.float64, "reward": np.float64,
    "outcome": np.uint8,
}  # fmt: skip


class _Job(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in _ARRAYS),
        *((name, ctypes.c_uint64) for name in ("n_s", "n_u", "n_cols", "n_quiet", "start", "first_u")),
        *((name, ctypes.c_void_p) for name in ("first", "owner", "ends", "earns")),
        *((name, ctypes.c_uint64) for name in ("n_o", "n_ocols")),
        *((name, ctypes.c_double) for name in ("alpha", "gamma", "controller_alpha")),
        *((name, ctypes.c_uint64) for name in ("explore_below", "limit", "seed", "steps", "tick", "window")),
    )


class _Result(ctypes.Structure):
    _fields_ = (
        ("episodes", ctypes.c_uint64), ("completions", ctypes.c_uint64),
        ("banked", ctypes.c_double), ("score", ctypes.c_double),
    )  # fmt: skip


def build(folder: Path) -> ctypes.CDLL | str:
    """Compile the C loop into `folder`; return the library, or a sentence that says why there is none."""
    source = next((path for path in SOURCES if path.is_file()), None)
    if source is None:
        return "limit.c is not there; run from a checkout"
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler (cc) found"
    target = folder / "limit.so"
    done = subprocess.run([compiler, *FLAGS, "-o", target, source], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"cc failed: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}"
    library = ctypes.CDLL(str(target))
    for name in ("limit_qrm", "limit_crm", "limit_hrm"):
        getattr(library, name).restype = _Result
    return library


def run_limit(library: ctypes.CDLL, batch: Batch) -> tuple[float, Array, Array | None]:
    """Run the C loop on the problem and the first seed of a fresh batch; return seconds and the tables it learned.

    The caller compares the tables with the kernels'. Only what the speed suite needs is written in C: the clean
    profile, one machine, whole ticks.
    """
    problem, config, options = batch.problem, batch.config, batch.options
    tables = problem.tables
    q = aligned_full(batch.q[:1].shape, 0.0)
    q[...] = batch.q[:1]
    arrays: dict[str, Array] = {
        name: np.ascontiguousarray(array, dtype)
        for (name, dtype), array in zip(
            _ARRAYS.items(),
            (tables.next_s, tables.event, tables.delta, tables.reward, batch.reward, tables.outcome),
            strict=True,
        )
    }
    if options is not None:
        arrays |= {
            "first": options.first.astype(np.int64),
            "owner": options.owner,
            "ends": options.delta,
            "earns": options.reward,
        }
    job = _Job(
        **{name: array.ctypes.data for name, array in arrays.items()},
        n_s=len(tables.next_s), n_u=tables.n_u, n_cols=tables.reward.shape[1], n_quiet=tables.n_quiet,
        start=tables.start, first_u=int(tables.first_u[0]),
        n_o=len(options.owner) if options else 0, n_ocols=options.reward.shape[1] if options else 0,
        alpha=config.alpha, gamma=config.gamma, controller_alpha=config.controller_alpha,
        explore_below=math.floor(config.epsilon * 2**32),
        limit=config.episode_limit, seed=batch.seeds[0], steps=batch.steps, tick=config.tick,
        window=config.window or 100,
    )  # fmt: skip
    arguments = [ctypes.byref(job), ctypes.c_void_p(q.ctypes.data)]
    controller = batch.controller
    if controller is not None:
        controller = controller[:1].copy()
        arguments.append(ctypes.c_void_p(controller.ctypes.data))
    function = getattr(library, f"limit_{batch.algo}")
    start = time.perf_counter()
    function(*arguments)
    seconds = time.perf_counter() - start
    return seconds, q[0], None if controller is None else controller[0]
