"""Everything that is known about a problem without learning, in one report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from fastrm.exact.guarantees import Guarantee, guarantee
from fastrm.exact.lint import Finding, reward_findings
from fastrm.exact.unit import optimal_arps
from fastrm.exact.water import WaterGuarantee
from fastrm.problems import Problem, WaterProblem


@dataclass(frozen=True, eq=False)
class Check:
    """What is known about one machine of a problem, without learning; `check` makes one."""

    guarantee: Guarantee
    """Verdict, witness and thresholds."""
    optimal_arps: float
    """Unit of the score: expected task reward per step of the best policy."""
    findings: tuple[Finding, ...]
    """What its rewards should be looked at for; none are sought at gamma 1."""


@overload
def check(problem: WaterProblem, gamma: float = ..., machine: int = ...) -> WaterGuarantee: ...


@overload
def check(problem: Problem, gamma: float = ..., machine: int = ...) -> Check: ...


def check(problem: Problem | WaterProblem, gamma: float = 0.9, machine: int = 0) -> Check | WaterGuarantee:
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
        The verdict with its witness, the unit of the score, and what was found about the rewards; on Water world a
        `WaterGuarantee`, the verdict with its witness.

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
        return guarantee(problem, gamma, machine)
    verdict = guarantee(problem, gamma, machine)
    findings = tuple(reward_findings(verdict)) if gamma < 1 else ()
    return Check(verdict, optimal_arps(problem, gamma)[machine], findings)
