"""The tables of docs/explanation/theory.md that say which rewards are safe where: every cell on random maps.

A safe cell must hold on every map, a refuted one fail on the map that it names, and on some random map of every sort.
The optimum is that of the rewards as paid: potentials are not taken out beforehand, as `guarantee` does.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fastrm import FastrmError, GridMap, MachineError, advise, compile, guarantee, task
from fastrm.exact.tabular import solve_rewards
from fastrm.problems import direct_actions, pairs_within_reach

from sizes import FULL, either

PAGE = (Path(__file__).parents[2] / "docs/explanation/theory.md").read_text(encoding="utf-8")
GAMMAS = (0.5, 0.9, 0.99)
TASKS = {"a": ("a",), "a-b": ("a-b", "a-b-c", "a-b-a"), "{a,b}": ("{a,b}", "{a,b,c}")}
"""What the columns of the tables stand for."""
MAPS = 2000 if FULL else 24
BELOW, ABOVE = 1 - 1e-9, 1 + 1e-9
TERRAINS = {"open": (0, "manhattan"), "around walls": (0, "geodesic"), "through walls": (1, "manhattan")}
"""The table that counts, and the metric."""


def rows_of(number):
    """Return the cells of a table by their row and by task and number of objects."""
    table = [block for block in PAGE.split("\n\n") if block.startswith("| rewards |")][number]
    heads, _, *lines = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines())
    columns = [(re.search(r"`(.+)`", head)[1], "several" in head) for head in heads[1:]]
    return {line[0].strip(): dict(zip(columns, map(str.strip, line[1:]), strict=True)) for line in lines}


CELLS = [rows_of(0), rows_of(1)]
DRAWN = {name: rows.split() for name, rows in re.findall(r"^(M\d)  (.+)$", PAGE, re.M)}


def drawn(rows):
    ring = "X" * (len(rows[0]) + 2)
    return GridMap.parse("\n".join([ring, *(f"X{row}X" for row in rows), ring]))


@cache
def machine(row, text, gamma, terminal=1.0):
    """Return the machine of a row, with the largest r that its theorem allows, or the R given."""
    name, _, rest = row.partition(",")
    if name == "numeric-boolean":
        share = (1 - gamma**2) / gamma if "gamma^2" in rest else 1 - gamma
        closer = "any" if 'any"' in rest else "nearest"
        return task(text, kind=name, step_reward=share * BELOW, terminal_reward=1.0, closer=closer)
    return task(text, kind=name, **({"terminal_reward": terminal} if name == "numeric" else {}))


def enough(problem, gamma):
    """Return C / (gamma^(L-1) (1 - gamma)) of T4, read off the cells of a shortest path."""
    path, names = guarantee(problem, gamma).witness.shortest_path, problem.terrain.grid
    letters = [names.rows[r][c] for r, c in path]
    left, legs, begin = problem.machines[0].agenda, [], 0
    todo = left.everything
    for t, letter in enumerate(letters[1:], 1):
        done = [i for i in left.open(todo) if left.targets[i] == letter]
        if done:
            todo &= ~(1 << done[0])
            legs.append((begin, t - begin))
            begin = t
    cost = sum(gamma**start * sum(gamma**j * (length - 1 - j) for j in range(length - 1)) for start, length in legs)
    return cost / (gamma ** (len(path) - 2) * (1 - gamma))


def is_safe(problem, gamma):
    """Return whether all optimal actions, for the rewards as paid, wherever they lead, begin shortest paths."""
    problem = problem.at(gamma)
    found = solve_rewards(problem, problem.tables.reward, gamma)
    astray = found.optimal & ~direct_actions(problem.tables, problem.steps_to_go)
    return not astray.reshape(-1)[pairs_within_reach(problem.tables, found.optimal, 0)].any()


def build(row, text, grid, metric, gamma):
    """Compile the problem of a cell."""
    terminal = 0.0
    if "above T4" in row:
        boolean = compile(grid, task(text), metric=metric)
        terminal = enough(boolean, gamma) * ABOVE + 1e-9
    return compile(grid, machine(row, text, gamma, terminal), metric=metric)


def holds(cell, row, text, grid, metric, gamma):
    """Return whether a cell says the truth about a map; None where it does not say that the map is safe."""
    if cell == "refused":
        with pytest.raises(MachineError, match="local-potential"):
            build(row, text, grid, metric, gamma)
        return True
    if cell == "per map":
        return has_threshold(row, text, grid, metric, gamma)
    return is_safe(build(row, text, grid, metric, gamma), gamma)


def has_threshold(row, text, grid, metric, gamma):
    """Return whether rewards are safe on one side of the threshold that `guarantee` finds, and not on the other."""
    kind = row.partition(",")[0]
    verdict = guarantee(compile(grid, task(text, kind=kind, terminal_reward=1.0), metric=metric), gamma)
    if kind == "numeric":
        edge = verdict.critical_reward
        name, low, high = "terminal_reward", edge - 1e-7 * max(1, abs(edge)), edge + 1e-7 * max(1, abs(edge))
    else:
        edge = verdict.critical_step_reward
        name, low, high = "step_reward", *((None, None) if edge is None else (edge * (1 + 1e-7), edge * (1 - 1e-7)))
    if edge is None or not np.isfinite(edge):
        return True  # every path is a shortest one
    settings = {"kind": kind, "terminal_reward": 1.0}
    unsafe, safe = (task(text, **settings | {name: value}) for value in (low, high))
    return [is_safe(compile(grid, one, metric=metric), gamma) for one in (unsafe, safe)] == [False, True]


def random_map(number):
    """Return a small map, what sort it is, and the tasks of its columns."""
    rng = np.random.default_rng(number)
    walled, several = bool(number & 1), bool(number & 2)
    while True:
        height, width = rng.integers(1, 6), rng.integers(3, 8)
        letters = ["A", *"abc", *(rng.choice(list("abc"), rng.integers(1, 4)) if several else ""), *"a" * several]
        if height * width < len(letters) + 2:
            continue
        tiles = np.where(rng.random(height * width) < (0.3 if walled else 0), "X", ".")
        tiles[rng.choice(height * width, len(letters), replace=False)] = letters
        grid = drawn(["".join(row) for row in tiles.reshape(height, width)])
        try:
            compile(grid, task("{a,b,c}"), metric="geodesic")
        except FastrmError:  # walled off
            continue
        if not walled or "X" in tiles:
            return grid, walled, several, {column: TASKS[column][number % len(TASKS[column])] for column in TASKS}


def sweep(numbers):
    """Yield cell by cell: the sort of map, row, column, what the table says, and whether it is safe there."""
    for number in numbers:
        grid, walled, several, texts = random_map(number)
        gamma = GAMMAS[number // 4 % 3]
        for terrain in ("around walls", "through walls") if walled else ("open",):
            table, metric = TERRAINS[terrain]
            for row, cells in CELLS[table].items():
                for (column, of_several), cell in cells.items():
                    if of_several == several and (cell != "per map" or number // 12 % 4 == 0):  # these take longest
                        found = holds(cell, row, texts[column], grid, metric, gamma)
                        yield terrain, row, (column, several), cell, found, (number, gamma)


def test_the_tables_have_a_cell_for_every_kind_task_and_number_of_objects():
    for cells in CELLS:
        assert len(cells) == 11
        assert all(
            list(row) == [(column, several) for column in TASKS for several in (False, True)] for row in cells.values()
        )
    assert set(
        re.findall(r"M\d", " ".join(cell for cells in CELLS for row in cells.values() for cell in row.values()))
    ) == set(DRAWN)


def test_every_cell_of_the_tables_is_true_on_random_maps():
    refuted = Counter()
    for terrain, row, column, cell, is_true, where in sweep(range(MAPS)):
        if cell.startswith("no"):
            refuted[terrain, row, column] += not is_true
        else:
            assert is_true, f"{row}, {column}, {terrain}: the table says {cell}, and map {where} says otherwise"
    if FULL:
        assert min(refuted.values()) > 0, [cell for cell, count in refuted.items() if not count]


REFUTED = [
    (table, row, column, cell.removeprefix("no: "))
    for table, cells in enumerate(CELLS)
    for row, line in cells.items()
    for column, cell in line.items()
    if cell.startswith("no")
]


@pytest.mark.parametrize(("table", "row", "column", "name"), REFUTED)
def test_a_refuted_cell_names_a_map_that_refutes_it(table, row, column, name):
    grid, (text, several) = drawn(DRAWN[name]), column
    assert (max(len(cells) for letter, cells in grid.objects.items() if letter in text) > 1) == several
    assert ("X" in "".join(DRAWN[name])) == (table == 1)
    assert not is_safe(build(row, text, grid, "manhattan", 0.9), 0.9)
    if CELLS[0][row][column].startswith("T"):
        assert is_safe(build(row, text, grid, "geodesic", 0.9), 0.9)


def test_advice_says_what_the_tables_say_and_its_limits_are_on_the_safe_side():
    for number in range(either(400, 12)):
        grid, walled, several, texts = random_map(number)
        gamma, column = GAMMAS[number % 3], list(TASKS)[number // 4 % 3]
        for metric in ("manhattan", "geodesic"):
            advice = advise(grid, texts[column], gamma, metric=metric)
            for row in advice.kinds:
                assert not row.theorem or row.verdict == "shortest", row
                assert row.is_safe == (row.verdict == "shortest") and (row.q_init is not None) == row.is_safe
                if row.theorem_reward is not None:
                    assert row.critical_reward <= row.theorem_reward + 1e-9 * abs(row.theorem_reward)
                if row.theorem_step_reward is not None:
                    assert row.critical_step_reward >= row.theorem_step_reward * (1 - 1e-9)
            assert (
                advice.recommended.theorem
                and guarantee(compile(grid, advice.recommended.machine, metric=metric), gamma).is_shortest
            )
            if metric == "geodesic" or not walled:
                cells = {row: line[column, several] for row, line in CELLS[0].items()}
                said = {row.name: row.theorem or row.verdict for row in advice.kinds}
                for kind in ("boolean", "offset", "potential", "local-potential", "distance-to-go"):
                    assert said[kind] == cells[kind]
                assert said["numeric"] in ("T2", "T4", "shortest") or advice.kinds[2].critical_reward > 0
                nearest, nears_any = (
                    cells[row] for row in cells if row.startswith("numeric-boolean, ") and "$r <" in row
                )
                assert said["numeric-boolean"] == (
                    nearest if nearest == "T1a" else "shortest" if several else nears_any
                )
