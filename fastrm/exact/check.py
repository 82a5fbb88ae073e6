"""Everything that is known about a problem without learning, in one report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from fastrm.exact.guarantees import Guarantee, guarantee
from fastrm.exact.lint import Finding, reward_findings
from fastrm.exact.unit import optimal_arps
from fastrm.exact.water import WaterGuarantee
from fastrm.problems import Problem, WaterProblem

Verdict = TypeVar("Verdict", Guarantee, WaterGuarantee)


@dataclass(frozen=True, eq=False)
class Check(Generic[Verdict]):
    """What is known about one machine of a problem, without learning; `check` makes one."""

    guarantee: Verdict
    """Verdict and witness; on maps also thresholds."""
    optimal_arps: float
    """Unit of the score: expected task reward per step of the best policy, exploring on maps. On Water world, where it
    does not explore, that is one completion in the fewest steps."""
    findings: tuple[Finding, ...]
    """What its rewards should be looked at for; none are sought at gamma 1."""


@overload
def check(problem: WaterProblem, gamma: float = ..., machine: int = ...) -> Check[WaterGuarantee]: ...


@overload
def check(problem: Problem, gamma: float = ..., machine: int = ...) -> Check[Guarantee]: ...


def check(
    problem: Problem | WaterProblem, gamma: float = 0.9, machine: int = 0
) -> Check[Guarantee] | Check[WaterGuarantee]:
    """Decide whether all optimal policies take shortest paths, and look for rewards that lead astray.

    Parameters
    ----------
    problem : Problem or WaterProblem
        The compiled map, or water world, and machines.
    gamma : float
        Discount factor, above 0 and at most 1.
    machine : int
        Which machine of a multi-task problem.

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
    if isinstance(problem, WaterProblem):
        on_water = guarantee(problem, gamma, machine)
        found = tuple(_water_findings(on_water)) if gamma < 1 else ()
        return Check(on_water, 1.0 / problem.shortest[machine], found)
    verdict = guarantee(problem, gamma, machine)
    findings = tuple(reward_findings(verdict)) if gamma < 1 else ()
    return Check(verdict, optimal_arps(problem, gamma)[machine], findings)


def _water_findings(verdict: WaterGuarantee) -> Iterator[Finding]:
    """Find optimal policies that fail or never finish."""
    returns, fewest = f"{verdict.solution.value:.6g}", f"{verdict.shortest_return:.6g}"
    if verdict.verdict == "ends in failure":
        yield Finding("failure", f"failing is optimal: it returns {returns}, succeeding {fewest}", is_error=False)
    elif verdict.verdict == "never finishes":
        said = f"an optimal policy never finishes: that returns {returns}, finishing in the fewest steps {fewest}"
        yield Finding("procrastination", said, is_error=False)
