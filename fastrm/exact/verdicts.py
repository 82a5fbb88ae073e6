"""Does the reward lead to shortest paths? Verdict, witness, thresholds, and a linter for machines.

Let D(s, u) be the steps to go. With a discount below 1 every policy that always takes an optimal action is optimal, so
all optimal policies take shortest paths from the start if and only if, wherever optimal actions can lead, each of them
lowers D by one. With gamma 1 the same test is applied to the actions that keep the value.

Of several starts the one with the worst verdict counts, and the witness sets out from it.

A path P that succeeds after l steps returns C(P) + gamma^(l-1) R, where R is the terminal reward and C the rest; one
that never succeeds returns C(P). Let L be the shortest length and C_L the largest C of a shortest path. As R grows, no
path gains more than a shortest one, so there is one threshold

    R* = sup over all other paths P of (C(P) - C_L) / (gamma^(L-1) - gamma^(l-1)),

the second power being 0 for paths that never succeed. It is -infinity where every path is a shortest one. From a reward
at which the optimal path is no shortest one, R is raised to where that path ties with the shortest ones, until the
optimal path is a shortest one (Newton's method on a convex, piecewise linear function: it needs a handful of rounds).
Along the paths R is evaluated in rationals.

Where to start: if no reward on the way exceeds M, any two C differ by at most 2 M / (1 - gamma), and the powers differ
by at least gamma^(L-1) (1 - gamma). So wherever there is another path,

    R* >= -2 M / (gamma^(L-1) (1 - gamma)^2).

Most often a reward nearer 0, -M / (1 - gamma), is low enough; it is tried first, for it leaves more digits.

Only the ratio of the terminal reward to all others matters, so the rewards on the way may grow by the factor R / R*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastrm.arrays import Array, read_only
from fastrm.config import LearnerConfig, Profile
from fastrm.dispatch import add_row
from fastrm.errors import ConfigError, FastrmError, place, shown
from fastrm.exact.answers import Check, Finding, Guarantee, Witness, check, guarantee, optimal_arps
from fastrm.exact.tabular import TabularSolution, solve_near, solve_rewards
from fastrm.exact.values import (
    Pair,
    action_mask,
    check_gamma,
    check_request,
    follow,
    path_return,
    refuse_slip,
    value_and_policy,
)
from fastrm.kernels.contracts import FAR, LIVE, SUCCESS
from fastrm.kernels.exact import values
from fastrm.machines import RewardMachine, fold, structural_faults
from fastrm.machines.language import Draft, Truth, as_written, comparisons, constant, values_read, write
from fastrm.problems import (
    Metric,
    TableEvaluator,
    TabularProblem,
    Terrain,
    check_features,
    compile,
    direct_actions,
    distances,
    find_events,
    leaves_read,
    pairs_within_reach,
    survey,
)
from fastrm.worlds import GridMap, PointMass, TableWorld

_ROUNDS = 200
_GRID = 49
_LARGE = 1e307
_NEAR = {0.0: 1e-3, 1.0: 1 - 1e-6}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TabularGuarantee(Guarantee):
    """The verdict on one machine on a map or a table; of several starts that of the worst, ``witness.path[0]``."""

    solution: TabularSolution
    """The optimum that the verdict is about."""
    from_worst: TabularSolution
    """The same, seen from the start with the worst verdict alone."""
    ways: Array
    """A bit per action, [n_s, n_u]: what the optimal policy of the witness may do."""

    @property
    def shortest(self) -> int:
        """Length of a shortest path, from the start with the worst verdict."""
        return int(self.from_worst.shortest)

    @cached_property
    def witness(self) -> Witness:
        """What an optimal policy does, leaving the shortest routes wherever it may, and what a shortest path earns."""
        solution, problem = self.from_worst, self.from_worst.problem
        direct, pair = _direct(solution), (problem.start, solution.first_u)
        trail: dict[Pair, int] = {}
        leaves, state, finished = None, "", False
        while pair not in trail and not finished:
            trail[pair] = len(trail)
            s, u = pair
            allowed, direct_here = int(self.ways[s, u]), int(direct[s, u])
            a = ((allowed & ~direct_here) or allowed).bit_length() - 1
            if leaves is None and not direct_here >> a & 1:
                leaves, state = problem.terrain.cells_of([s])[0], problem.states[u][1]
            taken = problem.step(s, u, a)
            finished, pair = not taken.is_live, (taken.s, taken.u)
        path = problem.terrain.cells_of([s for s, _ in (*trail, *[pair] * finished)])
        if not finished:
            state = problem.states[pair[1]][1]
        best, policy = _best_shortest_paths(problem, solution.reward, solution.gamma)
        first = problem.start, solution.first_u
        return Witness(
            path=path,
            loop=() if finished else path[trail[pair] :],
            state=state,
            leaves_at=leaves,
            shortest_path=problem.terrain.cells_of([s for s, _ in follow(problem, policy, first)[0]]),
            optimal_return=float(solution.value[first]),
            shortest_return=float(best[first]) + solution.offset,
        )

    @cached_property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths."""
        solution = self.solution
        return as_float(critical_reward(solution.problem, solution.gamma, solution.machine))

    @cached_property
    def critical_scale(self) -> float | None:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths."""
        critical, terminal = self.critical_reward, self.terminal_reward
        if terminal is None:
            return None
        if critical > 0:
            return max(terminal, 0.0) / critical
        return math.inf if terminal > critical else None

    @cached_property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        step = self.step_reward
        return None if self.critical_scale is None or step is None or step < 0 else self.critical_scale * step

    @property
    def terminal_reward(self) -> float | None:
        """What all edges into a success pay; None where they differ."""
        return self._only_reward(success=True)

    @property
    def step_reward(self) -> float | None:
        """What all other edges pay that pay anything; None where they differ."""
        return self._only_reward(success=False)

    def _only_reward(self, success: bool) -> float | None:
        """Return what all edges into a success pay, or what all others pay that pay anything; None if they differ."""
        task = self.solution.problem.machines[self.solution.machine]
        paid = {constant(edge.reward) for edge in task.edges if (edge.target in task.success) == success}
        paid -= set() if success else {0.0}
        return paid.pop() if len(paid) == 1 else None

    @cached_property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none."""
        known = [self.solution]

        def holds(gamma: float) -> bool:
            below = max((one for one in known if one.gamma < gamma), key=lambda one: one.gamma, default=None)
            found = solve_near(self.solution.problem, gamma, self.solution.machine, below or known[-1])
            known[:] = [found] if below is None else [below, found]  # a bisection goes on from one of the two
            return not _leaves_shortest_paths(found)

        return _interval(holds, self.solution.gamma)


@add_row(guarantee, TabularProblem)
def guarantee_tables(problem: TabularProblem, gamma: float = 0.9, machine: int = 0) -> TabularGuarantee:
    """Decide whether all optimal policies on a map or a table take shortest paths."""
    check_request(problem, gamma, machine)
    refuse_slip(problem, "a guarantee")
    solution = solve_near(problem, gamma, machine)
    remaining = distances(problem.tables, solution.optimal)
    solution, everywhere = _from_worst_start(solution, remaining), solution
    goal, is_shortest = int(solution.shortest), not _leaves_shortest_paths(solution)
    fewest = int(remaining[solution.problem.start, solution.first_u])
    length = fewest if fewest < FAR else None
    if is_shortest:
        verdict = "shortest"
    elif length is None:  # certain even among candidates: all optimal actions are among them
        verdict = "never finishes" if _can_go_on_for_ever(solution) else "ends in failure"
    elif solution.undecided is not None and gamma < 1:
        verdict = "undecided"
    elif length == goal:
        verdict = "shortest for some optimal policies only"
    else:
        verdict = f"detour (+{length - goal} step{'s' if length - goal > 1 else ''})"
    if gamma == 1:  # not every action that keeps the value earns it
        ways = action_mask(solution.policy)
    elif verdict.startswith("detour"):
        ways = direct_actions(solution.tables, remaining) & solution.optimal
    else:
        ways = solution.optimal
    return TabularGuarantee(
        solution=everywhere,
        verdict=verdict,
        is_shortest=is_shortest,
        some_are_shortest=length == goal,
        length=length,
        from_worst=solution,
        ways=ways,
        reason=solution.undecided if verdict == "undecided" else None,
    )


def _from_worst_start(solution: TabularSolution, remaining: Array) -> TabularSolution:
    """Return the solution seen from the start that optimal policies treat worst; `remaining` are their fewest steps."""
    starts = solution.tables.starts
    if starts.size == 1:
        return solution
    extra = (remaining - solution.problem.steps_to_go)[starts, solution.first_u]
    cells = solution.problem.starts
    worst = solution.from_start(cells[int(extra.argmax())])
    if extra.max() > 0 or not _leaves_shortest_paths(solution):
        return worst
    return next(one for one in map(solution.from_start, cells) if _leaves_shortest_paths(one))


def _leaves_shortest_paths(solution: TabularSolution) -> bool:
    """Return whether some optimal action, wherever optimal actions can lead, begins no shortest path."""
    return bool((solution.optimal & ~_direct(solution)).reshape(-1)[_reachable(solution)].any())


def _direct(solution: TabularSolution) -> Array:
    """Return the actions that begin shortest paths, a bit each."""
    return direct_actions(solution.tables, solution.problem.steps_to_go)


def _reachable(solution: TabularSolution) -> Array:
    """Return the pairs that optimal actions can lead to."""
    return pairs_within_reach(solution.tables, solution.optimal, solution.machine)


def _can_go_on_for_ever(solution: TabularSolution) -> bool:
    """Return whether optimal actions can avoid every end; pairs whose every optimal action ends are struck out."""
    problem, n_u = solution.problem, solution.tables.n_u
    alive = set(_reachable(solution).tolist())
    size = -1
    while len(alive) != size:
        size = len(alive)
        for x in list(alive):
            s, u = divmod(x, n_u)
            steps = [problem.step(s, u, a) for a in range(problem.n_actions) if solution.optimal[s, u] >> a & 1]
            if not any(taken.is_live and taken.s * n_u + taken.u in alive for taken in steps):
                alive.discard(x)
    return bool(alive)


def critical_reward(problem: TabularProblem, gamma: float, machine: int = 0) -> Fraction | float:
    """Return the threshold R* of the terminal reward; every edge into a success is taken to pay R.

    At R* itself a shortest path and another one are both optimal. Where every path is a shortest one all terminal
    rewards do, and R* is -infinity (as it is where it lies below -1e307). Of several starts the largest R* counts.
    """
    check_request(problem, gamma, machine)
    refuse_slip(problem, "the threshold of the terminal reward")
    if gamma == 1:
        raise ConfigError("gamma=1: the threshold of the terminal reward needs a gamma below 1")
    tables, g = problem.tables, as_written(gamma)
    u = int(tables.first_u[machine])
    starts = [(int(s), u) for s in tables.starts]
    fewest = [int(problem.steps_to_go[pair]) for pair in starts]
    success = tables.outcome == SUCCESS
    on_the_way = np.where(success, 0.0, problem.plain)
    _, shortest = _best_shortest_paths(problem, on_the_way, gamma)

    def tie_of(policy: Array) -> Fraction | None:
        """Return where a policy's paths tie with the shortest ones, None if they are among them."""
        ties = [_tie(problem, g, *start, policy, shortest) for start in zip(starts, fewest, strict=True)]
        return max((tie for tie in ties if tie is not None), default=None)

    def tie_at(terminal: Fraction) -> Fraction | None:
        """Return where the optimal path at a terminal reward ties with the shortest ones."""
        reward = np.where(success, as_float(terminal), on_the_way)
        tie = tie_of(value_and_policy(tables, reward, gamma)[1])
        if tie is None or tie <= terminal:  # so it is, unless rounding hid a better path

            def written(event: int, u: int) -> Fraction:
                return terminal if success[event, u] else problem.written(event, u)

            tie = tie_of(solve_rewards(problem, reward, gamma, machine, written).policy)
        return tie

    most = Fraction(float(np.abs(on_the_way).max()))
    lowest = max(-(3 * most + 1) / (g ** (max(fewest) - 1) * (1 - g) ** 2), -Fraction(_LARGE))
    for terminal in (-(most + 1) / (1 - g), lowest):
        tie = tie_at(terminal)
        if tie is not None and tie >= terminal:
            break
    else:
        return -math.inf
    for _ in range(_ROUNDS):
        if tie is None or tie <= terminal:
            break
        terminal = tie
        if math.isinf(as_float(terminal)):
            break
        tie = tie_at(terminal)
    return terminal


class Phase(NamedTuple):
    """What optimal paths do while the terminal reward is between two thresholds."""

    above: Fraction | None
    """The phase begins above this terminal reward; None for the first one."""
    length: int | None
    """Steps of every optimal path; None where it never succeeds."""
    fails: bool
    """Whether optimal paths end in a failure."""


def reward_phases(problem: TabularProblem, gamma: float, machine: int = 0) -> tuple[Phase, ...]:
    r"""Return how optimal paths from the first start change as the terminal reward grows, from the lowest on.

    A path of l steps returns C + gamma^(l-1) R, a line in R, so the largest return is convex and piecewise linear. Each
    piece is a phase, whose optimal paths are equally long. Where two lines that are optimal somewhere meet, the optimum
    is asked for; a better line lies between them, and the search goes on at both sides. The last phase begins at R*.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXXXXXXXXXX\nX    b   A aX\nXXXXXXXXXXXXX")
    >>> machine = fastrm.RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
    >>> [(float(phase.above or 0), phase.length) for phase in reward_phases(fastrm.compile(grid, machine), gamma=0.5)]
    [(0.0, None), (130.0, 8)]
    """
    check_request(problem, gamma, machine)
    if gamma == 1:
        raise ConfigError("gamma=1: the phases of the terminal reward need a gamma below 1")
    refuse_slip(problem, "what changes with the terminal reward")
    problem = problem.from_start(problem.starts[0])
    tables, g = problem.tables, as_written(gamma)
    success, first = tables.outcome == SUCCESS, (problem.start, int(tables.first_u[machine]))
    on_the_way = np.where(success, 0.0, problem.plain)
    every, direct = 2**problem.n_actions - 1, direct_actions(tables, problem.steps_to_go)[first]
    if not on_the_way.any() and direct != every:  # success alone pays, and there is another path
        return Phase(None, None, False), Phase(Fraction(0), int(problem.steps_to_go[first]), False)

    def line_at(terminal: Fraction) -> _Line:
        """Return what an optimal path earns as the terminal reward varies around this one."""

        def written(event: int, u: int) -> Fraction:
            return terminal if success[event, u] else problem.written(event, u)

        reward = np.where(success, as_float(terminal), on_the_way)
        policy = solve_rewards(problem, reward, gamma, machine, written).policy
        path, loop, succeeds = follow(problem, policy, first)
        rest, steps = _rest_of_return(problem, policy, path, loop, g), len(path) - 1
        return _Line(rest, g ** (steps - 1) if succeeds else Fraction(0), steps if succeeds else None, loop is None)

    def between(low: _Line, high: _Line) -> Iterator[tuple[Fraction, _Line]]:
        """Yield the thresholds between two lines, each with the line above it."""
        if low.slope >= high.slope:
            return
        meeting = (low.rest - high.rest) / (high.slope - low.slope)
        found = line_at(meeting)
        if found.at(meeting) > low.at(meeting):
            yield from between(low, found)
            yield from between(found, high)
        else:
            yield meeting, high

    critical = critical_reward(problem, gamma, machine)
    lowest = -(Fraction(float(np.abs(on_the_way).max())) + 1) / (1 - g)  # going on for ever costs less
    low = line_at(lowest)
    high = line_at(2 * abs(critical) + 1 if isinstance(critical, Fraction) else Fraction(1))
    pieces = [(None, low), *between(low, high)]
    return tuple(Phase(above, line.length, line.ends and line.length is None) for above, line in pieces)


class _Line(NamedTuple):
    """What a path earns: `rest` + `slope` times the terminal reward."""

    rest: Fraction
    slope: Fraction
    length: int | None
    ends: bool

    def at(self, terminal: Fraction) -> Fraction:
        return self.rest + self.slope * terminal


def _tie(
    problem: TabularProblem, gamma: Fraction, pair: Pair, fewest: int, policy: Array, shortest: Array
) -> Fraction | None:
    """Return the terminal reward at which a policy's path and a shortest one earn the same, None if it is one."""
    path, loop, succeeds = follow(problem, policy, pair)
    if succeeds and len(path) - 1 <= fewest:
        return None
    rest = _rest_of_return(problem, policy, path, loop, gamma)
    direct = _rest_of_return(problem, shortest, follow(problem, shortest, pair)[0], None, gamma)
    return (rest - direct) / (gamma ** (fewest - 1) - (gamma ** (len(path) - 2) if succeeds else 0))


def as_float(value: Fraction | float) -> float:
    """Return the nearest float, infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _interval(holds: Callable[[float], bool], gamma: float) -> tuple[float, float] | None:
    """Return the ends of the interval of discounts around `gamma`, or nearest to it, on which `holds` is true."""
    grid = sorted({*(np.arange(1, _GRID + 1) / (_GRID + 1)).tolist(), *([gamma] if gamma < 1 else [])})
    for seed in sorted(grid, key=lambda g: abs(g - gamma)):
        if holds(seed):
            low = _edge(holds, seed, [g for g in reversed(grid) if g < seed], 0.0)
            return low, _edge(holds, seed, [g for g in grid if g > seed], 1.0)
    return None


def _edge(holds: Callable[[float], bool], inside: float, points: Sequence[float], end: float) -> float:
    """Walk outwards while the verdict holds, then bisect."""
    for point in (*points, _NEAR[end]):
        if not holds(point):
            outside = point
            break
        inside = point
    else:
        return end
    while abs(outside - inside) > 1e-6:
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def _best_shortest_paths(problem: TabularProblem, reward: Array, gamma: float) -> tuple[Array, Array]:
    """Return the largest return of a shortest path from every pair, and the policy that earns it."""
    tables = problem.tables
    distance = problem.steps_to_go
    flat = distance[:, : tables.n_u].reshape(-1)
    order = np.argsort(flat, kind="stable")
    order = order[flat[order] < FAR]
    value = np.empty(distance.shape)
    policy = np.zeros((len(tables.next_s), tables.n_u), dtype=np.int8)
    values.best_shortest(tables, read_only(reward), float(gamma), distance, order, value, policy)
    return value, policy


def _rest_of_return(
    problem: TabularProblem, policy: Array, path: Sequence[Pair], loop: int | None, gamma: Fraction
) -> Fraction:
    """Return what a policy's path earns beside the terminal reward; pairs alone do not tell what its moves pay."""
    tables, paid = problem.tables, []
    for s, u in path if loop is not None else path[:-1]:
        event = int(tables.event[s, policy[s, u]])
        paid.append(Fraction(0) if tables.outcome[event, u] == SUCCESS else problem.written(event, u))
    return path_return(paid, loop, gamma)


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
    if grid is not None and not isinstance(grid, GridMap | TableWorld | PointMass):
        raise ConfigError(f"grid={shown(grid)}: must be a GridMap")
    check_gamma(gamma)
    if gamma == 1:
        raise ConfigError("gamma=1: the linter needs a gamma below 1")
    faults = [
        Finding("structure", f"{place(machine.source, line)}{message}") for line, message in structural_faults(machine)
    ]
    if faults:
        return faults
    try:
        sound = RewardMachine.from_draft(machine)
    except FastrmError as fault:  # only unrolling finds it
        return [Finding("structure", str(fault))]
    if grid is None:
        return idle_comparisons(sound)
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
    problem, machine = solution.problem, solution.machine
    return [
        *_farming(solution), *_procrastination(verdict), *_wandering(problem, machine),
        *idle_comparisons(problem.machines[machine]),
    ]  # fmt: skip


def idle_comparisons(machine: RewardMachine) -> list[Finding]:
    """Find comparisons of a clock that hold, or fail, whatever it shows: its top stands for all later moves."""
    draft, found = machine.written, list[Finding]()
    for clock in (variable for variable in draft.variables if variable.is_clock) if draft else ():
        for edge in draft.edges if draft else ():
            for node in comparisons(edge.guard):
                held = {fold(node, {clock.name: value}) for value in range(clock.high + 1)}
                if set(values_read(node)) == {clock.name} and held < {Truth(True), Truth(False)}:
                    how_often = "always" if Truth(True) in held else "never"
                    message = (
                        f"{place(machine.source, edge.line)}{write(node)} {how_often} holds: {clock.what} stays at "
                        f"{clock.high}, which is '{clock.high} or more'"
                    )
                    found.append(Finding("clock", message, edge.source, is_error=False))
    return found


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
    message = (
        f"state {state} can be farmed for ever: the loop {_trail(cells)} earns {float(earned):g} every "
        f"{len(cells) - 1} step{'s' if len(cells) > 2 else ''}"
    )
    return [Finding("farming", message, state, is_error=False)]


def _procrastination(verdict: TabularGuarantee) -> list[Finding]:
    witness = verdict.witness
    if verdict.verdict == "ends in failure":
        said = f"failing is optimal: it returns {witness.optimal_return:.6g}, succeeding {witness.shortest_return:.6g}"
        return [Finding("failure", said, witness.state, is_error=False)]
    if verdict.verdict != "never finishes" or not witness.loop:
        return []
    said = (
        f"in state {witness.state} an optimal policy hovers for ever ({_trail((*witness.loop, witness.loop[0]))}): "
        f"that returns {witness.optimal_return:.6g}, finishing by a shortest path {witness.shortest_return:.6g}; "
        f"a terminal reward above {verdict.critical_reward:.6g} would make finishing optimal"
    )
    return [Finding("procrastination", said, witness.state, is_error=False)]


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
