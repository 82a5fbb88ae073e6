"""What a run learned, over its map: policy arrows, values and visits for every machine state, and the path it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError, printable
from fastrm.kernels import environments
from fastrm.kernels.contracts import N_ACTIONS
from fastrm.learners import Run, registry
from fastrm.pictures.map_views import draw_map
from fastrm.pictures.style import HERE_COLOUR, PATH_COLOUR, new_figure, put_title, style
from fastrm.problems import Problem, retrace
from fastrm.worlds import OFFSETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_STATES = 12
_ENVIRONMENTS, _STEPS = 256, 2000
_TOWARDS = [(column, -row) for row, column in OFFSETS]  # right and up; the picture's y points up


def visits(problem: Problem, q: Array, epsilon: float = 0.1, episode_limit: int = 1000, seed: int = 0) -> Array:
    """Count, [cell, machine state], where an agent that acts epsilon-greedily on values `q` spends its steps.

    With several machines as many agents play each.
    """
    tables, random = problem.tables, np.random.default_rng(seed)
    if q.shape != (len(tables.next_s), tables.n_u, N_ACTIONS):
        raise ConfigError(f"values have shape {q.shape}; visits need [cell, machine state, action] (qrm or crm)")
    n = _ENVIRONMENTS
    s, u, t, event = (np.zeros(n, dtype=np.int64) for _ in range(4))
    over, first = np.ones(n, dtype=np.uint8), tables.first_u[np.arange(n) % len(tables.first_u)].astype(np.int64)
    reward, ends, cut = np.empty(n), np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    best = np.zeros((len(tables.next_s), tables.n_u + 1, N_ACTIONS), dtype=np.bool_)
    best[:, : tables.n_u] = q == q.max(axis=2, keepdims=True)
    count = np.zeros((len(tables.next_s), tables.n_u), dtype=np.int64)
    for _ in range(_STEPS):
        allowed = best[s, u] | (random.random(n) < epsilon)[:, None]
        actions = np.argmax(allowed * (1.0 + random.random((n, N_ACTIONS))), axis=1)  # ties are broken at random
        environments.step(tables, episode_limit, actions, s, u, first, t, over, reward, ends, cut, event)
        live = u < tables.n_u
        np.add.at(count, (s[live], u[live]), 1)
    return count


def draw_learning(problem: Problem, run: Run, states: Sequence[int] | None = None) -> Figure:
    """Draw policy, values and visits side by side, a row per machine state, and the greedy path over the map.

    Raises
    ------
    ConfigError
        When matplotlib is missing, or the run has no values per machine state (HRM).
    """
    if not registry.find(run.algo).per_state:
        raise ConfigError(f"{run.algo} keeps no values per machine state; draw a run of another learner, such as crm")
    wanted = list(states if states is not None else range(problem.tables.n_u))
    chosen = wanted[:MAX_STATES]
    count = visits(problem, run.q, run.config.epsilon, run.config.episode_limit)
    parts: dict[int, list[tuple[int, int]]] = {}
    u_before = -1
    for moment in retrace(problem, run.greedy_path):
        for u in {u_before, moment.state}:  # a state's part of the path ends where the next one's begins
            parts.setdefault(u, []).append(moment.cell)
        u_before = moment.state
    with style():
        figure = new_figure(9.4, 0.45 + 3.1 * len(chosen))
        axes = figure.subplots(len(chosen), 3, squeeze=False)
        for row, u in enumerate(chosen):
            name = problem.states[u][1]
            _draw_policy(axes[row][0], problem, run.q[:, u], parts.get(u, []))
            _draw_field(axes[row][1], problem, run.q[:, u].max(axis=1), "viridis")
            _draw_field(axes[row][2], problem, np.log10(1 + count[:, u]), "cividis")
            titles = (f"{name}: greedy actions", f"{name}: values", f"{name}: visits (log10)")
            for axis, title in zip(axes[row], titles, strict=True):
                axis.set_title(printable(title), pad=3, parse_math=False)
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.01, right=0.95, bottom=0.02, top=1 - 0.45 / height, wspace=0.22, hspace=0.12)
        found = "not complete" if run.greedy_length is None else f"{run.greedy_length} steps"
        cut = f" (the first {len(chosen)} of {len(wanted)} states)" if len(chosen) < len(wanted) else ""
        put_title(figure, f"{run.algo.upper()}, seed {run.seed}: greedy path {found}, shortest {run.shortest[0]}{cut}")
    return figure


def draw_run(run: Run) -> Figure:
    """Draw the score of one run over its steps.

    Raises
    ------
    ConfigError
        When matplotlib is missing, or the run is shorter than a tick.
    """
    if not run.step.size:
        raise ConfigError("no curve to draw: the run is shorter than a tick; train for longer, or with a smaller tick")
    with style():
        figure = new_figure(4.6, 2.3)
        axis = figure.subplots()
        figure.subplots_adjust(left=0.12, right=0.97, bottom=0.2, top=0.87)
        axis.plot(run.step, run.score, color=HERE_COLOUR)
        axis.axhline(1.0, color="0.6", linewidth=0.6, zorder=0)
        axis.set_xlim(0, run.step[-1])
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        axis.set_xlabel("training steps")
        axis.set_ylabel("score (1 = unit)")
        put_title(figure, f"{run.algo.upper()}{' + shaping' * run.shaping}, seed {run.seed}")
    return figure


def _draw_policy(axis: Axes, problem: Problem, q: Array, path: Sequence[tuple[int, int]]) -> None:
    draw_map(axis, problem.terrain.grid)
    rows, columns = problem.terrain.cells.T
    towards = np.array(_TOWARDS, dtype=np.float64)[q.argmax(axis=1)]
    told = q.max(axis=1) > q.min(axis=1)  # where all actions are equal nothing was learned
    size = 1.0 / max(problem.terrain.grid.size)
    axis.quiver(
        columns[told], rows[told], towards[told, 0], towards[told, 1], pivot="mid", units="width", color="0.45",
        scale=1.15 / size, width=0.16 * size, headwidth=3.5,
    )  # fmt: skip
    if path:
        y, x = np.array(path).T
        axis.plot(x, y, color=PATH_COLOUR, linewidth=2.0, alpha=0.8)
    for letter, cells in problem.terrain.grid.objects.items():  # above the arrows
        for row, column in cells:
            axis.text(column, row, letter, fontsize=7, fontweight="bold", ha="center", va="center",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3})  # fmt: skip


def _draw_field(axis: Axes, problem: Problem, values: Array, colours: str) -> None:
    field = np.full(problem.terrain.grid.size, np.nan)
    field[tuple(problem.terrain.cells.T)] = values
    image = axis.imshow(field, cmap=colours, interpolation="nearest")
    axis.set_axis_off()
    axis.figure.colorbar(image, ax=axis, fraction=0.046, pad=0.02)
    for letter, cells in problem.terrain.grid.objects.items():
        for row, column in cells:
            axis.text(column, row, letter, color="white", fontsize=7, fontweight="bold", ha="center", va="center")
