"""Maps: as panels of a figure (needs matplotlib), with an agent on them as text and as an image, and under what a run
learned: its policy, values and visits for every machine state, and its greedy path.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_number
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, printable, shown
from fastrm.kernels.worlds import environments
from fastrm.learners import Run, option_pairs, registry
from fastrm.plots.palette import (
    AGENT,
    FIELD_MAPS,
    HERE_COLOUR,
    MAP_COLOURS,
    MOST_STARTS,
    PATH_COLOUR,
    RULE,
    START_MARKER,
    WHITE,
    ink,
    object_colour,
    rgb,
)
from fastrm.plots.style import check_width, new_figure, put_title, style
from fastrm.problems import Episode, Problem, TabularEpisode, TabularProblem, check_tabular, retrace, slide, unsupported
from fastrm.worlds import FLOOR, FLOOR_TOO, OFFSETS, START, WALL, Cell, GridMap, TableWorld, check_layout_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def starts_to_mark(starts: Sequence[Cell]) -> tuple[Sequence[Cell], str]:
    """Return the starts that a picture marks, and a remark in their place where they are too many.

    >>> starts_to_mark([(1, 1)]), starts_to_mark([(1, k) for k in range(40)])
    (([(1, 1)], ''), ((), '40 starts, not marked'))
    """
    return (starts, "") if len(starts) <= MOST_STARTS else ((), f"{len(starts)} starts, not marked")


def fence_ends(grid: GridMap) -> list[tuple[int, int, int, int]]:
    """Return the ends (x, y, x, y) of every fence, left or top first, in cells from the top left corner of the map."""
    fences = sorted(grid.fences)
    return [(x + 1 - (below - y), y + 1 - (right - x), x + 1, y + 1) for (y, x), (below, right) in fences]


def draw_maps(grids: Sequence[tuple[str, GridMap]], width: float | None = None) -> Figure:
    """Draw maps side by side, five in a row: walls grey, starts crosses, objects as coloured letters.

    `width` is that of the figure, in inches: 1 to 40.
    """
    if not grids:
        raise ConfigError("no maps to draw")
    check_width(width, 1)
    columns = min(5, len(grids))
    rows, side = math.ceil(len(grids) / columns), 1.5 if len(grids) > 1 else 4.5
    side = side if width is None else width / columns
    with style():
        shape = max(grid.size[0] / grid.size[1] for _, grid in grids)
        figure = new_figure(side * columns, (side * min(max(shape, 0.2), 4.0) + 0.15) * rows + 0.25)
        axes = figure.subplots(rows, columns, squeeze=False)
        top = 1 - 0.43 / figure.get_figheight()
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=top, wspace=0.05, hspace=0.12)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, grid) in zip(axes.flat, grids, strict=False):
            draw_ground(axis, grid)
            draw_objects(axis, grid, side)
            unmarked = starts_to_mark(grid.starts)[1]
            axis.set_title(printable(f"{name} ({unmarked})" if unmarked else name), pad=2, parse_math=False)
        if columns > 1:
            put_title(figure, "start: cross; objects: letters")
    return figure


def draw_ground(axis: Axes, grid: GridMap) -> None:
    """Draw the walls and fences of a map on a panel; floor is clear, so that something may be below."""
    wall = np.where(grid.tiles == ord(WALL), 1.0, np.nan)
    axis.imshow(wall, cmap=FIELD_MAPS["wall"], vmin=0, vmax=2.0, interpolation="nearest", zorder=1.5)
    lines = [((a - 0.5, b - 0.5), (c - 0.5, d - 0.5)) for a, b, c, d in fence_ends(grid)]
    if lines:
        from matplotlib.collections import LineCollection

        for colour, wide, above in ((WHITE, 2.6, 1.6), (MAP_COLOURS["figure"]["fence"], 1.4, 1.7)):  # white on dark
            axis.add_collection(LineCollection(lines, colors=colour, linewidths=wide, zorder=above), autolim=False)
    axis.set_axis_off()


def draw_objects(axis: Axes, grid: GridMap, side: float, starts: Sequence[Cell] | None = None) -> None:
    """Draw starts and objects on a panel of about `side` inches, with a white rim: readable on every colour.

    `starts` are those of a problem, by default those of the map.
    """
    from matplotlib.patheffects import withStroke

    size = float(np.clip(60 * side / max(grid.size), 5.5 if side < 2 else 6.5, 16))
    marked, _ = starts_to_mark(grid.starts if starts is None else starts)
    rows, columns = np.array(marked).reshape(-1, 2).T
    for colour, thick in ((WHITE, 2.6), (MAP_COLOURS["figure"]["start"], 1.2)):
        axis.plot(
            columns, rows, marker=START_MARKER, linestyle="", color=colour, markersize=size * 0.6,
            markeredgewidth=thick, zorder=3,
        )  # fmt: skip
    for k, (letter, cells) in enumerate(grid.objects.items()):
        for row, column in cells:
            axis.text(
                column, row, letter, color=ink(object_colour(k)), fontsize=size, fontweight="bold", ha="center",
                va="center_baseline", zorder=4, path_effects=[withStroke(linewidth=0.3 * size, foreground=WHITE)],
            )  # fmt: skip


def show(grid: GridMap, row: int, column: int) -> str:
    """Return a map as text, the agent as @."""
    rows = [line.replace(START, FLOOR_TOO) for line in grid.rows]
    rows[row] = rows[row][:column] + AGENT + rows[row][column + 1 :]
    return grid.render(rows)


def paint(grid: GridMap, row: int, column: int) -> Array:
    """Return a map as an image, the agent black."""
    tiles = {WALL: "wall", FLOOR: "floor", START: "start"}
    colours = {letter: rgb(object_colour(k)) for k, letter in enumerate(grid.objects)}
    colours |= {tile: rgb(MAP_COLOURS["image"][name]) for tile, name in tiles.items()}
    small, side = np.array([[colours[tile] for tile in line] for line in grid.rows], dtype=np.uint8), 12
    image = small.repeat(side, axis=0).repeat(side, axis=1)
    for ends in fence_ends(grid):
        left, top, right, bottom = (side * end for end in ends)
        across, down = int(left == right), int(top == bottom)  # a pixel on either side
        image[top - down : bottom + down, left - across : right + across] = colours[WALL]
    y, x, rim = row * side, column * side, side // 4
    image[y + rim : y + side - rim, x + rim : x + side - rim] = rgb(MAP_COLOURS["image"]["agent"])
    return image


@by_kind
def draw_world(world: object, name: str = "", width: float | None = None) -> Figure:
    """Draw a world by itself: a map, the layout of a table, or a water world as an episode begins."""
    raise ConfigError(f"{shown(world)}: is no world that can be drawn")


@add_row(draw_world, GridMap, TableWorld)
def draw_layout(world: GridMap | TableWorld, name: str = "", width: float | None = None) -> Figure:
    """Draw a map, or the one that the cells of a table are laid out on."""
    return draw_maps([(name or world.source, check_layout_of(world))], width)


@by_kind
def show_episode(episode: Episode) -> str:
    """Return an episode as text: where the agent is."""
    raise unsupported(episode.problem)


@add_row(show_episode, TabularEpisode)
def show_on_map(episode: TabularEpisode) -> str:
    """Return the map with the agent, or the number of its cell."""
    grid = episode.problem.layout
    return show(grid, *episode.cell) if grid else f"cell {episode.cell}\n"


MAX_STATES = 12
MOST_ARROWS = 16
"""Arrows along the longer side of a map; on larger maps every second, third, ... cell has one."""
_ENVIRONMENTS, _STEPS = 256, 2000


def visits(problem: TabularProblem, q: Array, epsilon: float = 0.1, episode_limit: int = 1000, seed: int = 0) -> Array:
    """Count, [cell, machine state], where an agent that acts epsilon-greedily on values `q` spends its steps.

    With several machines as many agents play each.
    """
    check_tabular(problem)
    tables, random = problem.tables, np.random.default_rng(seed)
    if q.shape != (len(tables.next_s), tables.n_u, problem.n_actions):
        raise ConfigError(f"values have shape {q.shape}; visits need [cell, machine state, action]")
    n = _ENVIRONMENTS
    state, (t, event) = np.zeros((n, 2), dtype=np.int64), (np.zeros(n, dtype=np.int64) for _ in range(2))
    s, u = state.T
    over, first = np.ones(n, dtype=np.uint8), tables.first_u[np.arange(n) % len(tables.first_u)].astype(np.int64)
    start = np.full(n, problem.start)
    reward, ends, cut = np.empty(n), np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    best = np.zeros((len(tables.next_s), tables.n_u + 1, problem.n_actions), dtype=np.bool_)
    best[:, : tables.n_u] = q == q.max(axis=2, keepdims=True)
    count = np.zeros((len(tables.next_s), tables.n_u), dtype=np.int64)
    for _ in range(_STEPS):
        allowed = best[s, u] | (random.random(n) < epsilon)[:, None]
        shuffled = 1.0 + random.random((n, problem.n_actions))  # ties are broken at random
        actions = np.argmax(allowed * shuffled, axis=1)
        actions = slide(problem, s, actions, random)
        if len(tables.starts) > 1:
            start = random.choice(tables.starts, n).astype(np.int64)
        environments.step(tables, episode_limit, actions, state, start, first, t, over, reward, ends, cut, event)
        live = u < tables.n_u
        np.add.at(count, (s[live], u[live]), 1)
    return count


def known_values(q: Array, initial: float) -> Array:
    """Return the best value along the last axis, NaN where no action was ever updated."""
    return np.where((q == initial).all(axis=-1), np.nan, q.max(axis=-1))


def last_best(values: Array) -> Array:
    """Return the last of the largest along the last axis, as roll-outs choose."""
    return np.asarray(values.shape[-1] - 1 - values[..., ::-1].argmax(axis=-1))


@by_kind
def draw_learning(
    problem: Problem, run: Run, states: Sequence[int] | None = None, width: float | None = None
) -> Figure:
    """Draw policy, values and visits side by side, a row per machine state, and the greedy path over the map.

    For HRM, which has values per option, each row shows the option that the greedy path takes in that state. On Water
    world the picture shows the episode of the greedy policy.

    Parameters
    ----------
    problem : Problem
        What was learned.
    run : Run
        Who learned it.
    states : sequence of int, optional
        Columns of machine states to draw, by default the first 12.
    width : float, optional
        Of the figure, in inches: 4 to 40, by default 9.4.

    Raises
    ------
    ConfigError
        When matplotlib is missing, or the run has no values per machine state or option.
    """
    raise unsupported(problem)


@add_row(draw_learning, TabularProblem)
def draw_policies(
    problem: TabularProblem, run: Run, states: Sequence[int] | None = None, width: float | None = None
) -> Figure:
    """Draw policy, values and visits on a map."""
    width = 9.4 if width is None else width
    check_number("width", width, 4, 40)
    rows, columns = problem.grid.size
    paths = _path_parts(problem, run)
    q, titles = _values(problem, run, paths)
    count = visits(problem, q, run.last_epsilon, run.config.episode_limit)
    wanted = list(states if states is not None else range(problem.tables.n_u))
    chosen = wanted[:MAX_STATES]
    side = (width - 2.1) / 3
    high = side * float(np.clip(rows / columns, 0.2, 4.0))
    note = textwrap.wrap(_note(problem, run), max(40, int(19.5 * width)))
    below = 0.12 + 0.13 * len(note)
    with style():
        height = 0.2 + (high + 0.3) * len(chosen) + below
        figure = new_figure(width, height)

        def panel(left: float, row: int, wide: float) -> Axes:
            low = below + (len(chosen) - 1 - row) * (high + 0.3)
            return figure.add_axes((left / width, low / height, wide / width, high / height))

        for row, u in enumerate(chosen):
            name = problem.states[u][1]
            lefts = (0.08, side + 0.23, 2 * side + 1.23)
            axes = [panel(left, row, side) for left in lefts]
            bars = [panel(left + side + 0.07, row, 0.1) for left in lefts[1:]]
            _draw_policy(axes[0], problem, q[:, u], count[:, u] > 0, paths.get(u, ()))
            best = known_values(q[:, u], float(run.config.q_init))
            _draw_field(axes[1], bars[0], problem, best, "value of the best action")
            _draw_field(axes[2], bars[1], problem, count[:, u], "visits after training", in_logs=True)
            for axis, title in zip(axes, (titles[u], "values", "visits"), strict=True):
                draw_objects(axis, problem.grid, side, problem.starts)
                axis.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
                axis.set_title(printable(f"{name}: {title}"), pad=3, parse_math=False)
        figure.text(0.08 / width, 0.05 / height, "\n".join(note), fontsize=7, color="0.3", va="bottom")
        cut = f" (the first {len(chosen)} of {len(wanted)} states)" if len(chosen) < len(wanted) else ""
        put_title(figure, f"{run.algo.upper()}, seed {run.seed}: {lengths_of(problem, run)}{cut}")
    return figure


def draw_run(run: Run) -> Figure:
    """Draw the score of one run over its steps."""
    with style():
        figure = new_figure(4.6, 2.3)
        axis = figure.subplots()
        figure.subplots_adjust(left=0.12, right=0.97, bottom=0.2, top=0.87)
        axis.plot(run.step, run.score, color=HERE_COLOUR)
        axis.axhline(1.0, **RULE)
        axis.set(xlim=(0, run.steps), xlabel="training steps", ylabel="score (1 = unit)")
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        put_title(figure, f"{run.algo.upper()}{' + shaping' * run.shaping}, seed {run.seed}")
    return figure


def lengths_of(problem: TabularProblem, run: Run) -> str:
    """Describe the length of the greedy path; of several starts the mean, and where the path begins."""
    found = ", ".join("not complete" if n is None else f"{n:.6g} steps" for n in run.greedy_lengths)
    shortest = ", ".join(f"{n:.6g}" for n in run.shortest)
    if len(problem.starts) == 1:
        return f"greedy path {found}, shortest {shortest}"
    return (
        f"greedy path {found} in the mean of {len(problem.starts)} starts, shortest {shortest}; path from "
        f"{run.greedy_path[0]}"
    )


def _note(problem: TabularProblem, run: Run) -> str:
    """Explain visits, blank cells and pale arrows."""
    options = "the options shown" if run.controller is not None else "the learned values"
    unmarked = starts_to_mark(problem.starts)[1]
    return (
        f"Visits: where {_ENVIRONMENTS} agents are in {_STEPS} steps each after training, greedy on {options} but for "
        f"epsilon {run.last_epsilon:g}. Blank cells: value never changed, or never visited. Pale arrows: cell never "
        f"visited. Line: the greedy path.{f' Crosses: {unmarked}.' if unmarked else ''}"
    )


def _path_parts(problem: TabularProblem, run: Run) -> dict[int, list[list[Cell]]]:
    """Return the parts of the greedy paths in every machine state, one for each time that it is entered."""
    paths: dict[int, list[list[Cell]]] = {}
    for number, path in enumerate(run.greedy_paths):
        u_before = -1
        for moment in retrace(problem, path, number, run.path_actions(problem, number)):
            if moment.state != u_before:  # the last step in a state leads to where the next one's part begins
                if u_before >= 0:
                    paths[u_before][-1].append(moment.cell)
                paths.setdefault(moment.state, []).append([])
            paths[moment.state][-1].append(moment.cell)
            u_before = moment.state
    return paths


def _values(problem: TabularProblem, run: Run, paths: dict[int, list[list[Cell]]]) -> tuple[Array, Sequence[str]]:
    """Return values, [cell, machine state, action], and the title of the policy in each machine state.

    Of options it is the one that is taken: on the path, or else at the start.
    """
    if run.controller is None:
        if not registry.find(run.algo).per_state:
            raise ConfigError(
                f"{run.algo} keeps no values per machine state; draw a run of another learner, such as crm"
            )
        return run.q, ["greedy actions"] * problem.tables.n_u
    first, pairs = run.more["first_option"], option_pairs(problem, run.config.self_loop_options)
    chosen = []
    for u in range(problem.tables.n_u):
        s = problem.number_of(paths[u][0][0]) if u in paths else problem.start
        values = run.more["controller"][s, int(first[u]) : int(first[u + 1])]
        chosen.append(int(first[u]) + int(last_best(values)))
    return run.q[:, chosen], [f"option to {pairs[option][2] or 'the end'}" for option in chosen]


def _draw_policy(
    axis: Axes, problem: TabularProblem, q: Array, seen: Array, parts: Sequence[Sequence[Cell]]
) -> None:  # fmt: skip
    """Draw greedy actions, dark in cells that agents have seen, and the parts of a path."""
    draw_ground(axis, problem.grid)
    rows, columns = problem.terrain.cells.T
    down, right = _directions(problem, last_best(q)).T
    apart = math.ceil(max(problem.grid.size) / MOST_ARROWS)
    inside = math.prod(side - 2 for side in problem.grid.size)
    is_open = not problem.grid.fences and len(problem.terrain.cells) == inside
    length = 0.74 * apart if is_open else min(0.74 * apart, 0.9)  # no arrow reaches over a fence or wall
    drawn = q.max(axis=1) > q.min(axis=1)  # where all actions are equal nothing was learned
    drawn &= ((rows - 1) % apart == (apart - 1) // 2) & ((columns - 1) % apart == (apart - 1) // 2)
    colours = MAP_COLOURS["figure"]
    for these, colour in ((drawn & ~seen, colours["unseen"]), (drawn & seen, colours["arrow"])):
        axis.quiver(
            columns[these], rows[these], right[these], down[these], pivot="mid", angles="xy", units="xy",
            scale_units="xy", scale=1 / length, width=0.15 * length, headwidth=3.6, headlength=3.4, headaxislength=3.1,
            color=colour, zorder=2,
        )  # fmt: skip
    for part in parts:
        y, x = np.array(part).T
        for colour, thick in ((WHITE, 3.4), (PATH_COLOUR, 2.0)):
            axis.plot(x, y, color=colour, linewidth=thick, zorder=2.5, gid="path")


def _directions(problem: TabularProblem, action: Array) -> Array:
    """Return the direction of the arrow of every cell, [cell, 2]."""
    if problem.terrain.is_map:
        return np.array(OFFSETS)[action]  # also into a wall
    tables, cells = problem.tables, problem.terrain.cells
    here, n_k = np.arange(len(cells)), problem.terrain.outcomes
    outcomes = tables.next_s.reshape(len(cells), -1, n_k)[here, action]
    share = np.ones((len(cells), 1)) if tables.chance is None else tables.chance[here, action]
    way = np.einsum("sk,skx->sx", share, cells[outcomes] - cells[:, None])  # in the mean over outcomes
    longest = np.abs(way).max(axis=1, keepdims=True)
    pointed: Array = np.divide(way, longest, out=np.zeros_like(way), where=longest > 1e-12)
    return pointed


def _draw_field(
    axis: Axes, bar: Axes, problem: TabularProblem, values: Array, meaning: str, in_logs: bool = False
) -> None:  # fmt: skip
    """Draw a number for every cell as a colour, and a scale of the colours."""
    from matplotlib.colors import LogNorm

    field = np.full(problem.grid.size, np.nan)
    field[tuple(problem.terrain.cells.T)] = np.where(values > 0, values, np.nan) if in_logs else values
    norm = LogNorm(1, max(10.0, float(np.max(values, initial=1)))) if in_logs else None
    colours = FIELD_MAPS["visits" if in_logs else "values"]
    image = axis.imshow(field, interpolation="nearest", norm=norm, cmap=colours)
    draw_ground(axis, problem.grid)
    if np.isnan(field).all():
        bar.set_axis_off()
        return
    form = (lambda x, _: f"{x:g}") if in_logs else None
    axis.figure.colorbar(image, cax=bar, label=meaning, format=form)
    bar.minorticks_off()
