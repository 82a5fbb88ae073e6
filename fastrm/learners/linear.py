"""Linear QRM and CRM on Water world: the learners of maps with sums of weights in place of a table.

There are two sets of features. *Memory* tiles position, velocity and time, and so learns one world by heart; *sight*
tiles what is seen of the nearest ball of each colour that a machine state wants. See `kernels.learners.linear`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, shown
from fastrm.exact import ScoreUnit
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT, SUCCESS, Log, Span, State
from fastrm.kernels.learners import linear
from fastrm.kernels.learners.linear import WATER_AGENT, Tilings, WaterSetting, WaterState
from fastrm.kernels.worlds.water import N_PUSHES
from fastrm.learners.batch import (
    Greedy,
    begin_setting,
    begin_state,
    blank_log,
    check_columns,
    fit_values,
    roll_out,
    rule_at,
    tabulate_tasks,
)
from fastrm.learners.registry import Values
from fastrm.learners.runs import Run
from fastrm.problems import WaterProblem, new_scratch, unsupported
from fastrm.resources import usable_memory
from fastrm.worlds import COLOURS, FASTEST, PUSH, WATER_LIMIT

SPACE_WIDTHS = (80, 80, 40, 40, 20, 20, 10, 10)
TIME_WIDTHS = (16, 16, 8, 8, 4, 4, 2, 2)
LATEST = 100
"""Memory: widths of positions and of time, and up to when time counts. Every second tiling is shifted by half."""
OFFSET_WIDTHS, SPEED_WIDTH = (160, 80, 40, 20), 60
"""Sight: widths of offsets, and of relative velocities."""
MAX_TILES = 1 << 31


@lru_cache(maxsize=4)  # it keeps the problems, too
def tiles_of(problem: WaterProblem, features: str) -> Tilings:
    """Return the tiles of a set of features; the last few are kept.

    Raises
    ------
    ConfigError
        When the world is so large that it has too many tiles.
    """
    tilings = _remember(problem) if features == "memory" else _see(problem)
    if tilings.n_tiles > MAX_TILES:
        raise ConfigError(f"features={features!r}: {tilings.n_tiles} tiles; take a smaller box")
    for array in tilings:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return tilings


def _remember(problem: WaterProblem) -> Tilings:
    """Tile positions, velocities and time."""
    physics, n_k = problem.physics, len(SPACE_WIDTHS)
    x, y = (np.zeros((n_k, len(axis)), dtype=np.int64) for axis in (physics.x, physics.y))
    time = np.zeros((n_k, WATER_LIMIT + 1), dtype=np.int64)
    speeds = round(2 * FASTEST / PUSH) + 1
    at = np.minimum(np.arange(WATER_LIMIT + 1), LATEST)
    base = 0
    for k, (space, span) in enumerate(zip(SPACE_WIDTHS, TIME_WIDTHS, strict=True)):
        shift, late = (space / 2, span / 2) if k % 2 else (0.0, 0.0)
        side = math.floor((problem.world.side + shift) / space) + 1
        times, kinds = math.floor((LATEST + late) / span) + 1, speeds if k else 1
        # tiles are numbered by x, y, speed along x, speed along y, time, the last changing fastest
        x[k] = _axis(physics.x, space, shift, side * kinds * kinds * times, kinds * times, k)
        y[k] = _axis(physics.y, space, shift, kinds * kinds * times, times, k)
        time[k] = base + np.floor((at + late) / span).astype(np.int64)
        base += side * side * kinds * kinds * times
    nothing = np.zeros((0, 0), dtype=np.int64)
    count = np.full(problem.tables.n_u, n_k, dtype=np.int64)
    empty = np.zeros((0, 2))
    return Tilings(
        False, x, y, time, nothing, nothing.reshape(0, 0, 0), empty, empty, nothing.reshape(0, 2), count, base
    )


def _axis(states: Array, space: float, shift: float, place_stride: int, speed_stride: int, k: int) -> Array:
    place = np.floor((states[:, 0] + shift) / space).astype(np.int64)
    speed = np.rint((states[:, 1] + FASTEST) / PUSH).astype(np.int64) if k else np.zeros(len(states), dtype=np.int64)
    return place * place_stride + speed * speed_stride


def _see(problem: WaterProblem) -> Tilings:
    """Tile what is seen of the nearest ball of each colour that a machine state wants, and of any other colour."""
    present = {ball.colour for ball in problem.world.balls}
    groups: list[list[int]] = []
    for wanted in problem.wanted:
        looks = [1 << COLOURS.index(colour) for colour in wanted]
        rest = sum(1 << COLOURS.index(colour) for colour in present - set(wanted))
        groups.append(looks + ([rest] if rest else []))
    most, n_k = max(map(len, groups)), len(OFFSET_WIDTHS)
    width = np.array([(offset, SPEED_WIDTH) for offset in OFFSET_WIDTHS], dtype=np.float64)
    farthest = np.array([problem.world.side, FASTEST + np.abs(problem.physics.balls[..., 2:]).max()])
    lowest = np.ceil(farthest / width) * width  # so that no tile has a negative number
    shift = lowest + np.where(np.arange(n_k)[:, None] % 2, width / 2, 0.0)
    sides = np.floor((farthest + shift) / width).astype(np.int64) + 1
    size = (sides[:, 0] * sides[:, 1]) ** 2
    base = np.zeros((len(groups), most, n_k), dtype=np.int64)
    table, next_tile = np.zeros((len(groups), most), dtype=np.int64), 0
    for u, looks in enumerate(groups):
        for g, colours in enumerate(looks):
            table[u, g] = colours
            for k in range(n_k):
                base[u, g, k] = next_tile
                next_tile += int(size[k])
    count = np.array([len(looks) * n_k for looks in groups], dtype=np.int64)
    empty = np.zeros((0, 0), dtype=np.int64)
    return Tilings(True, empty, empty, empty, table, base, width, shift, sides, count, next_tile)


FIRST_ROWS = 1 << 16
PIECE = 1000
"""Steps between two looks at whether the weights have room left."""


class Weights(NamedTuple):
    """What some runs of a linear learner have learned."""

    row_of: Array
    """int32 [run, n_tiles]: row of weights of every tile, 0 where it was never met."""
    runs: list[Array]
    """float64 [rows * columns * 5] of every run; they grow."""
    columns: int
    """Machine states that a row has weights for; with *sight* each tile belongs to one of them."""


class Linear:
    """Q-learning with sums of weights in place of a table: for the state in force, or for all by `sweeps`."""

    semantics = 1
    per_state = False

    def __init__(self, name: str, switch: str, sweeps: bool) -> None:
        self.name, self.sweeps = name, sweeps
        self.settings = ("alpha", "q_init", "features", switch)

    def begin(self, problem: Any, reward: Any, config: LearnerConfig, n: int) -> tuple[Array, Weights]:
        """Return weights of tiles none of which was met."""
        columns = 1 if config.features == "sight" else len(problem.states)
        row_of = np.zeros((n, tiles_of(problem, config.features).n_tiles), dtype=np.int32)
        return np.zeros((n, 0)), Weights(row_of, [np.zeros(FIRST_ROWS * columns * N_PUSHES) for _ in range(n)], columns)

    def advance(self, setting: Any, state: State, span: Span) -> None:
        """Call the kernel for one run after the other, in pieces, so that weights grow with the tiles that are met."""
        for i in range(len(state.agents)):
            for piece in _pieces(span):
                _make_room(setting, state, i, piece.tick)
                linear.run(setting, run_of(setting, state, i), piece)

    def grown_bytes(self, problem: Any, config: LearnerConfig, steps: int) -> int:
        """Return the bytes that the weights of a run grow to, about: later on, up to two new tiles were met a step."""
        columns = 1 if config.features == "sight" else len(problem.states)
        rows = max(FIRST_ROWS, min(FIRST_ROWS + 2 * steps, tiles_of(problem, config.features).n_tiles + 1))
        return int(8 * N_PUSHES * columns * rows)

    def values(self, problem: Any, state: State, i: int) -> Values:
        """Return the weights of run i, and the tiles that their rows belong to."""
        own: Weights = state.own
        rows, met = int(state.agents["rows"][i]), np.flatnonzero(own.row_of[i])
        tiles = np.zeros(rows, dtype=np.int64)
        tiles[own.row_of[i][met] - 1] = met
        weights = own.runs[i][: (rows + 1) * own.columns * N_PUSHES]
        return Values(weights.reshape(rows + 1, own.columns, N_PUSHES).copy(), {"tiles": tiles})

    def put(self, problem: Any, state: State, i: int, values: Values) -> None:
        """Begin with weights that were learned."""
        own: Weights = state.own
        tiles, rows, n_tiles = values.more["tiles"], len(values.q) - 1, own.row_of.shape[1]
        if tiles.dtype.kind not in "iu" or tiles.shape != (rows,) or not ((tiles >= 0) & (tiles < n_tiles)).all():
            raise ConfigError(f"warm_start: tiles: must be {rows} numbers below {n_tiles}, one for each row of weights")
        own.row_of[i, tiles] = 1 + np.arange(rows, dtype=np.int32)
        state.agents["rows"][i] = rows
        own.runs[i] = np.zeros(max(values.q.size, own.runs[i].size))
        own.runs[i][: values.q.size] = values.q.reshape(-1)

    def lengths(self, problem: Any, setting: Any, state: State, i: int) -> list[int | None]:
        """Return the steps of run i's greedy policy in every task, None where it does not complete it."""
        return [length for _, length in follow_tasks(setting, state, i)]

    def actor(self, problem: Any, run: Run) -> Callable[[tuple[int, ...], object], Array]:
        """Return the greedy policy of a run."""
        setting, state = restore(problem, self, run.config, Values(run.q, run.more))
        water = run_of(setting, state, 0)

        def values(place: tuple[int, ...], memory: object) -> Array:
            x, y, t, u = place
            linear.look(setting, water, t, x, y, u)
            return np.array(water.values)

        return values

    def follow(self, problem: Any, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Raise ConfigError: states of Water world have no numbers; `roll_out` follows the greedy policy."""
        raise unsupported(problem)


LEARNERS = {"qrm": Linear("qrm", "qrm_bootstraps_at_limit", False), "crm": Linear("crm", "prune", True)}


@add_row(begin_setting, WaterProblem)
def begin_water_setting(
    problem: WaterProblem, learner: Linear, config: LearnerConfig, units: Sequence[ScoreUnit], shaping: bool
) -> WaterSetting:
    """Return what the kernels of linear learners read."""
    if shaping:
        raise ConfigError(f"shaping={shown(shaping)}: linear learners do not shape rewards; leave it out")
    problem.check_searchable()  # before the run, not after it
    rest = [np.flatnonzero(axis[:, 1] == 0.0) for axis in (problem.physics.x, problem.physics.y)]
    rest = rest if problem.is_anywhere else [states[:0] for states in rest]
    return WaterSetting(
        physics=problem.physics,
        machines=problem.tables,
        tilings=tiles_of(problem, config.features),
        tasks=tabulate_tasks(problem.tables.first_u, [machine.score == "own" for machine in problem.machines], units),
        rule=rule_at(problem.profile, config, 0),
        q_init=float(config.q_init),
        sweeps=learner.sweeps,
        rest_x=rest[0],
        rest_y=rest[1],
        carried=problem.carried,
    )


@add_row(begin_state, WaterProblem)
def begin_water_state(
    problem: WaterProblem,
    learner: Linear,
    config: LearnerConfig,
    setting: WaterSetting,
    seeds: Sequence[int],
    log: Log,
) -> State:
    """Return the agents and weights of some runs."""
    seeded, agents = np.zeros(len(seeds), dtype=AGENT), np.zeros(len(seeds), dtype=WATER_AGENT)
    rng.seed_runs(seeded, np.array(seeds, dtype=np.uint64))
    agents["rng0"], agents["rng1"] = seeded["rng0"], seeded["rng1"]
    state = State(agents, log, *learner.begin(problem, None, config, len(seeds)))
    for i in range(len(seeds)):
        linear.begin(setting, run_of(setting, state, i))
    return state


@add_row(roll_out, WaterProblem)
def roll_out_on_water(problem: WaterProblem, learner: Linear, config: LearnerConfig, values: Values) -> list[Greedy]:
    """Follow the greedy policy from the world's own start."""
    setting, state = restore(problem, learner, config, values)
    found = []
    for machine, (actions, length) in enumerate(follow_tasks(setting, state, 0)):
        path = tuple((x, y) for x, y, _ in problem.walk(actions, machine).states.tolist())
        found.append(Greedy(path, length, tuple(actions.tolist())))
    return found


def restore(
    problem: WaterProblem, learner: Linear, config: LearnerConfig, values: Values
) -> tuple[WaterSetting, State]:
    """Return what kernels read and change, with weights that were learned."""
    setting = begin_water_setting(problem, learner, config, [ScoreUnit(1.0)] * len(problem.machines), False)
    log = blank_log(config, 1, len(problem.machines), 1, 0)
    state = begin_water_state(problem, learner, config, setting, [0], log)
    learner.put(problem, state, 0, values)
    return setting, state


def follow_tasks(setting: WaterSetting, state: State, i: int) -> Iterator[tuple[Array, int | None]]:
    """Yield the greedy actions of run i in every task, from the world's own start, and their number if it is done."""
    (x, y), run = setting.physics.start, run_of(setting, state, i)
    for u in setting.machines.first_u:
        actions = np.zeros(int(setting.rule.limit), dtype=np.int64)
        n, outcome = linear.follow(setting, run, int(x), int(y), int(u), actions)
        yield actions[:n], int(n) if outcome == SUCCESS else None


@add_row(fit_values, WaterProblem)
def fit_weights(problem: WaterProblem, learner: Linear, run: Run, wanted: Values | None = None) -> Values:
    """Return the weights of a run, which must be of the same world, states and features."""
    check_columns(problem, run)
    tiles = run.more.get("tiles")
    known = run.problem.source if run.problem else "another problem"
    if tiles is None or not isinstance(run.problem, WaterProblem) or run.problem.world != problem.world:
        raise ConfigError(f"warm_start: the run learned about {known}, and this problem is {problem.source}")
    if run.states != problem.states or (wanted is not None and wanted.q.shape[1:] != run.q.shape[1:]):
        raise ConfigError(
            "warm_start: the run has weights of other features, or of its states in another order; train it with the "
            "same features on the same machines"
        )
    return Values(run.q, run.more)


def run_of(setting: WaterSetting, state: State, i: int) -> WaterState:
    """Return the part of a state that the kernel changes in run i; arrays are shared, not copied."""
    problem_rows = (setting.machines.n_u, int(setting.tilings.count.max()))
    own: Weights = state.own
    return WaterState(
        agents=state.agents[i : i + 1],
        log=Log(*(array[i : i + 1] for array in state.log)),
        row_of=own.row_of[i],
        weights=own.runs[i],
        rows_here=np.zeros(problem_rows, dtype=np.int64),
        rows_next=np.zeros(problem_rows, dtype=np.int64),
        values=np.zeros(N_PUSHES),
        sees=np.zeros((len(setting.physics.colour), 5)),
        scratch=new_scratch(setting.machines),
    )


def _pieces(span: Span) -> Iterator[Span]:
    """Cut a span into pieces of at most `PIECE` steps; the last one of every tick writes the row of the log."""
    for k in range(span.n_ticks):
        for done in range(0, span.tick, PIECE):
            is_last = done + PIECE >= span.tick
            yield Span(1, min(PIECE, span.tick - done), span.row + k if is_last and span.row >= 0 else -1)


def _make_room(setting: WaterSetting, state: State, i: int, steps: int) -> None:
    """Give the weights of run i room for all tiles that `steps` more steps may meet."""
    tilings, own = setting.tilings, state.own
    width = own.columns * N_PUSHES
    tiles_per_step = 2 * int(tilings.count.sum() if tilings.is_sight else tilings.count.max())
    need = (int(state.agents["rows"][i]) + 2 + (steps + 2) * tiles_per_step) * width
    if need > own.runs[i].size:
        size = min(max(2 * own.runs[i].size, need), (tilings.n_tiles + 1) * width)
        if size * 8 > usable_memory():
            raise ConfigError(
                f"weights of all tiles that the run has met would take {size * 8 / 1e9:.1f} GB; make fewer steps"
            )
        weights = np.zeros(max(size, own.runs[i].size))
        weights[: own.runs[i].size] = own.runs[i]
        own.runs[i] = weights
