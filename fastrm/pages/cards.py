"""Objects as notebooks show them: HTML cards with a heading, facts and drawings, and the drawings as SVG.

Nothing here needs matplotlib; names come from files and may hold anything, so all of them are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from fastrm.arrays import Array
from fastrm.exact import Guarantee
from fastrm.kernels.contracts import FAR
from fastrm.learners import Run
from fastrm.machines import RewardMachine
from fastrm.pages.page import text
from fastrm.plots import drawn_form, fence_ends, palette, starts_to_mark, to_svg, value_text
from fastrm.problems import Problem
from fastrm.results import Results
from fastrm.worlds import WALL, Cell, GridMap

SIDE, BESIDE, SMALLEST, LARGEST = 420, 280, 2, 24
"""Pixels of the longer side of a map, of that beside other things, and of its cells at least and at most."""
MOST_CELLS, MOST_EDGES = 201, 120
"""Cells of a side, and edges of a machine, beyond which nothing is drawn: a notebook keeps every picture."""
CURVE_WIDTH, CURVE_HEIGHT, MOST_POINTS = 340, 110, 340
MOST_ROWS, MOST_MACHINES = 60, 4
"""Rows of a table and machines of a problem that are shown; the rest is counted."""
_COLOURS = palette.MAP_COLOURS["card"]

Facts = Iterable[tuple[str, object]]


def map_svg(
    grid: GridMap,
    path: Sequence[Cell] = (),
    dotted: Sequence[Cell] = (),
    mark: Cell | None = None,
    side: int = SIDE,
    starts: Sequence[Cell] | None = None,
) -> str | None:
    """Draw a map as SVG, its longer side about `side` pixels; None where it is too large.

    `path` is drawn as a line, `dotted` below it as a dotted one, and `mark` is a cell with a ring around it. `starts`
    are those of a problem, by default those of the map; more than 12 are not marked.

    >>> svg = map_svg(GridMap.generate("1a", size=7, seed=1))
    >>> svg[:4], svg.count("<text"), svg.count("<rect")
    ('<svg', 1, 9)
    """
    rows, columns = grid.size
    if max(rows, columns) > MOST_CELLS:
        return None
    cell = min(max(side // max(rows, columns), SMALLEST), LARGEST)
    parts = [_open(columns * cell, rows * cell), *_walls(grid, cell)]
    if strokes := [f"M{c * cell},{d * cell}l{(a - c) * cell},{(b - d) * cell}" for a, b, c, d in fence_ends(grid)]:
        look = f'stroke="{_COLOURS["fence"]}" stroke-width="{max(1.5, cell / 8):g}"'
        parts.append(f'<path d="{"".join(strokes)}" {look}/>')
    for cells, look in (
        (dotted, f'stroke="{_COLOURS["dotted"]}" stroke-dasharray="2 3"'),
        (path, f'stroke="{palette.PATH_COLOUR}"'),
    ):
        if len(cells) > 1:
            points = " ".join(f"{x:g},{y:g}" for x, y in (_centre(place, cell) for place in cells))
            width = max(2.0, cell / 5)
            parts.append(f'<polyline points="{points}" fill="none" {look} stroke-width="{width:g}" opacity="0.85"/>')
    arm, (marked, _) = 0.28 * cell, starts_to_mark(grid.starts if starts is None else starts)
    for x, y in (_centre(place, cell) for place in marked):
        cross = f"M{x - arm:g},{y - arm:g}l{2 * arm:g},{2 * arm:g}m0,{-2 * arm:g}l{-2 * arm:g},{2 * arm:g}"
        parts.append(f'<path d="{cross}" stroke="{_COLOURS["start"]}" stroke-width="1.5"/>')
    for k, (letter, places) in enumerate(grid.objects.items()):
        for x, y in (_centre(place, cell) for place in places):
            size, colour = max(cell, 10), palette.PAGE_OBJECTS[k % len(palette.PAGE_OBJECTS)]
            parts.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="{0.5 * size:g}" fill="{colour}" '
                f'stroke="{_COLOURS["floor"]}"/><text x="{x:g}" y="{y + 0.26 * size:g}" font-size="{0.75 * size:g}" '
                f'font-weight="bold" text-anchor="middle" fill="{palette.WHITE}">{letter}</text>'
            )
    if mark is not None:
        x, y = _centre(mark, cell)
        look = f'fill="none" stroke="{palette.HERE_COLOUR}" stroke-width="2"'
        parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{max(0.6 * cell, 6):g}" {look}/>')
    return "".join([*parts, "</svg>"])


def machine_svg(machine: RewardMachine) -> str | None:
    """Draw a machine as SVG that is as wide as its place at most; None where it is too large."""
    if len(drawn_form(machine).edges) > MOST_EDGES:
        return None
    return to_svg(machine).replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def score_svg(step: Array, score: Array) -> str:
    """Draw a learning curve as SVG: the score over the steps, a dashed line at 1.

    >>> score_svg(np.array([10, 20]), np.array([np.nan, 0.5])).count("<circle")
    1
    """
    known = np.flatnonzero(np.isfinite(score))
    parts = [_open(CURVE_WIDTH, CURVE_HEIGHT)]
    if not len(known):
        return "".join([*parts, _label(CURVE_WIDTH / 2, CURVE_HEIGHT / 2, "no score yet", "middle"), "</svg>"])
    left, right, top, bottom = 28, 8, 8, 20
    low, high = min(0.0, float(score[known].min())), max(1.0, float(score[known].max())) * 1.05

    def place(x: float, y: float) -> tuple[float, float]:
        across, up = CURVE_WIDTH - left - right, CURVE_HEIGHT - top - bottom
        return left + across * x / float(step[-1]), top + up * (high - y) / (high - low)

    for level, dashes in ((0.0, ""), (1.0, ' stroke-dasharray="4 3"')):
        y = place(0, level)[1]
        ends = f'x1="{left}" y1="{y:.1f}" x2="{CURVE_WIDTH - right}" y2="{y:.1f}"'
        parts.append(f'<line {ends} stroke="#999" stroke-width="0.8"{dashes}/>')
        parts.append(_label(left - 5, y + 3.5, f"{level:g}", "end"))
    some = known[:: math.ceil(len(known) / MOST_POINTS)]
    some = some if some[-1] == known[-1] else np.append(some, known[-1])
    points = [place(float(step[k]), float(score[k])) for k in some]
    if len(points) == 1:
        parts.append(f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5" fill="{palette.HERE_COLOUR}"/>')
    else:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{palette.HERE_COLOUR}" stroke-width="1.5"/>')
    parts.append(_label(CURVE_WIDTH - right, CURVE_HEIGHT - 6, f"{int(step[-1]):,} steps", "end"))
    return "".join([*parts, _label(left, CURVE_HEIGHT - 6, "score", "start"), "</svg>"])


def _open(width: int, height: int) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="DejaVu Sans, Helvetica, sans-serif"'
    ground = f'<rect width="100%" height="100%" fill="{_COLOURS["floor"]}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{ground}'


def _label(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" text-anchor="{anchor}" fill="#555">{words}</text>'


def _centre(place: Cell, cell: int) -> tuple[float, float]:
    return (place[1] + 0.5) * cell, (place[0] + 0.5) * cell


def _walls(grid: GridMap, cell: int) -> Iterator[str]:
    """Yield a rectangle per stretch of wall in a row; equal rows become one."""
    y = 0
    for row, equal in groupby(grid.rows):
        x, height = 0, len(list(equal))
        for tile, stretch in groupby(row):
            width = len(list(stretch))
            if tile == WALL:
                where = f'x="{x * cell}" y="{y * cell}" width="{width * cell}" height="{height * cell}"'
                yield f'<rect {where} fill="{_COLOURS["wall"]}"/>'
            x += width
        y += height


def problem_card(problem: Problem) -> str:
    """Show the world, the machines, and the numbers that everything else depends on."""
    grid, more = problem.layout, len(problem.machines) - MOST_MACHINES
    facts: list[tuple[str, object]] = [
        *problem.facts,
        ("machines", ", ".join(machine.name or machine.source for machine in problem.machines[:MOST_MACHINES])),
        ("shortest path", ", ".join(map(_steps, problem.known_shortest))),
        *([("starts", remark)] if (remark := starts_to_mark(problem.start_cells)[1]) else []),
        *([("not shown", f"{more} more machines")] if more > 0 else []),
    ]
    machines = [machine_svg(machine) or "" for machine in problem.machines[:MOST_MACHINES]]
    drawing = map_svg(grid, side=BESIDE, starts=problem.start_cells) if grid else None
    return _card("Problem", drawing, "<br/>".join([*machines, _facts(facts)]))


def run_card(run: Run) -> str:
    """Show the outcome of a run and its learning curve."""
    facts: list[tuple[str, object]] = [
        ("learner", run.algo + (" with shaping" if run.shaping else "")),
        ("seed", run.seed),
        ("greedy policy", ", ".join(_steps(length) for length in run.greedy_lengths)),
        ("shortest path", ", ".join(map(_steps, run.shortest))),
        ("solved", "yes" if run.solved else "no"),
    ]
    if run.score.size:
        facts += [
            ("last score", _score(run.score[-1])),
            ("episodes", f"{run.episodes[-1]:,}, of which {run.completions[-1]:,} completed the task"),
        ]
    return _card("Run", _facts(facts), score_svg(run.step, run.score))


def guarantee_card(verdict: Guarantee) -> str:
    """Show the verdict, its numbers, and the path of an optimal policy on the map."""
    witness, solution = verdict.witness, verdict.solution
    grid = solution.problem.layout
    optimal = "never completes the task" if verdict.length is None else _steps(verdict.length)
    facts: list[tuple[str, object]] = [
        ("gamma", f"{solution.gamma:g}"),
        ("optimal policy", f"{optimal}, return {witness.optimal_return:.6g}"),
        ("shortest path", f"{_steps(verdict.shortest)}, return {witness.shortest_return:.6g}"),
    ]
    lines = "line: optimal policy; dotted: shortest path"
    if witness.leaves_at is not None:
        where = "row {}, column {}".format(*witness.leaves_at) if grid else f"cell {witness.leaves_at}"
        facts.append(("leaves it at", f"{where}, machine state {witness.state}"))
        lines += "; ring: where it leaves the shortest paths"
    facts += [("it repeats", f"{len(witness.loop)} cells for ever")] if witness.loop else []
    facts += [("no verdict", verdict.reason)] if verdict.reason else []
    paths = witness.path, witness.shortest_path, witness.leaves_at
    drawing = map_svg(grid, *paths, side=BESIDE, starts=solution.problem.start_cells) if grid else None
    colour = palette.VERDICT_COLOURS["shortest" if verdict.is_shortest else "other"]
    heading = f'<span style="color:{colour}">{text(verdict.verdict)}</span>'
    return _card(heading, _facts(facts) + (f"<small>{lines}</small>" if drawing else ""), drawing)


def results_card(results: Results) -> str:
    """Show the summary of some runs: medians per setup, task and method."""
    note, lasting = results.schedule_note, ("to shortest",) * results.plan.greedy_ticks
    steps = "to 90 %" + "*" * bool(note), *lasting
    names = ("setup", "task", *results.swept, "method", "runs", "settled", "25-75 %", *steps, "shortest")
    rows = []
    for row in results.summary() if results.runs else ():
        medians = [row[name] for name in ("steps_to_90_50", "steps_to_lasting_shortest_50") if name in row]
        figures = ("-",) * (3 + len(steps)) if not row["runs"] else (
            _score(row["settled_50"]), f"{_score(row['settled_25'])} to {_score(row['settled_75'])}",
            *("never" if math.isinf(median) else f"{median:,.0f}" for median in medians),
            f"{row['shortest_share']:.0%}",
        )  # fmt: skip
        settings = (value_text(row[name]) for name in results.swept)
        rows.append((row["setup"], row["task"], *settings, row["method"], row["runs"], *figures))
    more = f"<small>and {len(rows) - MOST_ROWS} more rows: see results.summary()</small>" * (len(rows) > MOST_ROWS)
    more += f"<small>{text(note)}</small>" if note else ""
    return _card(text(repr(results)), _table(names, rows[:MOST_ROWS], words=3 + len(results.swept)) + more)


def _score(score: float) -> str:
    return "-" if math.isnan(score) else f"{score:.3f}"


def _steps(length: float | None) -> str:
    if length is None:
        return "does not complete the task"
    return "not known" if math.isnan(length) else "none" if length >= FAR else f"{length:g} steps"


def _cell(tag: str, value: object, side: str = "left") -> str:
    return f'<{tag} style="text-align:{side}">{text(value)}</{tag}>'


def _facts(facts: Facts) -> str:
    rows = (_cell("th", name) + _cell("td", fact) for name, fact in facts)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], words: int) -> str:
    """Write a table whose first columns are words and the others numbers."""
    sides = ["left" if k < words else "right" for k in range(len(names))]
    tagged = [("th", names), *(("td", row) for row in rows)]
    lines = ("".join(_cell(tag, value, side) for value, side in zip(row, sides, strict=True)) for tag, row in tagged)
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _card(heading: str, *parts: str | None) -> str:
    """Put a heading above facts and drawings, side by side where there is room."""
    boxes = "".join(f'<div style="min-width:{BESIDE}px">{part}</div>' for part in parts if part)
    row = f'<div style="display:grid;grid-template-columns:auto 1fr;gap:1em;justify-items:start">{boxes}</div>'
    return f"<div><b>{heading}</b>{row}</div>"
