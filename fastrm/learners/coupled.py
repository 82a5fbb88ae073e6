"""Coupled: one column of values for every object to stand on, and a plan over what is left of the agenda.

After every step from s by a to s' one update for each column k, whether or not it is on the agenda::

    q(s, a, k) <- q(s, a, k) + alpha (target - q(s, a, k))      target = 1 if the object of k was read,
                                                                else gamma max_b q(s', b, k)

The agent pursues the column that the best order of what is left begins with, by the values of the legs between the
cells where columns were completed last (see `kernels.exact.plans`). So n columns serve all 2^n sets of what may be
left. Laid out ``q[run, s, a, k]``, as CRM's table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError, shown
from fastrm.kernels.contracts import BLOCK, NOTHING, Columns, Draft, Pursuit, Setting, Span, State, Tour
from fastrm.kernels.exact import plans
from fastrm.kernels.learners import coupled
from fastrm.learners.crm import by_column, columns_of, width_of
from fastrm.learners.registry import Values, View
from fastrm.machines.language import Agenda
from fastrm.problems import MOST_PLANNED, CellProblem, Per, Terrain, objects_of_columns, stages_at, tabulate_columns


class Coupled:
    """Columns for the stages of a task, and an agenda."""

    name = "coupled"
    semantics = 1
    per_state = False
    kinds = ("boolean",)
    """Kinds of machine that it learns, and none that is shaped; learners that do not say so learn all."""
    settings = ("alpha", "q_init", "plan", "per")

    def begin(self, problem: CellProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values, and agendas that are put up when the first episode begins."""
        agenda = agenda_of(problem)
        if reward is not problem.tables.reward:
            raise ConfigError("coupled: learns from what completes a stage, not from rewards that could be shaped")
        columns = tabulate_columns(problem.terrain, agenda, config.per, is_planned(agenda, config))
        n_k, n_cols = len(columns.stage), columns.reward.shape[1]
        choice, draft, leg = _room_for_plans(columns, n)
        pursuit = Pursuit(
            columns=columns,
            left=np.zeros(n, dtype=np.uint64),
            last=np.zeros(n, dtype=np.uint64),
            cell=np.full((n, n_k + 1), NOTHING),
            leg=leg,
            choice=choice,
            plans=np.zeros(n, dtype=np.int64),
            draft=draft,
            gamma=float(config.gamma),
            width=width_of(n_cols),
        )
        return columns_of(problem, float(config.q_init), n, n_k, n_cols), pursuit

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        coupled.run(setting, state, span)

    def values(self, problem: CellProblem, state: State, i: int) -> Values:
        """Return run i's columns, the cells where they were completed last, and how often it planned.

        A cell is -1 where it is not known; ``stage`` is the stage of every column. No ``plans`` means: the nearest.
        """
        own: Pursuit = state.own
        more = {"cell": own.cell[i, :-1].astype(np.int64), "stage": own.columns.stage.astype(np.int64)}
        if len(own.columns.sets):
            more |= {"plans": own.plans[i].copy(), "gamma": np.array(own.gamma)}
        return Values(self.view(problem, state).q[i].copy(), more)

    def view(self, problem: CellProblem, state: State) -> View:
        """Return the columns, and what plans are made by."""
        own: Pursuit = state.own
        strides = tuple(np.uint64(state.q.strides[axis] // state.q.itemsize) for axis in (1, 3, 2))
        scratch = np.zeros_like(own.choice[0]), np.zeros_like(own.leg[0]), np.zeros_like(own.cell[0])
        tour = Tour(own, state.q.reshape(len(state.q), -1), strides, scratch)
        return View(by_column(problem, state.q, len(own.columns.stage)), tour=tour)

    def put(self, problem: CellProblem, state: State, i: int, values: Values) -> None:
        """Begin with columns that were learned, and the cells where they were completed."""
        own: Pursuit = state.own
        check_cells("warm_start", values.more["cell"], own.cell.shape[1] - 1, len(problem.terrain.cells))
        self.view(problem, state).q[i] = values.q
        own.cell[i, :-1], own.plans[i] = values.more["cell"], values.more.get("plans", 0)

    def actor(self, problem: CellProblem, run: Any) -> TourActor:
        """Return the greedy policy of a run."""
        return TourActor(problem, run.q, run.more)

    def follow(self, problem: CellProblem, values: Values, s: int, u: int, path: Array) -> tuple[int, int]:
        """Follow the best action of the column pursued, by a plan of the values as they are now."""
        agenda = agenda_of(problem)
        per: Per = "type" if len(values.more["stage"]) == len(agenda.targets) else "object"
        return follow_columns(problem.terrain, agenda, values, per, s, path)


class TourActor:
    """The greedy policy of a run: the best action of the column pursued, by a plan from where it is asked first.

    `memory` is what it keeps along an episode: what is left, the column that left last, and the choices of the plan.
    """

    def __init__(self, problem: CellProblem, q: Array, more: Mapping[str, Array]) -> None:
        agenda = agenda_of(problem)
        per: Per = "type" if len(more["stage"]) == len(agenda.targets) else "object"
        self.columns = tabulate_columns(problem.terrain, agenda, per, "plans" in more)
        self.q, self.more, self.agenda, self.done_at = q, more, agenda, stages_at(problem.terrain, agenda)
        self.left_in = [problem.machines[0].stages_left[name] for _, name in problem.states]
        self.reads = [np.append(cells, -1) for _, cells in objects_of_columns(problem.terrain, agenda, per)]

    def __call__(self, place: tuple[int, ...], memory: dict[str, Any]) -> Array:
        """Return the values of all actions in a cell, with what is left or a machine state."""
        s = place[0]
        before = memory.get("left", 0)
        if not before:
            self._plan(s, self.left_in[place[1]] if self.left_in else place[1], memory)
        elif (left := self.agenda.without(before, self.done_at[s])) != before:
            gone = before & ~left
            done = [k for k, i in enumerate(self.columns.stage.tolist()) if gone >> i & 1 and s in self.reads[k]]
            memory |= {"left": left, "last": done[0]}
        if memory["left"] != before:
            numbers = (np.uint64(number) for number in (memory["left"], memory["last"], s))
            memory["column"] = plans.pursue_next(self.columns, self.q, memory["choice"], *numbers)
        values: Array = self.q[s, int(memory["column"])]
        return values

    def _plan(self, s: int, left: int, memory: dict[str, Any]) -> None:
        """Plan from a cell."""
        choice, draft, leg = _room_for_plans(self.columns, 1)
        cell = np.append(self.more["cell"], s).astype(np.uint64)
        plans.plan_tour(self.columns, self.q, float(self.more.get("gamma", 1.0)), cell, (choice[0], draft, leg[0]))
        memory |= {"left": left, "last": len(self.columns.stage), "choice": choice[0]}


def follow_columns(terrain: Terrain, agenda: Agenda, values: Values, per: Per, s: int, path: Array) -> tuple[int, int]:
    """Follow the columns of an agenda from cell s; return length and outcome. `path` is overwritten."""
    columns = tabulate_columns(terrain, agenda, per, "plans" in values.more)
    choice, draft, leg = _room_for_plans(columns, 1)
    cell = np.append(values.more["cell"], s).astype(np.uint64)
    gamma = float(values.more.get("gamma", 1.0))
    length, outcome = plans.follow(columns, s, values.q, gamma, cell, (choice[0], draft, leg[0]), path)
    return int(length), int(outcome)


def check_cells(what: str, cells: object, n_k: int, n_s: int) -> None:
    """Raise ConfigError unless `cells` has a cell for each of n_k columns, -1 where it is not known."""
    if not (
        isinstance(cells, np.ndarray)
        and cells.dtype.kind in "iu"
        and cells.shape == (n_k,)
        and ((cells >= -1) & (cells < n_s)).all()
    ):
        raise ConfigError(f"{what}: cell: must be numbers of cells, or -1, for {n_k} columns, not {shown(cells)}")


def is_planned(agenda: Agenda, config: LearnerConfig) -> bool:
    """Return whether all orders are weighed.

    Raises
    ------
    ConfigError
        When there are too many.
    """
    n = len(agenda.targets)
    if config.plan == "exact" and n > MOST_PLANNED:
        raise ConfigError(f"plan='exact': weighs all orders of up to {MOST_PLANNED} stages, and this task has {n}")
    return config.plan == "exact" or (config.plan == "auto" and n <= MOST_PLANNED)


def agenda_of(problem: CellProblem) -> Agenda:
    """Return the agenda of the task of a problem.

    Raises
    ------
    ConfigError
        When it has several tasks, or one that is no agenda.
    """
    if len(problem.machines) != 1:
        raise ConfigError(f"coupled: learns one task, and this problem has {len(problem.machines)}")
    machine = problem.machines[0]
    if not problem.terrain.is_map:
        raise ConfigError(f"coupled: learns on maps, and {problem.source} is a world of another shape")
    agenda = machine.agenda
    if agenda is None:
        raise ConfigError(
            f"coupled: {machine.name or machine.source} is not known to be an agenda; take a task of visits in turn "
            "and in any order, such as {a,b}-c"
        )
    if not machine.pays_at_the_end:
        raise ConfigError(f"coupled: {machine.name or machine.source} must pay 1 at its end, and nothing before")
    return agenda


def _room_for_plans(columns: Columns, n: int) -> tuple[Array, Draft, Array]:
    """Return arrays for the choices, the draft and the legs of plans of n runs; hardly any where none is made."""
    n_k, n_sets = len(columns.stage), 1 << len(columns.needs) if len(columns.sets) else 1
    n_last = (n_k + BLOCK) // BLOCK * BLOCK
    choice = np.zeros((n, n_sets * n_last), dtype=np.uint8)
    draft = Draft(np.zeros(n_sets * n_last), np.zeros(n_k), np.zeros(n_k, dtype=np.uint64))
    return choice, draft, np.full((n, n_k * n_last), math.nan)
