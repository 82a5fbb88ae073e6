"""What can be asked of a problem without learning, whatever its kind: the verbs, each a table with a row per kind.

The rows are written beside what they work on: `tabular` and `verdicts` for maps and tables, `water` for Water world.
Answers share the classes below; what a kind has no answer for is refused in one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, overload

from fastrm.dispatch import add_row, by_kind
from fastrm.errors import ConfigError
from fastrm.problems import AgendaProblem, Problem, TabularProblem, WaterProblem, unsupported
from fastrm.worlds import Cell, Point

if TYPE_CHECKING:
    from fastrm.exact.tabular import TabularSolution
    from fastrm.exact.water import WaterSolution


@dataclass(frozen=True, eq=False)
class Solution(ABC):
    """The optimal policy of one machine of a problem; `solve` finds it."""

    problem: Problem
    """The problem, at the discount asked for."""
    machine: int
    """Which machine of it."""
    gamma: float
    """Discount factor."""

    @property
    @abstractmethod
    def start_value(self) -> float:
        """Discounted reward of the optimal policy from the start, in the mean over several."""

    @property
    @abstractmethod
    def length(self) -> float | None:
        """Steps in which the optimal policy completes the task if nothing slips, None if it never does."""

    @property
    @abstractmethod
    def path(self) -> tuple[Cell, ...] | tuple[Point, ...]:
        """Where the optimal policy leads from the (first) start."""

    @property
    def shortest(self) -> float:
        """Length of a shortest path that completes the task, the mean over starts where there are several."""
        return self.problem.shortest[self.machine]

    def arps(self, epsilon: float = 0.1, horizon: int | None = None) -> float:
        """Return the expected task reward per step of an episode played epsilon-greedily."""
        raise unsupported(self.problem)

    def ceiling(self, epsilon: float = 0.1, horizon: int = 1000) -> float:
        """Return the largest expected task reward per step of any policy that must explore."""
        raise unsupported(self.problem)

    def success_probability(self, epsilon: float = 0.0, horizon: int = 100_000) -> float:
        """Return the probability that an episode played epsilon-greedily completes the task within `horizon` steps."""
        raise unsupported(self.problem)

    def expected_length(self, epsilon: float = 0.0) -> float:
        """Return the expected steps of the episodes, played epsilon-greedily, that complete the task; or inf."""
        raise unsupported(self.problem)


@dataclass(frozen=True)
class Witness:
    """What an optimal policy does, and what a shortest path would earn instead."""

    path: tuple[Cell, ...]
    """Cells an optimal policy visits from the start; where it never finishes, up to the end of its first loop."""
    loop: tuple[Cell, ...]
    """The cells it visits over and over, empty if it finishes."""
    state: str
    """Machine state in which it leaves the shortest route, or in which it ends up; empty if it never leaves."""
    leaves_at: Cell | None
    """Cell where it leaves the shortest route, None if it never does."""
    shortest_path: tuple[Cell, ...]
    """The shortest path that earns most."""
    optimal_return: float
    """Discounted reward of the optimal policy."""
    shortest_return: float
    """Discounted reward of the best shortest path."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Guarantee(ABC):
    """The verdict on one machine of a problem; `guarantee` makes one. Thresholds are found when first asked for."""

    solution: Any
    """The optimum that the verdict is about, a `Solution`."""
    verdict: str
    """``shortest``, ``shortest for some optimal policies only``, ``detour (+k steps)``, ``never finishes``,
    ``ends in failure`` or ``undecided``."""
    is_shortest: bool
    """Whether all optimal policies take shortest paths."""
    some_are_shortest: bool
    """Whether at least one does."""
    length: int | None
    """Fewest steps in which an optimal policy completes the task, None if none does."""
    reason: str | None = None
    """Why there is no verdict, where there is none."""

    @property
    def shortest(self) -> int:
        """Length of a shortest path."""
        return int(self.solution.shortest)

    @property
    @abstractmethod
    def witness(self) -> Witness:
        """What an optimal policy does, and what a shortest path would earn."""

    def __repr__(self) -> str:
        return f"<Guarantee {self.verdict}: optimal {self.length}, shortest {self.shortest} steps>"

    @property
    def critical_reward(self) -> float:
        """Smallest terminal reward R* above which all optimal policies take shortest paths.

        It is -infinity where every path is a shortest one, whatever success pays.
        """
        self._refuse("a critical reward")

    @property
    def critical_scale(self) -> float | None:
        """Factor by which all rewards on the way may grow before the optimum leaves the shortest paths.

        It is 0 where none keeps it there. None where larger factors would bring it there, or where the terminal reward
        is not one constant.
        """
        self._refuse("a critical scale")

    @property
    def critical_step_reward(self) -> float | None:
        """Largest step reward r* that keeps the optimum on shortest paths; None where there is no single one."""
        self._refuse("a critical step reward")

    @property
    def gamma_interval(self) -> tuple[float, float] | None:
        """Discounts around the given one, or nearest to it, with the verdict *shortest*; None if there are none.

        The ends are found to 1e-6 between neighbouring points of a grid of 49, so a gap narrower than a fiftieth may go
        unseen; an end of 0 or 1 means that the verdict holds at 0.001 or 0.999999.
        """
        self._refuse("an interval of discounts")

    def _repr_html_(self) -> str:
        """Show verdict and witness in a notebook."""
        from fastrm.pages import guarantee_card

        return guarantee_card(self)

    def _refuse(self, what: str) -> NoReturn:
        raise ConfigError(f"{what}: needs the cells of a map, and {self.solution.problem.source} has none")


@dataclass(frozen=True)
class Finding:
    """One thing a machine should be looked at for; `lint` and `check` find them."""

    kind: str
    """``structure``, ``edges``, ``task``, ``farming``, ``procrastination``, ``failure``, ``option`` or ``clock``."""
    message: str
    """What is wrong, in one line."""
    state: str = ""
    """The machine state where it happens, if one does."""
    is_error: bool = True
    """Whether the machine cannot be used at all; else it may be meant."""


class ScoreUnit(NamedTuple):
    """What the scores of a task are measured by."""

    one: float
    """What scores 1: a reward per step, or a total."""
    zero: float = 0.0
    """What scores 0."""
    by_total: bool = False
    """Whether episodes are scored by the sum of their own rewards instead of reward per step."""


@dataclass(frozen=True, eq=False)
class Check:
    """What is known about one machine of a problem, without learning; `check` makes one."""

    guarantee: Guarantee
    """Verdict and witness; on maps also thresholds."""
    optimal_arps: float
    """Unit of the score: expected task reward per step of the best policy, exploring on maps. On Water world, where it
    does not explore, that is one completion in the fewest steps."""
    findings: tuple[Finding, ...]
    """What its rewards should be looked at for; none are sought at gamma 1."""


@overload
def solve(problem: WaterProblem, gamma: float = ..., machine: int = ...) -> WaterSolution: ...


@overload
def solve(problem: TabularProblem, gamma: float = ..., machine: int = ...) -> TabularSolution: ...


@overload
def solve(problem: Problem, gamma: float = ..., machine: int = ...) -> Solution: ...


@by_kind
def solve(problem: Problem, gamma: float = 0.9, machine: int = 0) -> Solution:
    """Find the optimal policy for the rewards a machine pays; where moves slip, for their expectation.

    Parameters
    ----------
    problem : Problem
        The compiled world and machines.
    gamma : float
        Discount factor, above 0 and at most 1.
    machine : int
        Which machine of a multi-task problem.

    Raises
    ------
    ConfigError
        When gamma is out of range, or is 1 and some loop pays for ever.

    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> best = solve(fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b")))
    >>> best.length == best.shortest
    True
    """
    raise unsupported(problem)


@by_kind
def guarantee(problem: Problem, gamma: float = 0.9, machine: int = 0) -> Guarantee:
    """Decide whether all optimal policies take shortest paths.

    Parameters
    ----------
    problem, gamma, machine
        As for `solve`.

    Returns
    -------
    Guarantee
        The verdict, a witness, and thresholds of rewards and discount.

    Raises
    ------
    ConfigError
        When gamma is out of range, or where moves slip.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=2)
    >>> found = guarantee(fastrm.compile(grid, fastrm.task("a-b", kind="numeric", terminal_reward=0)))
    >>> found, found.witness.state
    (<Guarantee never finishes: optimal None, shortest 13 steps>, 'u0')
    >>> round(found.critical_reward, 6)
    12.727778
    """
    raise unsupported(problem)


@by_kind
def check(problem: Problem, gamma: float = 0.9, machine: int = 0) -> Check:
    """Decide whether all optimal policies take shortest paths, and look for rewards that lead astray.

    Parameters
    ----------
    problem, gamma, machine
        As for `solve`.

    Returns
    -------
    Check
        The verdict with its witness, the unit of the score, and what was found about the rewards.

    Raises
    ------
    ConfigError
        When gamma is out of range, or where moves slip.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=15, seed=1)
    >>> numeric = fastrm.RewardMachine.sequence("a-b", kind="numeric", terminal_reward=0)
    >>> report = check(fastrm.compile(grid, numeric))
    >>> report.guarantee.verdict, [finding.kind for finding in report.findings]
    ('never finishes', ['procrastination'])
    """
    raise unsupported(problem)


@by_kind
def optimal_arps(problem: Problem, gamma: float = 0.9, epsilon: float = 0.1) -> tuple[float, ...]:
    r"""Return the optimal average reward per step of every task of a problem.

    The policy is optimal for the task reward, 1 on success (for machines in the reference's format, for the rewards
    they pay), and acts epsilon-greedily without step limit. So all kinds of machine for one task share one unit.
    A gamma near 0 or 1 hardly tells short paths from long ones; outside 0.01 to 0.999 0.9 is taken.

    Parameters
    ----------
    problem : Problem
        The compiled map and machines.
    gamma : float
        Discount factor, from 0 to 1.
    epsilon : float
        Probability of a random action.

    Returns
    -------
    tuple of float
        Expected task reward per step, one per machine.

    Raises
    ------
    ConfigError
        When a number is out of range.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> optimal_arps(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    raise unsupported(problem)


@by_kind
def score_units(
    problem: Problem, gamma: float = 0.9, epsilon: float = 0.1, horizon: int = 1000
) -> tuple[ScoreUnit, ...]:
    r"""Return what the scores of every task of a problem are measured by: `optimal_arps`, or else totals.

    On Water world, and for an agenda without machine states, that is one completion in the fewest known steps.

    Totals are for machines with `score own` whose best policy earns no reward per step. 1 is then the expected sum of
    own rewards of the policy of `optimal_arps`, 0 that of random steps, both cut off at `horizon`.

    Raises
    ------
    ConfigError
        When that policy earns no more than random steps.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> text = "score own\nstart u\nsuccess done\nu -> done when a reward -1\nu -> u otherwise reward -1\n"
    >>> score_units(fastrm.compile(grid, fastrm.RewardMachine.parse(text)), epsilon=0.0)[0].one
    -2.0
    """
    raise unsupported(problem)


@add_row(score_units, AgendaProblem)
def score_units_of_agendas(problem: AgendaProblem, *settings: float) -> tuple[ScoreUnit, ...]:
    """Measure scores by the tour that is known."""
    return () if problem.tour is None else (ScoreUnit(1 / problem.tour.length),)


@by_kind
def score_ceiling(problem: Problem, epsilon: float = 0.1, horizon: int = 1000) -> tuple[float, ...]:
    r"""Return the largest expected task reward per step of any policy that must explore, for every task of a problem.

    A policy may depend on the time since the episode began; episodes are cut off at `horizon`. NaN for machines that
    are scored by their own rewards.

    >>> import fastrm
    >>> grid = fastrm.GridMap.parse("XXXXX\nXA aX\nXXXXX")
    >>> score_ceiling(fastrm.compile(grid, fastrm.RewardMachine.sequence("a")), epsilon=0.0)
    (0.5,)
    """
    raise unsupported(problem)
