"""Result files: HDF5 that xarray opens unchanged, sealed by a checksum, built in memory and published whole.

A file is an HDF5 image followed by a footer with its BLAKE2b hash, which HDF5 ignores. The hash is checked before HDF5
sees a byte, because a damaged HDF5 file can crash the library. While a run is on, finished batches lie as such files in
``<file>.parts/``; at the end they are merged and removed.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

import fastrm
from fastrm.disk import Disk
from fastrm.errors import FastrmWarning, StoreError
from fastrm.experiment import Method, Plan
from fastrm.provenance import describe_machine, git_commit
from fastrm.training import SEMANTICS

Array = npt.NDArray[Any]
Frame = dict[str, Array]
"""Columns of some runs: ``run`` (their numbers in the plan) and everything of `PER_RUN` and `PER_TICK`.

The column ``error`` is as wide as the longest message.
"""

SCHEMA = 1
PER_TICK = {"score": "f8", "reward": "f8", "completions": "i4", "episodes": "i4"}
PER_RUN = {
    "shortest": "i4", "optimal_arps": "f8", "greedy_length": "i4", "solved": "i1", "steps_to_90": "f8",
    "run_id": "S32", "error": "S1",
}  # fmt: skip
COORDINATES = ("setup", "grid", "task", "algo", "kind", "shaping", "label", "seed")
MEANING = {
    "score": "mean over the last episodes of task reward per step, 1 at the optimum; NaN before the first episode",
    "reward": "sum of the machine's own rewards so far",
    "completions": "episodes that completed the task so far",
    "episodes": "episodes that ended so far",
    "shortest": "length of a shortest path",
    "optimal_arps": "unit of the score: expected task reward per step of the best policy",
    "greedy_length": "steps of the learned greedy policy to complete the task, -1 if it does not",
    "solved": "1 if the learned greedy policy takes a shortest path",
    "steps_to_90": "steps until the score first reached 0.9, NaN if it never did",
    "run_id": "hash of everything that determines the numbers of the run",
    "error": "why the run failed, empty if it did not",
}

_MAGIC = b"\n#fastrm-blake2b:"
_FOOTER = len(_MAGIC) + 65
_MAX_BYTES = 4 << 30


def seal(image: bytes) -> bytes:
    """Append the footer to an HDF5 image."""
    return image + _MAGIC + hashlib.blake2b(image, digest_size=32).hexdigest().encode() + b"\n"


def unseal(data: bytes, source: str) -> bytes:
    """Check the footer and return the HDF5 image."""
    image, footer = data[:-_FOOTER], data[-_FOOTER:]
    if not data:
        raise StoreError(f"{source}: empty; not a fastrm result file")
    if not footer.startswith(_MAGIC):
        what = "a truncated or foreign HDF5 file" if data.startswith(b"\x89HDF") else "not a fastrm result file"
        raise StoreError(f"{source}: {what}; use a file that 'run' or 'merge' wrote, or run again with --fresh")
    if footer != seal(image)[-_FOOTER:]:
        raise StoreError(f"{source}: damaged (its checksum does not match); restore a copy or run again with --fresh")
    return image


def pack(plan: Plan, frame: Frame, attributes: dict[str, Any]) -> bytes:
    """Build a result file in memory."""
    order = np.argsort(frame["run"], kind="stable")
    with h5py.File("result", "w", driver="core", backing_store=False) as file:
        runs = frame["run"][order]
        file.create_dataset("run", data=runs).make_scale("run")
        file.create_dataset("tick", data=np.arange(plan.ticks)).make_scale("tick")
        steps = file.create_dataset("step", data=(1 + np.arange(plan.ticks)) * plan.learner.tick)
        steps.dims[0].attach_scale(file["tick"])
        for name, column in {**coordinates(plan, runs), **{k: frame[k][order] for k in PER_RUN}}.items():
            _dataset(file, name, column, ["run"])
        for name in PER_TICK:
            _dataset(file, name, frame[name][order], ["run", "tick"])
        for name in (*PER_RUN, *PER_TICK):
            coordinates_here = " ".join(COORDINATES) + (" step" if name in PER_TICK else "")
            file[name].attrs["coordinates"] = coordinates_here
            file[name].attrs["long_name"] = MEANING[name]
        for name, value in attributes.items():
            file.attrs[name] = value
        file.flush()
        return seal(file.id.get_file_image())


def _dataset(file: h5py.File, name: str, column: Array, dimensions: Sequence[str]) -> None:
    chunks = tuple(min(size, 256) if k == 0 else size for k, size in enumerate(column.shape))
    how: dict[str, Any] = {}
    if column.size:
        how = {"chunks": chunks, "compression": "gzip", "shuffle": True, "fletcher32": True}
    dataset = file.create_dataset(name, data=column, **how)
    if column.dtype.kind == "S":
        dataset.attrs["_Encoding"] = "utf-8"
    for k, dimension in enumerate(dimensions):
        dataset.dims[k].attach_scale(file[dimension])


def coordinates(plan: Plan, runs: Array) -> Frame:
    """Return the coordinates of runs, a column each."""
    rest, seed = np.divmod(runs, plan.seeds)
    rest, method = np.divmod(rest, len(plan.methods))
    grid, task = np.divmod(rest, len(plan.tasks))
    methods = [Method.parse(label) for label in plan.methods]

    def words(items: Iterable[str], which: Array) -> Array:
        return np.array([item.encode() for item in items], dtype=np.bytes_)[which]

    return {
        "setup": words((g[0] for g in plan.grids), grid),
        "grid": words((g[1] for g in plan.grids), grid),
        "task": words((t[0] for t in plan.tasks), task),
        "algo": words((m.algo for m in methods), method),
        "kind": words((m.kind or "file" for m in methods), method),
        "shaping": np.array([m.shaping for m in methods], dtype=np.int8)[method],
        "label": words(plan.methods, method),
        "seed": seed.astype(np.int32),
    }


def unpack(data: bytes, source: str) -> tuple[Frame, dict[str, Any]]:
    """Read a result file: all columns, coordinates included, and the attributes."""
    try:
        with h5py.File(io.BytesIO(unseal(data, source)), "r") as file:
            return _read(file, source)
    except StoreError:
        raise
    except Exception as problem:  # whatever h5py makes of a strange file
        raise StoreError(f"{source}: cannot be read: {str(problem).splitlines()[0][:200]}") from None


def _read(file: h5py.File, source: str) -> tuple[Frame, dict[str, Any]]:
    schema = int(file.attrs.get("schema", -1))
    if schema != SCHEMA:
        raise StoreError(f"{source}: schema {schema}; this version of fastrm reads schema {SCHEMA}")
    names = {"run", "tick", "step", *COORDINATES, *PER_RUN, *PER_TICK}
    for name in file:
        link = file.get(name, getlink=True)
        if name not in names or not isinstance(link, h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
            raise StoreError(f"{source}: holds {name!r}, which is not part of a result file")
        if file[name].external or file[name].is_virtual:
            raise StoreError(f"{source}: {name!r} lies in another file; result files hold all their data")
    missing = names - set(file)
    if missing:
        raise StoreError(f"{source}: lacks {', '.join(sorted(missing))}")
    if sum(d.size * max(d.dtype.itemsize, 1) for d in file.values()) > _MAX_BYTES:
        raise StoreError(f"{source}: claims more than {_MAX_BYTES >> 30} GiB of data")
    runs, ticks = len(file["run"]), len(file["tick"])
    for name, dataset in file.items():
        wanted = {"run": (runs,), "tick": (ticks,), "step": (ticks,)}.get(name, (runs,))
        if dataset.shape != ((runs, ticks) if name in PER_TICK else wanted):
            raise StoreError(f"{source}: {name!r} has shape {dataset.shape}")
    return {name: dataset[...] for name, dataset in file.items()}, dict(file.attrs)


def read_file(path: Path) -> bytes:
    """Read a whole file."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise StoreError(f"{path}: larger than {_MAX_BYTES >> 30} GiB; not a fastrm result file")
        return path.read_bytes()
    except OSError as problem:
        raise StoreError(f"{path}: cannot be read: {problem.strerror or problem}") from None


class Store:
    """The result file of one plan: what is done, and how finished batches are added."""

    def __init__(self, path: Path, plan: Plan, disk: Disk | None = None, fresh: bool = False) -> None:
        self.path, self.plan, self.disk = path, plan, disk or Disk()
        self.parts = path.with_name(path.name + ".parts")
        self.started = _now()
        self._lock = _Lock(path)
        try:
            self._prepare(fresh)
        except OSError as problem:
            self._lock.release()
            raise StoreError(f"{path}: cannot be written: {problem.strerror or problem}") from None
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, fresh: bool) -> None:
        if fresh:
            if self.path.exists():
                self.disk.rename(self.path, self.path.with_name(self.path.name + ".bak"))
            self._drop_parts()
        self.done = np.zeros(self.plan.count, dtype=np.bool_)
        if self.path.exists():
            frame, attributes = unpack(read_file(self.path), str(self.path))
            check_same(self.plan, attributes, str(self.path))
            self.started = str(attributes.get("started", self.started))
            self._count(frame)
        for segment in self._segments():
            self._count(segment)

    def _segments(self) -> Iterator[Frame]:
        """Read the finished batches; set damaged ones aside."""
        for path in sorted(self.parts.glob("*.seg")) if self.parts.is_dir() else ():
            try:
                frame, attributes = unpack(read_file(path), str(path))
                check_same(self.plan, attributes, str(path))
            except StoreError as problem:
                warnings.warn(f"{problem}; set aside, its runs are computed again", FastrmWarning, stacklevel=2)
                self.disk.rename(path, path.with_suffix(".damaged"))
                continue
            yield frame

    def _count(self, frame: Frame) -> None:
        self.done[frame["run"][frame["error"] == b""]] = True

    def todo(self, shard: tuple[int, int] | None = None) -> list[int]:
        """Return the runs that are not done, of one shard (i of N, from 1) or of all."""
        part, parts = shard or (1, 1)
        runs = np.flatnonzero(~self.done)
        mine: list[int] = runs[runs // self.plan.seeds % parts == part - 1].tolist()
        return mine

    def add(self, frame: Frame) -> None:
        """Save a finished batch."""
        if not self.parts.is_dir():
            self.disk.make_folder(self.parts)
            self.disk.sync(self.parts.parent)
        name = f"{int(frame['run'].min()):09d}-{len(frame['run'])}.seg"
        self.disk.publish(self.parts / name, pack(self.plan, frame, self._attributes()))
        self._count(frame)

    def close(self) -> Frame:
        """Merge everything that is done into the result file, and let it go."""
        try:
            frames = list(self._segments())
            if self.path.exists():
                frames.insert(0, unpack(read_file(self.path), str(self.path))[0])
            frame = merge_frames(frames, self.plan)
            if len(frames) != 1 or not self.path.exists():
                attributes = {**self._attributes(), "complete": int(is_complete(frame, self.plan))}
                self.disk.publish(self.path, pack(self.plan, frame, attributes))
            self._drop_parts()
        finally:
            self._lock.release()
        return frame

    def abandon(self) -> None:
        """Let the file go without merging; finished batches stay for the next start."""
        self._lock.release()

    def _drop_parts(self) -> None:
        if self.parts.is_dir():
            for path in sorted(self.parts.iterdir()):
                if path.suffix == ".seg" or path.suffix == ".tmp":
                    self.disk.remove(path)
            if not any(self.parts.iterdir()):
                self.disk.remove_folder(self.parts)

    def _attributes(self) -> dict[str, Any]:
        return provenance(self.plan, self.started)


def merge_files(parts: Sequence[Path], out: Path, disk: Disk | None = None) -> None:
    """Join result files of one experiment into another."""
    frames, plan, started = [], None, ""
    for path in parts:
        frame, attributes = unpack(read_file(path), str(path))
        if plan is None:
            plan, started = Plan.from_json(str(attributes["plan"])), str(attributes["started"])
        check_same(plan, attributes, str(path))
        started = min(started, str(attributes["started"]))
        frames.append(frame)
    if plan is None:
        raise StoreError("no parts to merge")
    frame = merge_frames(frames, plan)
    attributes = {**provenance(plan, started), "complete": int(is_complete(frame, plan))}
    lock = _Lock(out)
    try:
        (disk or Disk()).publish(out, pack(plan, frame, attributes))
    except OSError as problem:
        raise StoreError(f"{out}: cannot be written: {problem.strerror or problem}") from None
    finally:
        lock.release()


def merge_frames(frames: Sequence[Frame], plan: Plan) -> Frame:
    """Join batches; a run that occurs twice must be the same to the bit, unless one of them failed."""
    names = ("run", *PER_RUN, *PER_TICK)
    if not frames:
        return empty_frame(plan, 0)
    joined = {name: np.concatenate([frame[name] for frame in frames]) for name in names}
    # keep one of each run, a good one where there is one
    order = np.lexsort((joined["error"] != b"", joined["run"]))
    joined = {name: column[order] for name, column in joined.items()}
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = joined["run"][1:] != joined["run"][:-1]
    for k in np.flatnonzero(~first):
        kept = k - 1
        while not first[kept]:
            kept -= 1
        if joined["error"][k] == b"" and any(joined[n][k].tobytes() != joined[n][kept].tobytes() for n in names):
            raise StoreError(
                f"run {joined['run'][k]} occurs twice with different results; the parts do not belong together"
            )
    return {name: column[first] for name, column in joined.items()}


def empty_frame(plan: Plan, count: int) -> Frame:
    """Allocate the columns of some runs."""
    frame: Frame = {"run": np.zeros(count, dtype=np.int64)}
    frame |= {name: np.zeros(count, dtype=dtype) for name, dtype in PER_RUN.items()}
    return frame | {name: np.zeros((count, plan.ticks), dtype=dtype) for name, dtype in PER_TICK.items()}


def is_complete(frame: Frame, plan: Plan) -> bool:
    """Say whether every run of a plan is there and none failed."""
    return len(frame["run"]) == plan.count and not (frame["error"] != b"").any()


def provenance(plan: Plan, started: str) -> dict[str, Any]:
    """Return the attributes of a result file."""
    return {
        "schema": SCHEMA,
        "semantics": json.dumps(SEMANTICS, sort_keys=True),
        "experiment": json.dumps(plan.experiment, sort_keys=True),
        "plan": plan.to_json(),
        "plan_digest": plan.digest,
        "fastrm": fastrm.__version__,
        "machine": json.dumps(describe_machine()),
        "git_commit": git_commit(),
        "command": " ".join(sys.argv),
        "started": started,
        "ended": _now(),
        "complete": 0,
    }


def check_same(plan: Plan, attributes: dict[str, Any], source: str) -> None:
    """Refuse a file of another experiment, semantics or version, saying what differs."""
    if attributes.get("plan_digest") == plan.digest and attributes.get("fastrm") == fastrm.__version__:
        return
    differences = []
    for name, ours in (("fastrm", fastrm.__version__), ("semantics", json.dumps(SEMANTICS, sort_keys=True))):
        if attributes.get(name) != ours:
            differences.append(f"{name} {attributes.get(name)} there, {ours} here")
    try:
        theirs = json.loads(attributes.get("experiment", "{}"))
    except ValueError:
        theirs = {}
    for key in sorted({*theirs, *plan.experiment}):
        if theirs.get(key) != plan.experiment.get(key):
            differences.append(f"{key} {theirs.get(key)!r} there, {plan.experiment.get(key)!r} here")
    said = "; ".join(differences) or "a map or machine file has changed"
    raise StoreError(
        f"{source}: holds another experiment ({said[:600]}); choose another --out, or start over with --fresh"
    )


class _Lock:
    """One runner per result file: an advisory lock that dies with its process, and says who holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".lock")
        try:
            self.file = self.path.open("a+")
        except OSError as problem:
            raise StoreError(f"{path}: cannot be written: {problem.strerror or problem}") from None
        try:
            import fcntl

            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on this system
            pass
        except OSError:
            self.file.seek(0)
            owner = self.file.read().strip() or "another process"
            self.file.close()
            raise StoreError(f"{path}: in use by {owner}; wait for it, or choose another --out") from None
        self.file.truncate(0)
        self.file.write(f"process {os.getpid()} on {socket.gethostname()} since {_now()}\n")
        self.file.flush()

    def release(self) -> None:
        if not self.file.closed:
            self.path.unlink(missing_ok=True)
            self.file.close()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
