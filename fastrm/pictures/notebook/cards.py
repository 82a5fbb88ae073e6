"""Objects as HTML: a heading, a small table of facts, and drawings beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isinf, isnan, nan

from fastrm.errors import printable
from fastrm.exact import Guarantee
from fastrm.kernels.contracts import FAR
from fastrm.learners import Run
from fastrm.machines.language import MAX_STATES
from fastrm.pictures.map_views import starts_to_mark
from fastrm.pictures.notebook.drawings import machine_svg, map_svg, score_svg
from fastrm.pictures.panels import value_text
from fastrm.pictures.style import VERDICT_COLOURS
from fastrm.problems import Problem
from fastrm.results import Results
from fastrm.worlds import GridMap, layout_of

MOST_ROWS = 60
"""Rows of a table; the rest is counted."""
MOST_MACHINES = 4
SIDE = 280
"""Pixels of a map beside other things."""
_LEFT = 'style="text-align:left"'

Facts = Iterable[tuple[str, object]]


def problem_card(problem: Problem) -> str:
    """Show map, machines, and what is known of them without learning."""
    tour = problem.tour if problem.agenda is not None else None
    is_known = tour is None or tour.is_shortest
    lengths = ", ".join(map(_steps, problem.shortest[:MOST_MACHINES] if is_known else [nan]))
    more = len(problem.machines) - MOST_MACHINES
    grid, several = layout_of(problem.terrain.world), len(problem.starts) > 1
    facts: list[tuple[str, object]] = [
        ("map", f"{problem.source}, {grid.size[0]} x {grid.size[1]}") if grid else ("world", problem.source),
        ("cells", len(problem.terrain.cells)),
        *([] if isinstance(problem.terrain.world, GridMap) else [("actions", ", ".join(problem.terrain.actions))]),
        ("machines", ", ".join(machine.name or machine.source for machine in problem.machines[:MOST_MACHINES])),
        *_machine_states(problem),
        ("shortest path", lengths),
    ]
    facts += [("starts", starts_to_mark(problem.starts)[1] or len(problem.starts))] if several else []
    facts += [("slip", f"{problem.slip:g}")] if problem.slip else []
    facts += [("not shown", f"{more} more machines")] if more > 0 else []
    machines = [machine_svg(machine) or "" for machine in problem.machines[:MOST_MACHINES]]
    drawing = map_svg(grid, side=SIDE, starts=problem.starts) if grid else None
    return _card("Problem", drawing, "<br/>".join([*machines, _facts(facts)]))


def _machine_states(problem: Problem) -> Facts:
    """Return how many machine states and events there are, or that the states are too many to list."""
    if problem.agenda is None:
        return [("machine states", problem.tables.n_u), ("events", len(problem.tables.reward))]
    states = f"more than {MAX_STATES}; only coupled learns it"
    return [("stages", len(problem.agenda.targets)), ("machine states", states)]


def run_card(run: Run) -> str:
    """Show what a run came to, and its learning curve."""
    facts: list[tuple[str, object]] = [
        ("learner", run.algo + (" with shaping" if run.shaping else "")),
        ("seed", run.seed),
        ("greedy policy", ", ".join(_steps(length) for length in run.greedy_lengths)),
        ("shortest path", ", ".join(map(_steps, run.shortest))),
        ("solved", "yes" if run.solved else "no"),
    ]
    if run.score.size:
        facts += [
            ("last score", "-" if isnan(run.score[-1]) else f"{run.score[-1]:.3f}"),
            ("episodes", f"{run.episodes[-1]:,}, of which {run.completions[-1]:,} completed the task"),
        ]
    return _card("Run", _facts(facts), score_svg(run.step, run.score))


def guarantee_card(verdict: Guarantee) -> str:
    """Show the verdict, its numbers, and the way of an optimal policy on the map."""
    witness, solution = verdict.witness, verdict.solution
    grid = layout_of(solution.problem.terrain.world)
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
    starts = solution.problem.starts
    way = witness.path, witness.shortest_path, witness.leaves_at
    drawing = map_svg(grid, *way, side=SIDE, starts=starts) if grid else None
    colour = VERDICT_COLOURS["shortest" if verdict.is_shortest else "other"]
    heading = f'<span style="color:{colour}">{_text(verdict.verdict)}</span>'
    return _card(heading, _facts(facts) + (f"<small>{lines}</small>" if drawing else ""), drawing)


def results_card(results: Results) -> str:
    """Show the summary of some runs: medians per setup, task and method."""
    names = ("setup", "task", *results.swept, "method", "runs", "settled", "25-75 %", "to 90 %", "shortest")
    rows = []
    for row in results.summary() if results.runs else ():
        figures = ("-",) * 4 if not row["runs"] else (
            _score(row["settled_50"]), f"{_score(row['settled_25'])} to {_score(row['settled_75'])}",
            "never" if isinf(row["steps_to_90_50"]) else f"{row['steps_to_90_50']:,.0f}",
            f"{row['shortest_share']:.0%}",
        )  # fmt: skip
        settings = (value_text(row[name]) for name in results.swept)
        rows.append((row["setup"], row["task"], *settings, row["label"], row["runs"], *figures))
    more = f"<small>and {len(rows) - MOST_ROWS} more rows: see results.summary()</small>" * (len(rows) > MOST_ROWS)
    return _card(_text(repr(results)), _table(names, rows[:MOST_ROWS], words=3 + len(results.swept)) + more)


def _score(score: float) -> str:
    return "-" if isnan(score) else f"{score:.3f}"


def _steps(length: float | None) -> str:
    if length is None:
        return "does not complete the task"
    return "not known" if isnan(length) else "none" if length >= FAR else f"{length:g} steps"


def _text(value: object) -> str:
    """Return a value as HTML shows it; names come from files and may hold anything."""
    return escape(printable(str(value)))


def _facts(facts: Facts) -> str:
    rows = "".join(f"<tr><th {_LEFT}>{_text(name)}</th><td {_LEFT}>{_text(fact)}</td></tr>" for name, fact in facts)
    return f"<table>{rows}</table>"


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], words: int) -> str:
    """Write a table whose first columns are words."""

    def cell(tag: str, k: int, value: object) -> str:
        return f'<{tag} style="text-align:{"left" if k < words else "right"}">{_text(value)}</{tag}>'

    lines = ["".join(cell("th", k, name) for k, name in enumerate(names))]
    lines += ["".join(cell("td", k, value) for k, value in enumerate(row)) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _card(heading: str, *parts: str | None) -> str:
    """Put a heading above facts and drawings, which stand side by side where there is room."""
    boxes = "".join(f'<div style="min-width:{SIDE}px">{part}</div>' for part in parts if part)
    row = f'<div style="display:grid;grid-template-columns:auto 1fr;gap:1em;justify-items:start">{boxes}</div>'
    return f"<div><b>{heading}</b>{row}</div>"
