"""Which rewards are safe for a task on a map, by theorem and by proof on this map; and a machine to begin with.

A reward is *safe* if every optimal policy takes a shortest path. With L the fewest steps, gamma the discount, R the
reward for completing the task and r that for a step towards a target, these hold (docs/explanation/theory.md has the
proofs; distances count steps if no wall makes a way longer than they say):

- T1a: numeric-boolean, r < R (1 - gamma^2) / gamma: distances that count steps, and targets in turn with one object of
  each type, or one target.
- T1b: numeric-boolean, r < R (1 - gamma): distances that count steps, targets in turn or in any order, and one object
  of each type or ``closer="any"``.
- T2: numeric with one target, offset, distance-to-go: R > -1 / (1 - gamma), or R >= 0 if the task can fail; the first
  two need distances that count steps.
- T3: boolean and potentials, R > 0.
- T4: numeric, R > C / (gamma^(L-1) (1 - gamma)), C being what a shortest path costs before its last move.
- T5: initial values that are at least the largest true value never lock QRM and CRM in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from itertools import pairwise
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import numpy as np

from fastrm.config import LearnerConfig, Profile
from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError, FastrmError, shown
from fastrm.exact.tabular import TabularSolution
from fastrm.exact.values import check_gamma, follow, highest_action, refuse_slip, value_range_of_tables
from fastrm.exact.verdicts import TabularGuarantee, guarantee_tables
from fastrm.machines import KINDS, PAPER_KINDS, Kind, PaymentSettings, RewardMachine, task as read_task
from fastrm.machines.language import Agenda, Feature, constant, leaves
from fastrm.problems import Metric, Problem, Start, TabularProblem, compile, compile_on, direct_actions, unsupported
from fastrm.worlds import GridMap, TableWorld

_SETTINGS: dict[Kind, PaymentSettings] = {"offset": {"offset": "legs"}}
"""What differs from the defaults of a kind: an offset of the exact ways is the smallest that is safe."""
_RECOMMENDED: tuple[Kind, ...] = ("offset", "local-potential", "potential", "boolean")
"""In this order: the first two guide and read no more than distances, and the first is faster to learn."""
_YOURS = "yours"
_CLOSER: tuple[Literal["nearest", "any"], ...] = ("nearest", "any")
_WIDTH = 100


@dataclass(frozen=True)
class KindAdvice:
    """What is known about a task in one kind of reward."""

    name: str
    """The kind; ``yours`` for a machine that pays otherwise than all of them by default."""
    machine: RewardMachine | None = field(repr=False)
    """The machine in this kind, None where the kind is refused."""
    verdict: str
    """As of `guarantee` on this map; ``refused`` where the kind is not for the task or the map."""
    is_safe: bool
    """Whether all optimal policies take shortest paths on this map."""
    theorem: str = ""
    """The theorem by which it is, ``T1a`` to ``T4``; empty where none says so."""
    reason: str = ""
    """Why the kind is refused."""
    terminal_reward: float | None = None
    """R, where it is one number."""
    critical_reward: float | None = None
    """R*: on this map every larger R is safe."""
    theorem_reward: float | None = None
    """Every larger R is safe by theorem."""
    step_reward: float | None = None
    """r, where steps towards a target pay one."""
    critical_step_reward: float | None = None
    """r*: on this map every smaller r is safe."""
    theorem_step_reward: float | None = None
    """Every smaller r is safe by theorem."""
    q_init: float | None = None
    """The largest true value: from such initial values on, QRM and CRM are not locked in (T5). None if not safe."""


@dataclass(frozen=True, repr=False)
class Advice:
    """What `advise` found; printed, it is one screen in plain words."""

    task: str
    source: str
    """The map."""
    gamma: float
    shortest: float
    """Fewest steps that complete the task."""
    walls_matter: bool
    """Whether walls make ways to targets longer than their distance says; some theorems need that they do not."""
    kinds: tuple[KindAdvice, ...]
    """A row per kind, and first one for a machine of another sort, if it was given."""
    recommended: KindAdvice
    """A row that is safe by theorem; one that guides and reads no more than distances, where there is one."""
    why: str
    """What makes it safe."""

    def __repr__(self) -> str:
        return "\n".join(_screen(self))


@by_kind
def advise(
    problem: Problem | GridMap | TableWorld,
    task: str | RewardMachine | None = None,
    gamma: float = 0.9,
    *,
    metric: Metric = "manhattan",
    profile: str | Profile = "clean",
    start: Start = None,
    machine: int = 0,
) -> Advice:
    """Say which kinds of reward are safe for a task on a map, and recommend a machine.

    Parameters
    ----------
    problem : Problem, GridMap or TableWorld
        What `fastrm.compile` made of a map and a machine; or the map, and the task beside it.
    task : str or RewardMachine, optional
        The task, such as ``a-b-c``, where the first argument is a map.
    gamma : float
        Discount factor, above 0 and below 1.
    metric, profile, start
        As for `fastrm.compile`, where the first argument is a map.
    machine : int
        Which machine of the problem.

    Raises
    ------
    ConfigError
        When moves are left to chance, or an argument does not fit.
    MachineError
        When more than the label of a move changes the state of the machine.

    Examples
    --------
    >>> import fastrm
    >>> advice = advise(fastrm.GridMap.generate("1a1b", size=9, seed=1), "a-b")
    >>> [(row.name, row.is_safe, row.theorem) for row in advice.kinds[:4]]
    [('boolean', True, 'T3'), ('numeric-boolean', True, 'T1a'), ('numeric', True, 'T4'), ('offset', True, 'T2')]
    >>> advice.recommended.name, advice.recommended.q_init
    ('offset', 0.0)
    """
    raise unsupported(problem)


@add_row(advise, GridMap, TableWorld)
def advise_on_map(
    grid: GridMap | TableWorld,
    task: str | RewardMachine | None = None,
    gamma: float = 0.9,
    *,
    machine: int = 0,
    **settings: Any,
) -> Advice:
    """Advise on a map and a task."""
    if task is None:
        raise ConfigError("advise(grid): needs a task beside the map, such as advise(grid, 'a-b-c')")
    given = read_task(task) if isinstance(task, str) else task
    return advise_on_tables(compile(grid, given, **settings), gamma=gamma, machine=machine)


@add_row(advise, TabularProblem)
def advise_on_tables(
    problem: TabularProblem, task: None = None, gamma: float = 0.9, *, machine: int = 0, **settings: Any
) -> Advice:
    """Advise on one machine of a problem."""
    for name, given in {"task": task, **settings}.items():
        if given is not None:
            raise ConfigError(f"{name}={shown(given)}: goes with a map; the problem has its own")
    check_gamma(gamma)
    if not 0 < gamma < 1:
        raise ConfigError(f"gamma={gamma:g}: advice needs a gamma above 0 and below 1")
    refuse_slip(problem, "advice")
    verdict = guarantee_tables(problem, gamma, machine)
    given = problem.machines[machine]
    agenda = given.in_kind("boolean").agenda  # or there is an error
    rows = [_row(kind, problem, given, agenda, gamma) for kind in KINDS]
    if all(row.machine is None or not _pay_the_same(row.machine, given) for row in rows):
        rows.insert(0, _judge(_YOURS, verdict, _kind_of(given), agenda))
    by_theorem = {row.name: row for row in rows if row.theorem}
    best = next(by_theorem[kind] for kind in _RECOMMENDED if kind in by_theorem)
    assert best.machine is not None
    name = best.machine.name.removesuffix(best.name).strip() or given.source
    targets = () if agenda is None else agenda.targets
    walls_matter = problem.terrain.is_map and not all(map(problem.terrain.counts_steps, targets))
    shortest = problem.shortest[machine]
    return Advice(name, problem.source, gamma, shortest, walls_matter, tuple(rows), best, _WHY[best.theorem])


_WHY = {
    "T2": "on every map with one object of each type, open or with distances around walls, for every gamma below 1",
    "T3": "on every map, whatever its walls and objects, for every gamma below 1",
}


def _pay_the_same(machine: RewardMachine, other: RewardMachine) -> bool:
    """Return whether two machines of the same states have equal edges and potentials, in whatever order."""
    return (set(machine.edges), machine.potential, set(machine.state_potentials)) == (
        {*other.edges}, other.potential, {*other.state_potentials},
    )  # fmt: skip


def _kind_of(machine: RewardMachine) -> Kind | None:
    """Return which of the paper's kinds a machine is in, with whatever R and r."""
    terminal, step = _only(machine, success=True), _only(machine, success=False)
    paid: PaymentSettings = {"terminal_reward": terminal, "step_reward": 0.1 if step is None else step}
    for kind in PAPER_KINDS:
        for closer in _CLOSER:
            paid["closer"] = closer
            with suppress(FastrmError):  # a kind may be none for its task
                if _pay_the_same(machine.in_kind(kind, **paid), machine):
                    return kind
    return None


def _row(kind: Kind, problem: TabularProblem, given: RewardMachine, agenda: Agenda | None, gamma: float) -> KindAdvice:
    """Judge the task of a machine in one kind."""
    try:
        machine = given.in_kind(kind, **_SETTINGS.get(kind, {}))
        built = compile_on(problem.terrain, (machine,), problem.profile)
    except FastrmError as refusal:
        return KindAdvice(kind, None, "refused", False, reason=re.sub("^<[^>]*>: ", "", str(refusal)))
    return _judge(kind, guarantee_tables(built, gamma), kind, agenda)


def _judge(name: str, verdict: TabularGuarantee, kind: Kind | None, agenda: Agenda | None) -> KindAdvice:
    """Put together what is known about a machine; theorems are about the kinds."""
    solution = verdict.solution
    machine, gamma = solution.problem.machines[solution.machine], solution.gamma
    paid = _only(machine, success=True), _only(machine, success=False) if kind == "numeric-boolean" else None
    proof = _Proof() if kind is None or paid[0] is None else _prove(kind, solution, agenda, paid[0], paid[1])
    safe = verdict.is_shortest or proof.theorem != ""
    return KindAdvice(
        name, machine, verdict.verdict, safe, proof.theorem,
        terminal_reward=paid[0], critical_reward=verdict.critical_reward, theorem_reward=proof.least,
        step_reward=paid[1], critical_step_reward=None if paid[1] is None else verdict.critical_step_reward,
        theorem_step_reward=proof.most,
        q_init=value_range_of_tables(solution.problem, gamma)[1] + 0.0 if safe else None,
    )  # fmt: skip


def _only(machine: RewardMachine, success: bool) -> float | None:
    """Return what all edges to a success pay, or all others that pay anything; None unless it is one number."""
    paid = {constant(edge.reward) for edge in machine.edges if (edge.target in machine.success) == success}
    paid -= set() if success else {0.0}
    return paid.pop() if len(paid) == 1 else None


class _Proof(NamedTuple):
    """The theorem that makes a machine safe, the R above which it does, and the r below which it does."""

    theorem: str = ""
    least: float | None = None
    most: float | None = None


def _prove(kind: Kind, solution: TabularSolution, agenda: Agenda | None, terminal: float, step: float | None) -> _Proof:
    """Return what theorems say about a machine of a kind that pays `terminal` and `step`."""
    problem, gamma = solution.problem, solution.gamma
    machine, terrain = problem.machines[solution.machine], problem.terrain
    if kind in ("boolean", "potential", "local-potential"):
        return _Proof("T3" if terminal > 0 else "", 0.0)
    targets = () if agenda is None else agenda.targets
    counts_steps = bool(targets) and all(map(terrain.counts_steps, targets))
    if counts_steps and np.sum([terrain.holds(x) for x in set(targets)], axis=0).max() > 1:
        counts_steps = False  # two targets in a cell are two visits, no step apart
    if kind == "distance-to-go" or (counts_steps and (kind == "offset" or (kind == "numeric" and len(targets) == 1))):
        least = 0.0 if machine.failure else -1 / (1 - gamma)
        return _Proof("T2" if terminal > least or terminal == 0 else "", least)
    if kind == "numeric":
        least = _enough_for_distances(solution)
        return _Proof("T4" if terminal > least else "", least)
    if agenda is None or step is None or step < 0 or not counts_steps:
        return _Proof()
    in_turn = all(needs == 2**i - 1 for i, needs in enumerate(agenda.needs))
    if not (in_turn and all(x != y for x, y in pairwise(targets))) and len(set(targets)) < len(targets):
        return _Proof()
    single = all(terrain.places(x) == 1 for x in targets)
    read = {leaf for edge in machine.edges for leaf in leaves(edge.guard)}
    nears_any = not single and any(isinstance(leaf, Feature) and leaf.function == "closer_any" for leaf in read)
    if not nears_any and (len(targets) == 1 or (in_turn and single)):
        theorem, share = "T1a", (1 - gamma**2) / gamma
    elif single or nears_any:
        theorem, share = "T1b", 1 - gamma
    else:
        return _Proof()
    return _Proof(theorem if step < terminal * share else "", step / share, terminal * share)


def _enough_for_distances(solution: TabularSolution) -> float:
    """Return C / (gamma^(L-1) (1 - gamma)) of T4, for a shortest path from every start; the largest."""
    problem, gamma = solution.problem, solution.gamma
    direct = highest_action(direct_actions(problem.tables, problem.steps_to_go))
    found = 0.0
    for start in problem.tables.starts.tolist():
        pairs = follow(problem, direct, (start, solution.first_u))[0]
        paid = [problem.step(s, u, int(direct[s, u])).reward for s, u in pairs[:-2]]  # the last move pays R
        paid_late = gamma ** (len(pairs) - 2) * (1 - gamma)
        cost = -sum(gamma**t * reward for t, reward in enumerate(paid))
        found = max(found, cost / paid_late if paid_late else math.inf)
    return found


_HEADS = ("kind", "safe?", "R", "safe above", "r", "safe below", "q_init from")
_SHORT = {"shortest for some optimal policies only": "some go further"}
_LONGEST_MACHINE = 20
_INTRODUCTION = (
    "A reward is safe if every optimal policy takes a shortest path. 'every such map' is a theorem, 'this map' is "
    "proved for this map alone. R is paid for completing the task, r for a step towards a target. Their limits are "
    "exact for this map; those in brackets come from a theorem."
)
_AROUND = (
    "Walls make some ways longer than rows plus columns say. With the metric geodesic, distances go around walls, and "
    "more kinds are safe."
)


def _screen(advice: Advice) -> Iterator[str]:
    """Yield the lines of an advice."""
    yield f"{advice.task} on {advice.source}: shortest path {advice.shortest:g} steps, gamma {advice.gamma:g}"
    yield ""
    yield from wrap(_INTRODUCTION, _WIDTH)
    yield ""
    table = [_HEADS, *map(_cells, advice.kinds)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        texts = (
            f"{text:{'<' if i < 2 else '>'}{width}}" for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(texts).rstrip()
    yield ""
    default, best = float(LearnerConfig().q_init), advice.recommended
    for row in advice.kinds:
        if row.reason:
            yield from wrap(f"{row.name}: {row.reason}", _WIDTH)
    if advice.walls_matter:
        yield from wrap(_AROUND, _WIDTH)
    yield from wrap(
        "q_init: from these initial values on, QRM and CRM cannot stay on a longer route (T5). The default is "
        f"{default:g}; * marks where it is too low. T1a to T5 are proved in docs/explanation/theory.md.", _WIDTH
    )  # fmt: skip
    yield ""
    assert best.machine is not None and best.q_init is not None
    learn = f"the default q_init of {default:g} will do"
    if best.q_init > default:
        learn = f"give q_init={_number(best.q_init, ROUND_CEILING)}"
    yield from wrap(
        f"Recommended: {best.name}. It is safe {advice.why} ({best.theorem}). To learn it, {learn}.", _WIDTH
    )
    yield f"{_in_python(advice)}As a file, such as safe.rm:"
    yield ""
    lines = best.machine.write().splitlines()
    yield from lines[:_LONGEST_MACHINE]
    if len(lines) > _LONGEST_MACHINE:
        yield f"... and {len(lines) - _LONGEST_MACHINE} lines more: print(advice.recommended.machine) shows all"


def _in_python(advice: Advice) -> str:
    """Return how to make the recommended machine from the text of its task, if it has one."""
    kind = advice.recommended.name
    settings = _SETTINGS.get(kind, {})  # type: ignore[call-overload]
    try:
        if read_task(advice.task, kind=kind, **settings) != advice.recommended.machine:  # type: ignore[arg-type]
            return ""
    except FastrmError:
        return ""
    given = "".join(f", {name}={value!r}" for name, value in settings.items())
    return f"In Python: fastrm.task({advice.task!r}, kind={kind!r}{given}). "


def _cells(row: KindAdvice) -> tuple[str, ...]:
    """Return the texts of a row."""
    if row.machine is None:
        return (row.name, "refused", *[""] * 5)
    safe = f"NO: {_SHORT.get(row.verdict, row.verdict)}"
    if row.is_safe:
        where = "this map" if row.theorem in ("", "T4") else "every such map"  # the bound of T4 is the map's
        safe = f"{where} ({row.theorem})" if row.theorem else where
    low = row.q_init is not None and row.q_init > float(LearnerConfig().q_init)
    return (
        row.name,
        safe,
        _number(row.terminal_reward),
        _limit(row.critical_reward, row.theorem_reward, ROUND_CEILING),
        _number(row.step_reward),
        _limit(row.critical_step_reward, row.theorem_step_reward, ROUND_FLOOR),
        "-" if row.q_init is None else _number(row.q_init, ROUND_CEILING) + "*" * low,
    )


def _limit(here: float | None, everywhere: float | None, rounding: str) -> str:
    """Write the limit on this map, and that of a theorem in brackets, rounded to the safe side."""
    return (
        _number(here, rounding)
        if everywhere is None
        else f"{_number(here, rounding)} [{_number(everywhere, rounding)}]"
    )


def _number(value: float | None, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a number in four digits.

    >>> _number(211.11, ROUND_CEILING), _number(1e5), _number(-math.inf), _number(1.5e12)
    ('211.2', '100,000', 'any', '1.5e+12')
    """
    if value is None or math.isinf(value):
        return "-" if value is None else "any" if (value < 0) == (rounding != ROUND_FLOOR) else "none"
    short = Context(prec=4, rounding=rounding).create_decimal(repr(value + 0.0)).normalize()
    return f"{short:,f}" if short == 0 or 1e-4 <= abs(short) < 1e9 else f"{float(short):g}"
