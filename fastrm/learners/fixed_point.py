"""What HRM settles on: recursively optimal options, and the best controller over them.

An option is trained for its own goal alone: machine reward, plus r_max for reaching the goal and r_min for going
elsewhere. Its policy is the same wherever it is used, so it heads for the nearest target whatever comes after. The
controller's value is V(s, u) = max over options of G + gamma^n V(s', u'), where following the option from s earns G and
leaves machine state u after n steps for u' in cell s'. The path of that fixed point can be longer than the optimum; its
regret is known without training.

Exploration is left out. A run that explores also learns what its random steps cost, and where they lead to failures it
can settle on something else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastrm.arrays import read_only
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError
from fastrm.exact import (
    TabularSolution,
    check_request,
    follow_option,
    highest_action,
    refuse_slip,
    solve,
    value_and_policy,
)
from fastrm.kernels.contracts import FAILURE, LIVE, MASK, SUCCESS
from fastrm.kernels.exact import values
from fastrm.learners.batch import learned_rewards
from fastrm.learners.hrm import build_options
from fastrm.problems import TabularProblem, mean_length
from fastrm.worlds import Cell

_ROUNDS = 100_000


@dataclass(frozen=True)
class HrmFixedPoint:
    """The path that HRM settles on, beside the optimum; `hrm_fixed_point` finds it.

    Examples
    --------
    >>> import fastrm
    >>> problem = fastrm.compile(fastrm.GridMap.generate("2a2b", size=15, seed=7), fastrm.task("a-b"))
    >>> bound = hrm_fixed_point(problem)
    >>> bound.length - bound.shortest == bound.extra_steps, bound.regret >= 0
    (True, True)
    """

    path: tuple[Cell, ...]
    """Cells from the (first) start; where an option never ends, up to the end of its first loop."""
    length: float | None
    """Steps to complete the task, the mean over starts; None if an option never ends or the task fails."""
    value: float
    """Discounted reward, the mean over starts."""
    shortest: float
    """Length of a shortest path, the mean over starts."""
    problem: TabularProblem = field(repr=False, compare=False)
    """The problem it is the fixed point of."""
    gamma: float = 0.9
    """Discount factor."""
    machine: int = 0
    """Which machine of a multi-task problem."""
    fails: bool = False
    """Whether the path ends in a failure; a path that neither does nor completes the task is a loop."""

    @cached_property
    def optimum(self) -> TabularSolution:
        """The globally optimal policy."""
        return solve(self.problem, self.gamma, self.machine)

    @property
    def optimal_length(self) -> float | None:
        """Steps of the globally optimal policy."""
        return self.optimum.length

    @property
    def optimal_value(self) -> float:
        """Discounted reward of the globally optimal policy."""
        return float(self.optimum.value[self.problem.tables.starts, self.optimum.first_u].mean())

    @property
    def regret(self) -> float:
        """Discounted reward lost against the optimum."""
        return max(self.optimal_value - self.value, 0.0)  # 0 up to rounding is 0

    @property
    def extra_steps(self) -> float | None:
        """Steps beyond a shortest path, None if the task is not completed."""
        return None if self.length is None else self.length - self.shortest


class _Outcome(NamedTuple):
    """Where an option leads from one cell."""

    cells: tuple[int, ...]
    gain: float
    discount: float
    then: tuple[int, int] | None  # cell and machine state, None for the end or an option that never ends
    outcome: int  # LIVE for an option that never ends too


def hrm_fixed_point(
    problem: TabularProblem, gamma: float = 0.9, machine: int = 0, config: LearnerConfig | None = None
) -> HrmFixedPoint:
    """Find the path that HRM settles on when every option and the controller are learned perfectly.

    Ties between options, and between actions of an option, go to the highest index; a run may settle on any of them.
    Exploration is left out: a run also learns what its random steps cost, and can shun a path beside a failure.
    Of `config` the rewards of options count (``r_max``, ``r_min``, ``self_loop_options``).

    Parameters
    ----------
    problem : TabularProblem
        The compiled map and machines, without slip.
    gamma : float
        Discount factor, above 0 and below 1.
    machine : int
        Which machine of a multi-task problem.
    config : LearnerConfig, optional
        Settings of HRM.

    Returns
    -------
    HrmFixedPoint
        The path, and what it costs against the optimum.

    Raises
    ------
    ConfigError
        When gamma is out of range, or where moves slip.

    Examples
    --------
    >>> import fastrm
    >>> grid = fastrm.GridMap.generate("1a1b", size=9, seed=1)
    >>> hrm_fixed_point(fastrm.compile(grid, fastrm.RewardMachine.sequence("a-b"))).extra_steps
    0
    """
    check_request(problem, gamma, machine)
    refuse_slip(problem, "the fixed point of HRM")
    if gamma == 1:
        raise ConfigError("gamma=1: the fixed point of HRM needs a gamma below 1")
    problem = problem.at(gamma)
    tables, config = problem.tables, config or LearnerConfig()
    rewards = learned_rewards(problem, gamma, shaping=False)
    options = build_options(problem, rewards, config)
    n_o = len(options.owner)
    ends = options.delta == n_o
    ends[:, n_o:] = False
    as_states = tables._replace(
        delta=options.delta, outcome=read_only(ends.astype(np.uint8)), reward=options.reward, n_u=n_o
    )  # every option is a state of its own
    value_of, guess, error = value_and_policy(as_states, options.reward, gamma)
    mask = np.empty(guess.shape, dtype=MASK)
    nothing = read_only(np.zeros_like(options.reward))
    values.candidates(as_states, options.reward, nothing, gamma, value_of, error, mask)
    policy = highest_action(mask)

    known: dict[tuple[int, int], list[_Outcome]] = {}
    starts = [(int(s), int(tables.first_u[machine])) for s in tables.starts]
    todo = list(starts)
    while todo:
        s, u = todo.pop()
        if (s, u) not in known:
            mine = range(int(options.first[u]), int(options.first[u + 1]))
            known[s, u] = [_play(problem, policy[:, o], s, u, gamma) for o in mine]
            todo += [outcome.then for outcome in known[s, u] if outcome.then is not None]
    value = dict.fromkeys(known, 0.0)
    for _ in range(_ROUNDS):
        change = 0.0
        for pair, outcomes in known.items():
            best = max(_return(outcome, value) for outcome in outcomes)
            change = max(change, abs(best - value[pair]) / max(abs(best), abs(value[pair]), 1e-300))
            value[pair] = best
        if change < 1e-14:
            break
    walks = [_walk(known, value, start) for start in starts]
    return HrmFixedPoint(
        path=problem.terrain.cells_of(walks[0][0]),
        length=mean_length([len(cells) - 1 for cells, _ in walks]) if all(o == SUCCESS for _, o in walks) else None,
        value=sum(value[start] for start in starts) / len(starts),
        shortest=problem.shortest[machine],
        problem=problem,
        gamma=gamma,
        machine=machine,
        fails=walks[0][1] == FAILURE,
    )


def _return(outcome: _Outcome, value: dict[tuple[int, int], float]) -> float:
    return outcome.gain if outcome.then is None else outcome.gain + outcome.discount * value[outcome.then]


def _play(problem: TabularProblem, policy: np.ndarray, s: int, u: int, gamma: float) -> _Outcome:
    """Follow an option from cell s until machine state u is left, for ever if it never is."""
    cells, paid, loop, last = follow_option(problem, policy, s, u)
    gain, discount = 0.0, 1.0
    for reward in paid:
        gain += discount * reward
        discount *= gamma
    if loop is not None:
        prefix = sum(gamma**k * reward for k, reward in enumerate(paid[:loop]))
        around = sum(gamma**k * reward for k, reward in enumerate(paid[loop:]))
        gain = prefix + gamma**loop * around / (1 - gamma ** (len(paid) - loop))
        return _Outcome(tuple(cells), gain, 0.0, None, LIVE)
    then = (cells[-1], last.u) if last.is_live else None
    return _Outcome(tuple(cells), gain, discount, then, last.outcome)


def _walk(
    known: dict[tuple[int, int], list[_Outcome]], value: dict[tuple[int, int], float], start: tuple[int, int]
) -> tuple[list[int], int]:
    """Follow the best options from the start; return the cells and the outcome, LIVE for a loop."""
    pair: tuple[int, int] | None = start
    cells, seen, ends = [start[0]], set(), LIVE
    while pair is not None and pair not in seen:
        seen.add(pair)
        returns = [(_return(outcome, value), o) for o, outcome in enumerate(known[pair])]
        outcome = known[pair][max(returns)[1]]
        cells += outcome.cells[1:]
        pair, ends = outcome.then, outcome.outcome
    return cells, ends
