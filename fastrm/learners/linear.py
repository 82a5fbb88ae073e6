"""Tiles of Water world: the two sets of features that linear learners choose from.

Linear QRM and CRM on Water world; what `train` does with a `WaterProblem`.

The learners are those of maps (`qrm`, `crm`), with sums of weights in place of a table; see `kernels.linear`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_truth, check_whole
from fastrm.config import LearnerConfig, NotGiven
from fastrm.errors import ConfigError, shown
from fastrm.exact import ScoreUnit
from fastrm.kernels import rng
from fastrm.kernels.contracts import AGENT, SUCCESS
from fastrm.kernels.learners import linear
from fastrm.kernels.learners.linear import WATER_AGENT, Tilings, WaterSetting, WaterState
from fastrm.kernels.worlds.water import N_PUSHES
from fastrm.learners.batch import blank_log, check_settings, check_units, next_span, rule_at, tabulate_tasks
from fastrm.learners.runs import Run
from fastrm.problems import WaterProblem
from fastrm.resources import usable_memory
from fastrm.schedules import GRID
from fastrm.worlds import COLOURS, FASTEST, PUSH, WATER_LIMIT

FEATURE_SETS = ("memory", "sight")
SPACE_WIDTHS = (80, 80, 40, 40, 20, 20, 10, 10)
TIME_WIDTHS = (16, 16, 8, 8, 4, 4, 2, 2)
LATEST = 100
"""Memory: widths of positions and of time, and up to when time counts. Every second tiling is shifted by half."""
OFFSET_WIDTHS, SPEED_WIDTH = (160, 80, 40, 20), 60
"""Sight: widths of offsets, and of relative velocities."""
MAX_TILES = 1 << 31


def lay_tiles(problem: WaterProblem, features: str) -> Tilings:
    """Return the tiles of a set of features.

    Raises
    ------
    ConfigError
        When there is no such set, or a world so large that it has too many tiles.
    """
    check_choice("features", features, FEATURE_SETS)
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


LEARNERS = ("qrm", "crm")
STARTS = ("world", "anywhere")
FIRST_ROWS = 1 << 16
PIECE = 500_000


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WaterRun(Run):
    """What one run on Water world learned; cells of its paths are pairs of states of the x and the y axis.

    Paths and lengths of the greedy policy are those from the world's own start. Where episodes began anywhere,
    `shortest` is NaN and `solved` False, since other starts were not tried.
    """

    features: str
    """Which set of features it learned with."""
    starts: str
    """Where its episodes began."""
    greedy_actions: tuple[tuple[int, ...], ...]
    """Actions of the greedy policy, per task."""
    rows: int
    """Tiles that the run met."""

    def __repr__(self) -> str:
        if self.starts == "world":
            return super().__repr__()
        greedy = "never completes" if self.greedy_length is None else f"takes {self.greedy_length:.6g} steps"
        last = f"; score {self.score[-1]:.3f} in units of {self.unit[0]:.4g} a step" if self.score.size else ""
        return f"<Run {self.algo} seed {self.seed} from anywhere: greedy {greedy} from the world's own start{last}>"


class WaterLearner:
    """One run of a linear learner, advanced in pieces of any size."""

    def __init__(
        self,
        problem: WaterProblem,
        algo: str,
        *,
        steps: int,
        features: str = "memory",
        starts: str = "world",
        shaping: bool = False,
        optimum: Sequence[float | ScoreUnit] | None = None,
        episodes: bool = False,
        config: LearnerConfig | None = None,
        **settings: Any,
    ) -> None:
        check_choice("algo on Water world", algo, LEARNERS)
        check_choice("starts", starts, STARTS)
        check_whole("steps", steps, 1, 2**53)
        check_truth("episodes", episodes)
        if shaping is not False:
            raise ConfigError(f"shaping={shown(shaping)}: linear learners do not shape rewards; leave it out")
        self.problem, self.algo, self.features, self.starts = problem, algo, features, starts
        self.steps, self.episodes, self.config = int(steps), episodes, _configure(config, settings, int(steps))
        self.tilings = lay_tiles(problem, features)
        problem.check_searchable()  # before the run, not after it
        self.units = _units(problem, optimum)
        self.setting = self._settle()
        self.width = N_PUSHES * (1 if self.tilings.is_sight else problem.tables.n_u)

    def start(self, seed: int) -> None:
        """Begin a run."""
        check_whole("seed", seed, 0, 2**64 - 1)
        self.seed, self.done = int(seed), 0
        problem, agents, seeded = self.problem, np.zeros(1, dtype=WATER_AGENT), np.zeros(1, dtype=AGENT)
        rng.seed_runs(seeded, np.array([self.seed], dtype=np.uint64))
        agents["rng0"], agents["rng1"] = seeded["rng0"], seeded["rng1"]
        n_u, most = problem.tables.n_u, int(self.tilings.count.max())
        self.state = WaterState(
            agents=agents,
            log=blank_log(self.config, self.steps, len(problem.machines), 1, self.steps if self.episodes else 0),
            row_of=np.zeros(self.tilings.n_tiles, dtype=np.int32),
            weights=np.zeros(FIRST_ROWS * self.width),
            rows_here=np.zeros((n_u, most), dtype=np.int64),
            rows_next=np.zeros((n_u, most), dtype=np.int64),
            values=np.zeros(N_PUSHES),
            sees=np.zeros((len(problem.world.balls), 5)),
            scratch=problem.scratch(),
        )
        linear.begin(self.setting, self.state)

    def _settle(self) -> WaterSetting:
        """Put together what stays the same."""
        problem, tables = self.problem, self.problem.tables
        own_score = [machine.score == "own" for machine in problem.machines]
        rest = [np.flatnonzero(axis[:, 1] == 0.0) for axis in (problem.physics.x, problem.physics.y)]
        anywhere = self.starts == "anywhere"
        return WaterSetting(
            physics=problem.physics, machines=tables, tilings=self.tilings,
            tasks=tabulate_tasks(tables.first_u, own_score, self.units),
            rule=rule_at(problem.profile, self.config, 0),
            q_init=float(self.config.q_init), sweeps=self.algo == "crm",
            rest_x=rest[0] if anywhere else rest[0][:0], rest_y=rest[1] if anywhere else rest[1][:0],
            carried=problem.carried,
        )  # fmt: skip

    def advance(self, steps: int) -> None:
        """Make so many more steps, never beyond the end."""
        target = min(self.done + steps, self.steps)
        while self.done < target:
            span = next_span(self.config, self.steps, self.done, min(target, (self.done // GRID + 1) * GRID))
            self._make_room(span.n_ticks * span.tick)
            self.setting = self.setting._replace(rule=rule_at(self.problem.profile, self.config, self.done))
            self.done += span.n_ticks * span.tick
            linear.run(self.setting, self.state, span)

    def _make_room(self, steps: int) -> None:
        """Give the weights room for all tiles that so many steps may meet."""
        need = (int(self.state.agents["rows"][0]) + 2 + (steps + 2) * self._tiles_per_step) * self.width
        if need > self.state.weights.size:
            size = min(max(2 * self.state.weights.size, need), (self.tilings.n_tiles + 1) * self.width)
            if size * 8 > usable_memory():
                raise ConfigError(
                    f"weights of all tiles that the run has met would take {size * 8 / 1e9:.1f} GB; make fewer steps"
                )
            weights = np.zeros(max(size, self.state.weights.size))
            weights[: self.state.weights.size] = self.state.weights
            self.state = self.state._replace(weights=weights)

    @property
    def _tiles_per_step(self) -> int:
        count = self.tilings.count
        return 2 * int(count.sum() if self.tilings.is_sight else count.max())

    def follow(self, machine: int = 0, start: tuple[int, int] | None = None) -> tuple[Array, int]:
        """Return the actions of the greedy policy from states of the axes, by default the world's, and the outcome."""
        x, y = self.problem.physics.start if start is None else start
        actions = np.zeros(self.config.episode_limit, dtype=np.int64)
        first_u = int(self.problem.tables.first_u[machine])
        n, outcome = linear.follow(self.setting, self.state, int(x), int(y), first_u, actions)
        return actions[: int(n)], int(outcome)

    def result(self) -> WaterRun:
        """Return the run as it stands."""
        log, agent, problem = self.state.log, self.state.agents[0], self.problem
        actions, lengths, paths = [], [], []
        for machine in range(len(problem.machines)):
            made, outcome = self.follow(machine)
            actions.append(tuple(made.tolist()))
            lengths.append(len(made) if outcome == SUCCESS else None)
            paths.append(tuple((x, y) for x, y, _ in problem.walk(made, machine).states.tolist()))
        shortest = problem.shortest if self.starts == "world" else (math.nan,) * len(problem.machines)
        rows = int(agent["rows"])
        ended = int(agent["episodes"])
        return WaterRun(
            algo=self.algo, seed=self.seed, shaping=False, config=self.config, steps=self.done,
            step=self.config.steps_at_ticks(self.steps), score=log.score[0], reward=log.reward[0],
            completions=log.completions[0], episodes=log.episodes[0],
            states=problem.states,
            q=np.zeros((0, problem.tables.n_u, N_PUSHES)), more={"greedy_actions": np.array(actions[0])},
            greedy_paths=tuple(paths),
            greedy_lengths=tuple(lengths), shortest=shortest, unit=tuple(unit.one for unit in self.units),
            episode_log=(log.ended["paid"][0, :ended], log.ended["length"][0, :ended]) if log.ended.size else None,
            features=self.features, starts=self.starts, greedy_actions=tuple(actions), rows=rows,
        )  # fmt: skip


def water_runs(
    problem: WaterProblem,
    algo: str,
    *,
    seeds: Sequence[int],
    between: Callable[[float], None] | None = None,
    **request: Any,
) -> Iterator[WaterRun]:
    """Yield the runs of all seeds, one after the other; see `train` for the settings."""
    learner = WaterLearner(problem, algo, **request)
    for seed in seeds:
        learner.start(seed)
        while learner.done < learner.steps:  # Ctrl-C is noticed in between
            begun = perf_counter()
            learner.advance(PIECE)
            if between is not None:
                between(perf_counter() - begun)
        yield learner.result()


def _configure(config: LearnerConfig | None, settings: dict[str, Any], steps: int) -> LearnerConfig:
    """Return the settings; what is not given is what was found to learn well here."""
    check_settings(config, settings, ("features", "starts"))
    usual = LearnerConfig(alpha=f"linear(0.5, 0.1, {steps})", q_init=0.03, episode_limit=WATER_LIMIT)
    if config is not None and isinstance(config.episode_limit, NotGiven):
        config = replace(config, episode_limit=WATER_LIMIT)
    chosen = replace(config or usual, **settings)
    if chosen.episode_limit > WATER_LIMIT:
        raise ConfigError(f"episode_limit={chosen.episode_limit}: on Water world it must be at most {WATER_LIMIT}")
    return chosen


def _units(problem: WaterProblem, optimum: Sequence[float | ScoreUnit] | None) -> tuple[ScoreUnit, ...]:
    """Return what scores 1, per machine: by default one completion in the fewest steps from the world's own start."""
    if optimum is None:
        return tuple(ScoreUnit(1.0 / steps) for steps in problem.shortest)
    return check_units(optimum, len(problem.machines))
