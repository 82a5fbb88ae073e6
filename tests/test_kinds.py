"""No consumer asks what kind of problem or world it was given: a verb that differs by kind has a row per kind.

A kind may be named where rows are entered (`fastrm.dispatch`), in annotations, and in its own room. Places that ask for
it, by `isinstance`, `issubclass`, ``type(x) is``, ``case Kind()`` or the word of `Problem.kind`, are listed here.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KINDS = {
    "TabularProblem", "PointProblem", "WaterProblem", "AgendaProblem", "CellProblem", "GridMap", "TableWorld",
    "WaterWorld", "PointMass",
}  # fmt: skip
WORDS = {"water", "tabular", "agenda"}
"""What `Problem.kind` says."""
HOMES = ("fastrm/problems/", "fastrm/worlds/")
ALLOWED = {
    ("fastrm/machines/tasks.py", "GridMap"): "checks an argument for its type, and refuses all others",
    ("fastrm/exact/verdicts.py", "GridMap"): "checks an argument for its type, and refuses all others",
    ("fastrm/exact/verdicts.py", "TableWorld"): "checks an argument for its type, and refuses all others",
    ("fastrm/exact/verdicts.py", "PointMass"): "checks an argument for its type, and refuses all others",
    ("fastrm/learners/linear.py", "WaterProblem"): "a row of Water world; the run it is given may be of another kind",
    ("fastrm/learners/registry.py", "tabular"): "where the words are read: which learners a kind has",
    ("fastrm/learners/registry.py", "water"): "where the words are read: which learners a kind has",
    ("fastrm/experiments/plan.py", "water"): "a plan has texts of worlds, and what files hold differs on Water world",
    ("fastrm/experiments/replaying.py", "tabular"): "how files spell the semantics of a learner on a kind",
}
"""Places that may ask, and why."""


def names_in(node):
    """Yield the last parts of the names in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def questions(tree):
    """Yield the kinds that a module asks for, with their lines."""
    for node in ast.walk(tree):
        asked = []
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = [name for argument in node.args[1:] for name in names_in(argument)]
        elif isinstance(node, ast.MatchClass):
            asked = list(names_in(node.cls))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            told = [part for side in sides for part in names_in(side)]
            if "type" in told or "__class__" in told or "__name__" in told:
                asked = told
            if any(name in ("kind", "kinds") for name in told):
                parts = [part for side in sides for part in ast.walk(side)]
                asked = [part.value for part in parts if isinstance(part, ast.Constant) and part.value in WORDS]
        yield from ((name, node.lineno) for name in asked if name in KINDS | WORDS)


def asked():
    """Return the places, as file and kind, that ask, each with its lines."""
    found = {}
    for folder in ("fastrm", "bench"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if not where.startswith(HOMES):
                for name, line in questions(ast.parse(path.read_text())):
                    found.setdefault((where, name), []).append(line)
    return found


def test_no_consumer_asks_for_a_kind():
    new = [
        f"{where}:{lines[0]} asks for {name}"
        for (where, name), lines in asked().items()
        if (where, name) not in ALLOWED
    ]
    assert not new, "\n".join([*new, "enter a row with fastrm.dispatch.add_row, or declare it in fastrm.Problem"])


def test_places_that_ask_no_more_are_taken_off_the_list():
    assert asked().keys() >= ALLOWED.keys()


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(problem, WaterProblem)", "isinstance(x, fastrm.GridMap | TableWorld)", "issubclass(x, CellProblem)",
        "isinstance(x, (int, AgendaProblem))", "type(problem) is TabularProblem", "x.__class__ == WaterWorld",
        "match x:\n    case problems.WaterProblem(): pass", "problem.kind == 'water'", "'agenda' in plan.kinds",
        "if a and not isinstance(b.world, GridMap): pass",
    ],
)  # fmt: skip
def test_every_way_to_ask_is_seen(text):
    assert list(questions(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "add_row(solve, WaterProblem)(solve_water)", "def f(x: WaterProblem) -> GridMap: ...", "isinstance(x, Problem)",
        "GridMap.parse(text)", "kind == 'boolean'", "WaterProblem(world, machines)", "find(name, 'water')",
    ],
)  # fmt: skip
def test_naming_a_kind_is_not_asking(text):
    assert not list(questions(ast.parse(text)))
