"""One run, or many seeds of one run, of a learner on a compiled problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastrm.checks import check_truth, check_whole
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, shown
from fastrm.learners.batch import Batch, list_warm_starts
from fastrm.learners.registry import LearnerName
from fastrm.learners.runs import Run
from fastrm.problems import Problem
from fastrm.progress import Bar, format_millions, watching
from fastrm.resources import usable_memory

PIECE_STEPS, PIECE_SECONDS = 10_000_000, 0.2
"""Most steps, of all seeds together, between two looks at what else happens, and how long these should take."""

MOST_CALLS = 100
"""Calls of a callback in a run, at most."""

BAR_SECONDS = 2.0
"""When a bar appears."""

Callback = Callable[[Run], object]

SHARE_FOR_TABLES = 0.5
"""Share of the memory for what runs learn while they learn it; the rest is for maps, curves and the reader's own."""


def train(
    problem: Problem,
    algo: LearnerName | str = "qrm",
    *,
    steps: int = 1_000_000,
    seed: int = 0,
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    greedy: bool = False,
    warm_start: Run | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> Run:
    """Train one learner.

    Parameters
    ----------
    problem : Problem
        The compiled world and machines.
    algo : str
        The learner: a name of `fastrm.learners.registry.names`, such as ``qrm``, ``crm`` or ``hrm``.
    steps : int
        Environment steps.
    seed : int
        Seed of the run, below 2^64; the same seed gives the same run to the last bit.
    shaping : bool
        Learn from rewards shaped by the potentials of the machine.
    optimum : sequence of float, optional
        The unit of the score, per machine; by default the exact `optimal_arps` for this gamma and epsilon. Machines
        with `score own` that earn no reward per step are scored by totals; see `fastrm.exact.score_units`.
    episodes : bool
        Keep reward and length of every episode.
    greedy : bool
        Look at every tick how long the greedy policy takes: `Run.greedy_curve`.
    warm_start : Run, optional
        Begin with the values that another run learned, on a problem with the same cells, actions and machine states;
        values of a state go to the state of the same name. They replace the initial values, so that ``q_init`` then
        changes nothing.
    callback : callable, optional
        Called with the `Run` as it is after every tick, or every few where there are more than a hundred, and at the
        end. Where it returns True the run ends there, and is returned as it is; what it raises ends `train`. It does
        not change what is learned.
    progress : bool
        Show a bar in a terminal or a notebook, for a run of more than two seconds. Anywhere else nothing is shown.
    config : LearnerConfig, optional
        The learner's settings.
    **settings
        Fields of `LearnerConfig` to change, such as ``gamma=0.99``. What is not given is what fits the problem
        (`Problem.defaults`), else the paper's.

    Returns
    -------
    Run
        Curves, learned values, and the path of the greedy policy.

    Raises
    ------
    ConfigError
        When a setting is unknown or out of range, or when the run does not fit in the memory.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> problem = fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b"))
    >>> run = train(problem, algo="crm", steps=50_000, seed=0)
    >>> run.greedy_length == problem.shortest[0]
    True
    >>> run = train(problem, "crm", steps=5_000_000, callback=lambda run: run.solved)
    >>> run.steps < 500_000
    True
    """
    return train_many(
        problem, algo, steps=steps, seeds=[seed], shaping=shaping, optimum=optimum, episodes=episodes,
        greedy=greedy, warm_start=warm_start, callback=callback, progress=progress, config=config, **settings,
    )[0]  # fmt: skip


def train_many(
    problem: Problem,
    algo: LearnerName | str = "qrm",
    *,
    steps: int = 1_000_000,
    seeds: Sequence[int] = (0,),
    shaping: bool = False,
    optimum: Sequence[float] | None = None,
    episodes: bool = False,
    greedy: bool = False,
    warm_start: Run | Sequence[Run] | None = None,
    callback: Callback | None = None,
    progress: bool = True,
    config: LearnerConfig | None = None,
    **settings: Any,
) -> list[Run]:
    """Train one learner with many seeds; every run equals the one `train` gives for its seed.

    All runs are kept, with what they learned; as many learn side by side as the memory has room for.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    algo : str
        The learner.
    steps : int
        Environment steps of each run.
    seeds : sequence of int
        Seeds of the runs, each below 2^64.
    warm_start : Run or sequence of Run, optional
        A run that all begin with, or one for each seed.
    callback : callable, optional
        As for `train`, called with the run of each seed; the one for which it returns True ends there.
    shaping, optimum, episodes, greedy, progress, config, **settings
        As for `train`.

    Returns
    -------
    list of Run
        A run per seed, in order.

    Raises
    ------
    ConfigError
        As for `train`.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("1a1b", size=9, seed=1), fastrm.task("a-b"))
    >>> [run.greedy_length for run in train_many(problem, "crm", steps=50_000, seeds=range(3))]
    [11, 11, 11]
    """
    check_truth("progress", progress)
    with watching(progress, BAR_SECONDS) as bar:
        runs = iter_runs(
            problem, algo, seeds=seeds, are_kept=True, warm_start=warm_start, callback=callback,
            between=None if bar is None else _move(bar),
            steps=steps, shaping=shaping, optimum=optimum, episodes=episodes, greedy=greedy, config=config,
            **settings,
        )  # fmt: skip
        return list(runs)


def iter_runs(
    problem: Problem,
    algo: str,
    *,
    seeds: Sequence[int],
    room: int | None = None,
    are_kept: bool = False,
    between: Callable[[float, int, int], None] | None = None,
    callback: Callback | None = None,
    warm_start: Run | Sequence[Run] | None = None,
    **request: Any,
) -> Iterator[Run]:
    """Train every seed and yield its Run; as many seeds run at once as fit in `room` bytes. See `train` for the rest.

    The default `room` is a share of what the process may use; the runs do not depend on it. `are_kept` tells that the
    caller keeps all runs, and with them what they learned. `between` is called after every piece with the seconds
    spent on it, and the steps of all seeds that are made and to make.

    Raises
    ------
    ConfigError
        When the runs do not fit in the memory.
    """
    is_list = isinstance(seeds, Sequence) and not isinstance(seeds, str | bytes)
    if not is_list and not (isinstance(seeds, np.ndarray) and seeds.ndim == 1):
        raise ConfigError(f"seeds={shown(seeds)}: must be a list of seeds")
    if not len(seeds):
        raise ConfigError("seeds=[]: give at least one seed")
    batch = Batch(problem, algo, **request)
    if isinstance(warm_start, Sequence):
        list_warm_starts(batch.problem, batch.learner, warm_start, len(seeds))
    if callback is not None and not callable(callback):
        raise ConfigError(f"callback={shown(callback)}: must be a function that takes the Run")
    at_once = _seeds_at_once(batch.bytes_per_seed, room, len(seeds) if are_kept else 1)
    for seed in seeds:
        check_whole("seed", seed, 0, 2**64 - 1)
    for k in range(0, len(seeds), at_once):
        last = k + at_once
        batch.start(seeds[k:last], warm_start[k:last] if isinstance(warm_start, Sequence) else warm_start)
        piece = most = max(1, PIECE_STEPS // len(batch.seeds) // getattr(batch.learner, "slowness", 1))
        calls = _steps_of_calls(batch)
        ended: dict[int, Run] = {}  # by the callback
        while batch.done < batch.steps and len(ended) < len(batch.seeds):  # Ctrl-C is noticed in between
            begun = time.perf_counter()
            batch.advance(piece if callback is None else min(piece, calls[0] - batch.done))
            seconds = time.perf_counter() - begun
            if seconds > 2 * PIECE_SECONDS:  # slow to learn, or the kernel was compiled: then it grows again
                piece = max(1, int(piece * PIECE_SECONDS / seconds))
            elif seconds < PIECE_SECONDS / 2:
                piece = min(4 * piece, most)
            if between is not None:
                made = k * batch.steps + len(batch.seeds) * batch.done
                between(seconds, made, len(seeds) * batch.steps)
            if callback is not None and batch.done == calls[0]:
                del calls[0]
                for i in (i for i in range(len(batch.seeds)) if i not in ended):
                    run = batch.result(i)
                    if _is_true(callback(run)) or batch.done == batch.steps:
                        ended[i] = run
        yield from (ended.get(i) or batch.result(i) for i in range(len(batch.seeds)))


def _steps_of_calls(batch: Batch) -> list[int]:
    """Return the steps at which a callback is called: at most a hundred ticks, and the end."""
    ticks = batch.config.steps_at_ticks(batch.steps)
    every = -(-len(ticks) // MOST_CALLS)
    steps: list[int] = ticks[every - 1 :: every].tolist()
    return steps if steps[-1:] == [batch.steps] else [*steps, batch.steps]


def _is_true(answer: object) -> bool:
    """Return whether a callback wants a run to end; lists and the like, that a short function may return, do not."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _move(bar: Bar) -> Callable[[float, int, int], None]:
    """Return what moves a bar after every piece."""
    return lambda _, made, total: bar.update(
        made, total, f"{format_millions(made)} of {format_millions(total)} M steps"
    )


def _seeds_at_once(bytes_per_seed: int, room: int | None, kept: int) -> int:
    """Return how many runs may learn at once, beside `kept` finished ones that hold copies of their tables."""
    memory = usable_memory()
    left = memory - kept * bytes_per_seed
    if left < bytes_per_seed:
        raise ConfigError(
            f"{kept} {'run takes' if kept == 1 else 'runs take'} {(kept + 1) * bytes_per_seed / 1e9:.1f} GB, and there "
            f"are {memory / 1e9:.1f} GB of memory; take a smaller map, fewer machine states, ticks, or seeds at a time"
        )
    wanted = SHARE_FOR_TABLES * memory if room is None else room
    return max(1, int(min(wanted, left)) // bytes_per_seed)
