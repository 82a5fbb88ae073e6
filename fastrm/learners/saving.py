"""A run in a file: what it learned, its curves, and the problem it learned about.

The file is NumPy's ``.npz``: arrays, and one text of JSON with the settings, the world and the machines as they are
written. Nothing in it is executed. What is read goes through the checks of warm starts: the problem is compiled again,
and a learner begins with the values of the file, so that no array can have a shape that its kernels do not expect.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_whole
from fastrm.config import LearnerConfig, Profile
from fastrm.errors import ConfigError, FastrmError, StoreError, printable, shown
from fastrm.learners import registry
from fastrm.learners.batch import Batch, check_numbers, roll_out
from fastrm.learners.runs import Run
from fastrm.machines import RewardMachine
from fastrm.problems import Problem, compile
from fastrm.resources import usable_memory
from fastrm.textfile import check_path, open_regular, replace_file
from fastrm.worlds import read_world

FORMAT = "fastrm run 1"
CURVES = {"step": "i", "score": "f", "reward": "f", "completions": "i", "episodes": "i", "greedy_curve": "f"}
"""Curves of a run, and the kind of their numbers; the last is on request."""
MORE, LOGGED = "more.", ("episode_paid", "episode_length")
"""How names of other learned arrays begin, and the log of episodes."""


def save_run(run: Run, path: str | Path) -> None:
    """Write a run to a file; see `Run.save`."""
    if run.problem is None:
        raise ConfigError("this run does not know its problem; train it with fastrm.train")
    if not hasattr(registry.find(run.algo, run.problem.kind), "put"):
        raise ConfigError(f"save: {run.algo} has no 'put', so it cannot begin again with what it learned")
    head = {
        "format": FORMAT,
        "algo": run.algo,
        "seed": run.seed,
        "shaping": run.shaping,
        "steps": run.steps,
        "config": asdict(run.config),
        "unit": run.unit,
        "problem": run.problem.describe(),
    }
    arrays = {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), "q": run.q}
    arrays |= {name: getattr(run, name) for name in CURVES if getattr(run, name) is not None}
    arrays |= {MORE + name: np.asarray(array) for name, array in run.more.items()}
    if run.episode_log is not None:
        arrays |= dict(zip(LOGGED, run.episode_log, strict=True))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as members:  # as np.savez_compressed, without the time of day
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            members.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
    replace_file(path, packed.getvalue(), StoreError)


def load_run(path: str | Path) -> Run:
    """Read a run that `Run.save` wrote, with its problem; nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Run
        The run, equal to the last bit to the one that was saved.

    Raises
    ------
    StoreError
        When the file cannot be read, is damaged, or is not a saved run.

    Examples
    --------
    >>> import fastrm, pathlib, tempfile
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "agent.npz"
    >>> fastrm.train(problem, "crm", steps=50_000).save(path)
    >>> fastrm.load_run(path).act(((4, 4), "u0")) in range(4)
    True
    """
    name = printable(check_path(path, StoreError))
    try:
        with open_regular(path, StoreError, "a saved run") as file:
            return _rebuild(_read(file, name), name)
    except StoreError:
        raise
    except FastrmError as problem:
        reason = str(problem).removeprefix("warm_start: ")
    except _DAMAGE as problem:
        if isinstance(problem, OSError) and problem.strerror:
            raise StoreError(f"{name}: cannot be read: {problem.strerror}") from None
        reason = f"lacks {problem}" if isinstance(problem, KeyError) else str(problem) or type(problem).__name__
    raise StoreError(f"{name}: not a run that fastrm saved, or damaged: {' '.join(printable(reason).split())[:200]}")


_DAMAGE = (
    OSError, EOFError, MemoryError, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a file raises that is damaged, or made by somebody else."""


def _read(file: BinaryIO, name: str) -> dict[str, Array]:
    """Return the arrays of a file, unless they are larger than the memory."""
    with zipfile.ZipFile(file) as members:
        if sum(member.file_size for member in members.infolist()) > usable_memory() // 2:
            raise StoreError(f"{name}: holds more than fits in the memory")
        found = {member.filename: members.read(member) for member in members.infolist()}
    return {key.removesuffix(".npy"): np.load(io.BytesIO(data), allow_pickle=False) for key, data in found.items()}


def _rebuild(arrays: dict[str, Array], source: str) -> Run:
    """Return the run that the arrays of a file describe."""
    head: dict[str, Any] = json.loads(arrays.pop("head").tobytes())
    if head["format"] != FORMAT:
        raise ConfigError(f"its format is {head['format']!r}, and this version of fastrm reads {FORMAT!r}")
    check_whole("steps", head["steps"], 1, 2**53)
    problem = _compile(head["problem"])
    if head["algo"] not in registry.names(problem.kind):
        raise StoreError(
            f"{source}: learner {shown(head['algo'])} is not known here; import the module that registers it"
        )
    names = [name for name in CURVES if name != "greedy_curve" or name in arrays]
    curves: dict[str, Any] = {name: arrays.pop(name) for name in names}
    for name, curve in curves.items():
        if curve.dtype.kind != CURVES[name] or curve.shape != curves["step"].shape or curve.ndim != 1:
            raise ConfigError(f"{name}: is no curve")
    log = tuple(arrays.pop(name) for name in LOGGED) if LOGGED[0] in arrays else None
    for array in log or ():
        check_numbers("episodes", "log", array)
    run = Run(
        algo=head["algo"],
        seed=head["seed"],
        shaping=head["shaping"],
        config=LearnerConfig(**head["config"]),
        steps=head["steps"],
        states=problem.states,
        q=arrays.pop("q"),
        more={name.removeprefix(MORE): array for name, array in arrays.items()},
        greedy_paths=(),
        greedy_lengths=(),
        shortest=problem.known_shortest,
        unit=tuple(map(float, head["unit"])),
        episode_log=None if log is None else (log[0], log[1]),
        problem=problem,
        **curves,
    )
    ones = [1.0] * len(problem.machines)
    batch = Batch(problem, run.algo, steps=1, shaping=run.shaping, optimum=ones, config=run.config)
    batch.start([run.seed], run)
    values = batch.values(0)
    greedy = roll_out(problem, batch.learner, run.config, values)
    return replace(
        run,
        q=values.q,
        more=values.more,
        greedy_paths=tuple(found.path for found in greedy),
        greedy_lengths=tuple(found.length for found in greedy),
        known_actions=tuple(found.actions for found in greedy),
    )


def _compile(written: dict[str, Any]) -> Problem:
    """Compile the problem that `Problem.describe` described."""
    world: Any = read_world(written["world"], written["source"])
    if "velocity" in written:
        world = replace(world, velocity=tuple(written["velocity"]), source=written["source"])
    start = written["start"]
    cells = [tuple(cell) if isinstance(cell, list) else cell for cell in start] if isinstance(start, list) else start
    machines = [RewardMachine.parse(text, source) for text, source in written["machines"]]
    problem: Problem = compile(world, machines, Profile(**written["profile"]), start=cells, **written["settings"])
    return problem
