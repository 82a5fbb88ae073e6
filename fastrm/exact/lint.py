"""A linter for machines, everything that is wrong or suspicious, not only the first thing; and `check` on tables."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fastrm.config import LearnerConfig, Profile
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, FastrmError, place, shown
from fastrm.exact.answers import Check, Finding, check, optimal_arps
from fastrm.exact.tabular import TabularSolution, solve_rewards
from fastrm.exact.values import check_gamma, follow
from fastrm.exact.verdicts import TabularGuarantee, guarantee_tables
from fastrm.kernels.contracts import LIVE
from fastrm.machines import RewardMachine, structural_faults
from fastrm.machines.language import Draft, as_written
from fastrm.problems import (
    Metric,
    TableEvaluator,
    TabularProblem,
    Terrain,
    check_features,
    compile,
    find_events,
    leaves_read,
    survey,
)
from fastrm.worlds import GridMap, TableWorld


def lint(
    machine: Draft,
    grid: GridMap | TableWorld | None = None,
    gamma: float = 0.9,
    profile: str | Profile = "clean",
    metric: Metric = "manhattan",
) -> list[Finding]:
    """Report what is wrong with a machine, by itself or on a map.

    By itself: unreachable and dead states, missing terminals. On a map: overlapping edges and gaps of every state,
    tasks that cannot be completed, rewards that can be farmed for ever, and procrastination, where an optimal policy
    hovers because finishing is worse. With the switch ``failure_options`` of the profile also failures that cost r_max
    or more, because HRM's option to such a failure wanders.

    Parameters
    ----------
    machine : RewardMachine or Draft
        A machine, or what ``fastrm.machines.language.read`` made of a file that is not a sound machine.
    grid : GridMap, optional
        The map.
    gamma : float
        Discount factor, below 1.
    profile : {"clean", "icarte2022"} or Profile
        As for `fastrm.compile`.
    metric : {"manhattan", "geodesic"}
        As for `fastrm.compile`.

    Returns
    -------
    list of Finding
        Empty where nothing was found. Faults of structure or edges end the search.

    Raises
    ------
    ConfigError
        When an argument is no machine, map or discount.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=1)
    >>> numeric = fastrm.RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
    >>> [(finding.kind, finding.state) for finding in lint(numeric, grid)]
    [('procrastination', 'u0')]
    """
    if not isinstance(machine, Draft):
        raise ConfigError(
            f"machine={shown(machine)}: must be a RewardMachine, or what fastrm.machines.language.read made of a file"
        )
    if grid is not None and not isinstance(grid, GridMap | TableWorld):
        raise ConfigError(f"grid={shown(grid)}: must be a GridMap")
    check_gamma(gamma)
    if gamma == 1:
        raise ConfigError("gamma=1: the linter needs a gamma below 1")
    faults = [
        Finding("structure", f"{place(machine.source, line)}{message}") for line, message in structural_faults(machine)
    ]
    if faults or grid is None:
        return faults
    sound = RewardMachine.from_draft(machine)
    sound.refuse_large("lint on a map")
    profile = profile if isinstance(profile, Profile) else Profile.named(profile)
    faults = _edge_faults(sound, survey(grid, metric), profile)
    if faults:
        return faults
    try:
        problem = compile(grid, sound, profile, metric)
    except FastrmError as fault:
        return [Finding("task", str(fault))]
    return reward_findings(guarantee_tables(problem, gamma))


def reward_findings(verdict: TabularGuarantee) -> list[Finding]:
    """Find rewards that lead astray: loops that pay, policies that never finish or fail, options that wander."""
    solution = verdict.solution
    return [*_farming(solution), *_procrastination(verdict), *_wandering(solution.problem, solution.machine)]


def _edge_faults(machine: RewardMachine, terrain: Terrain, profile: Profile) -> list[Finding]:
    """Find overlaps, gaps and rewards that are not finite, state by state."""
    try:
        check_features((machine,), terrain)
        events = find_events(terrain, leaves_read([machine]))
    except FastrmError as fault:
        return [Finding("task", str(fault))]
    to_go = np.zeros((len(terrain.cells), len(machine.states) + len(machine.terminals)))  # whatever they are
    evaluator = TableEvaluator(machine, events, profile, to_go)
    part, findings = evaluator.blank(), []
    for v, edges in enumerate(evaluator.edges_by_state()):
        try:
            evaluator.run_state(part, v, edges)
        except FastrmError as fault:
            findings.append(Finding("edges", str(fault), machine.states[v]))
    return findings


def _farming(solution: TabularSolution) -> list[Finding]:
    """Find a loop that pays: the best policy that never ends an episode, and what its loop earns."""
    problem, gamma, tables = solution.problem, solution.gamma, solution.tables
    ends = tables.outcome != LIVE
    shunned = -1e3 * (float(np.abs(problem.plain).max()) + 1.0) / (1.0 - gamma)
    reward = np.where(ends, shunned, problem.plain)
    written = problem.written

    def paid(event: int, u: int) -> Fraction:
        return as_written(shunned) if ends[event, u] else written(event, u)

    policy = solve_rewards(problem, reward, gamma, solution.machine, paid).policy
    for start in tables.starts.tolist():
        path, loop, _ = follow(problem, policy, (start, solution.first_u))
        earned = sum(written(int(tables.event[s, policy[s, u]]), u) for s, u in path[loop:]) if loop is not None else 0
        if earned > 0:
            break
    else:
        return []
    round_trip = [*path[loop:], path[loop or 0]]
    state = problem.states[round_trip[0][1]][1]
    cells = problem.terrain.cells_of([s for s, _ in round_trip])
    return [
        Finding(
            "farming",
            f"state {state} can be farmed for ever: the loop {_trail(cells)} earns {float(earned):g} every "
            f"{len(cells) - 1} step{'s' if len(cells) > 2 else ''}",
            state,
            is_error=False,
        )
    ]


def _procrastination(verdict: TabularGuarantee) -> list[Finding]:
    witness = verdict.witness
    if verdict.verdict == "ends in failure":
        said = f"failing is optimal: it returns {witness.optimal_return:.6g}, succeeding {witness.shortest_return:.6g}"
        return [Finding("failure", said, witness.state, is_error=False)]
    if verdict.verdict != "never finishes" or not witness.loop:
        return []
    return [
        Finding(
            "procrastination",
            f"in state {witness.state} an optimal policy hovers for ever ({_trail((*witness.loop, witness.loop[0]))}): "
            f"that returns {witness.optimal_return:.6g}, finishing by a shortest path {witness.shortest_return:.6g}; "
            f"a terminal reward above {verdict.critical_reward:.6g} would make finishing optimal",
            witness.state,
            is_error=False,
        )
    ]


def _wandering(problem: TabularProblem, number: int) -> Iterator[Finding]:
    """Find options of HRM to failures that cost r_max or more, beside other options of their state."""
    machine, profile, r_max = problem.machines[number], problem.profile, LearnerConfig().r_max
    if not profile.failure_options:
        return
    for column, (owner, name) in enumerate(problem.states):
        goals = {edge.target for edge in machine.edges if owner == number and edge.source == name} - {name}
        if goals <= set(machine.failure):
            continue  # there is nothing else that HRM could do
        ending = problem.ending[:, column]
        failures = [(goal, ending == 1 + machine.terminals.index(goal)) for goal in machine.failure if goal in goals]
        if profile.merge_terminals and failures:  # one option to all ends; it wanders if none is a success
            failures = [] if goals & set(machine.success) else [("the end", ending != 0)]
        for goal, moves in failures:
            best = float(problem.tables.reward[moves, column].max(initial=-np.inf))
            if -np.inf < best <= -r_max:
                message = (
                    f"in state {name} HRM's option to {goal} earns {best:g} + r_max {r_max:g} for failing: it wanders, "
                    f"and HRM may prefer that; pay more than {-r_max:g}, or leave out the switch failure_options"
                )
                yield Finding("option", message, name, is_error=False)


def _trail(cells: tuple[tuple[int, int], ...]) -> str:
    shown = [str(cell).replace(" ", "") for cell in cells]  # numbers in a world without a layout
    return " ".join(shown if len(shown) <= 8 else [*shown[:4], "...", *shown[-2:]])


@add_row(check, TabularProblem)
def check_tables(problem: TabularProblem, gamma: float = 0.9, machine: int = 0) -> Check:
    """Report on a machine on a map or a table."""
    verdict = guarantee_tables(problem, gamma, machine)
    findings = tuple(reward_findings(verdict)) if gamma < 1 else ()
    return Check(verdict, optimal_arps(problem, gamma)[machine], findings)
