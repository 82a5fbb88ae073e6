"""The truth about small problems, slow and obvious: optima, verdicts and thresholds in rationals, in plain dicts.

Nothing is imported from the package. A problem is what every action does in every pair of cell and machine state:
``moves[s, u][a]`` is a `Move`. What exploring policies earn is summed up in floats, step by step.
"""

from collections import namedtuple
from fractions import Fraction
from functools import cached_property

import numpy as np

LIVE, SUCCESS, FAILURE = "live", "success", "failure"
Move = namedtuple("Move", "paid then outcome")
"""What a move pays, the pair it leads to, and whether the episode goes on."""
Play = namedtuple("Play", "arps success steps left")
"""Of an episode: reward per step, probability of success, sum of t P(success at t), probability that it goes on."""


def read_number(text):
    """Return a number as it is written: 0.1 is 1/10."""
    return Fraction(repr(text) if isinstance(text, float) else text)


def cross(next_s, labels, machine):
    """Return the moves of a table crossed with a machine.

    `labels` maps cells, or pairs of cell and action, to sets of names. A machine is a dict with ``states``,
    ``success``, ``failure`` and ``edges``: for every state a list of (name, target, reward), of which the first whose
    name holds counts; the name None always holds.
    """
    moves = {}
    for s, row in enumerate(next_s):
        for u in machine["states"]:
            moves[s, u] = []
            for a, there in enumerate(row):
                holds = labels.get(there, ()) or labels.get((s, a), ())
                _, target, paid = next(edge for edge in machine["edges"][u] if edge[0] is None or edge[0] in holds)
                outcome = SUCCESS if target in machine["success"] else FAILURE if target in machine["failure"] else LIVE
                moves[s, u].append(Move(read_number(paid), (there, target), outcome))
    return moves


def truth_of(problem, gamma):
    """Return the truth about the first machine of a compiled problem, its tables taken as they are."""
    tables, moves = problem.tables, {}
    for s in range(len(tables.next_s)):
        for u in range(tables.n_u):
            moves[s, u] = []
            for s_next, e in zip(tables.next_s[s].tolist(), tables.event[s].tolist(), strict=True):
                outcome = (LIVE, SUCCESS, FAILURE)[tables.outcome[e, u]]
                moves[s, u].append(Move(problem.written(e, u), (s_next, int(tables.delta[e, u])), outcome))
    return Truth(moves, [(s, int(tables.first_u[0])) for s in tables.starts.tolist()], gamma)


class Truth:
    """All there is to know about one machine on one world at one discount."""

    def __init__(self, moves, starts, gamma):
        self.moves, self.starts, self.gamma = moves, starts, read_number(gamma)
        self.distinct = {pair: list(dict.fromkeys(choices)) for pair, choices in moves.items()}

    # --- paths -------------------------------------------------------------------------------------------------------

    @cached_property
    def steps_to_go(self):
        """Fewest steps to a success, for the pairs that have a way."""
        return self._steps_by(self.distinct)

    def _steps_by(self, allowed):
        """Return the fewest steps to a success by some moves of every pair, for the pairs that have a way."""
        steps, found = {}, True
        while found:
            found = {
                pair for pair, choices in allowed.items()
                if pair not in steps and any(m.outcome == SUCCESS or m.then in steps for m in choices)
            }  # fmt: skip
            steps |= dict.fromkeys(found, 1 + max(steps.values(), default=0))
        return steps

    def _is_direct(self, pair, move):
        """Return whether a move begins a shortest path."""
        left = 0 if move.outcome == SUCCESS else self.steps_to_go.get(move.then, np.inf)
        return left + 1 == self.steps_to_go.get(pair)

    @staticmethod
    def _reach(allowed, first):
        """Return the pairs that some moves lead to."""
        seen, todo = {first}, [first]
        while todo:
            more = {move.then for move in allowed[todo.pop()] if move.outcome == LIVE} - seen
            seen |= more
            todo += more
        return seen

    @property
    def shortest(self):
        """Mean length of a shortest path."""
        return Fraction(sum(self.steps_to_go[start] for start in self.starts), len(self.starts))

    # --- the optimum -------------------------------------------------------------------------------------------------

    @cached_property
    def value(self):
        """Optimal values: they fulfil Bellman's equation exactly, and nothing else does."""
        return self.solve(self.distinct)

    def solve(self, allowed):
        """Return the optimal values of some moves of every pair, by policy iteration."""
        policy, better = {pair: choices[0] for pair, choices in allowed.items()}, True
        while better:
            value, better = self._evaluate(policy), False
            for pair, choices in allowed.items():
                best = max(choices, key=lambda move: self._return(move, value))
                if self._return(best, value) > value[pair]:
                    policy[pair], better = best, True
        return value

    def _return(self, move, value):
        return move.paid + self.gamma * value[move.then] if move.outcome == LIVE else move.paid

    def _evaluate(self, policy):
        """Return the value of a policy; a loop is a geometric series."""
        value = {}
        for pair in policy:
            trail = []
            while pair not in value and pair not in trail:
                trail.append(pair)
                if policy[pair].outcome != LIVE:
                    break
                pair = policy[pair].then
            if pair in trail and policy[pair].outcome == LIVE and pair not in value:
                around, loop = Fraction(0), trail[trail.index(pair) :]
                for x in reversed(loop):
                    around = policy[x].paid + self.gamma * around
                value[pair] = around / (1 - self.gamma ** len(loop))
            for x in reversed(trail):
                if x not in value:
                    value[x] = self._return(policy[x], value)
        return value

    @cached_property
    def optimal(self):
        """All optimal actions of every pair."""
        return {
            pair: [a for a, move in enumerate(choices) if self._return(move, self.value) == self.value[pair]]
            for pair, choices in self.moves.items()
        }

    @cached_property
    def policy(self):
        """The optimal action of every pair, ties to the highest."""
        return {pair: actions[-1] for pair, actions in self.optimal.items()}

    @cached_property
    def task_policy(self):
        """The action that begins a shortest path, ties to the highest; the last where nothing succeeds."""
        return {
            pair: max((a for a, m in enumerate(choices) if self._is_direct(pair, m)), default=len(choices) - 1)
            for pair, choices in self.moves.items()
        }

    @cached_property
    def optimal_moves(self):
        """The moves of the optimal actions."""
        return {pair: [self.moves[pair][a] for a in actions] for pair, actions in self.optimal.items()}

    @cached_property
    def reached(self):
        """The pairs that optimal actions lead to from the starts."""
        return set().union(*(self._reach(self.optimal_moves, start) for start in self.starts))

    @property
    def length(self):
        """Mean length of the path of `policy`, None if it does not complete the task from every start."""
        steps = self._steps_by({pair: [self.moves[pair][a]] for pair, a in self.policy.items()})
        found = [steps.get(start) for start in self.starts]
        return None if None in found else Fraction(sum(found), len(found))

    def optimal_length(self, start):
        """Fewest steps in which an optimal policy completes the task, None if none does."""
        return self._steps_by(self.optimal_moves).get(start)

    @cached_property
    def verdicts(self):
        """What optimal policies do from every start, after how bad that is."""
        return [self._verdict(start) for start in self.starts]

    def _verdict(self, start):
        pairs, goal = self._reach(self.optimal_moves, start), self.steps_to_go[start]
        if all(self._is_direct(pair, move) for pair in pairs for move in self.optimal_moves[pair]):
            return 0, "shortest"
        fewest = self.optimal_length(start)
        if fewest is None:
            return np.inf, "never finishes" if self._has_loop(pairs) else "ends in failure"
        if fewest == goal:
            return 1, "shortest for some optimal policies only"
        return 1 + fewest - goal, f"detour (+{fewest - goal} step{'s' if fewest > goal + 1 else ''})"

    def _has_loop(self, pairs):
        """Return whether optimal moves can go on for ever: strike pairs from which none leads to another."""
        alive, struck = set(pairs), True
        while struck:
            struck = {x for x in alive if not any(m.outcome == LIVE and m.then in alive for m in self.optimal_moves[x])}
            alive -= struck
        return bool(alive)

    # --- thresholds --------------------------------------------------------------------------------------------------

    def _best_by_length(self, most, terminal=None):
        """Return, for every length, the most that a path of that length earns which ends in success, by pair.

        `terminal` takes the place of what success pays.
        """
        within = {x: self.distinct[x] for x in set().union(*(self._reach(self.distinct, x) for x in self.starts))}
        found = [{}]
        for n in range(1, min(most, len(within)) + 1):
            best = {}
            for pair, choices in within.items():
                if n == 1:
                    earned = [m.paid if terminal is None else terminal for m in choices if m.outcome == SUCCESS]
                else:
                    earned = [m.paid + self.gamma * found[-1][m.then] for m in choices if m.then in found[-1]]
                if earned:
                    best[pair] = max(earned)
            found.append(best)
        return found

    def shortest_return(self, start):
        """Return the most that a shortest path earns."""
        return self._best_by_length(self.steps_to_go[start])[-1][start]

    def critical_reward(self):
        """Return R*, the largest R at which some path that is no shortest one earns as much as the best that is.

        A path earns C + gamma^(l - 1) R if it succeeds after l steps and C if it never does. At R* some stationary
        policy takes such another path, so l need not exceed the number of pairs.
        """
        by_length, never, ties = self._best_by_length(len(self.moves), Fraction(0)), self._never_succeeding(), []
        for start in self.starts:
            goal = self.steps_to_go[start]
            direct, power = by_length[goal][start], self.gamma ** (goal - 1)
            if start in never:
                ties.append((never[start] - direct) / power)
            for n, best in enumerate(by_length):
                if n > goal and start in best:
                    ties.append((best[start] - direct) / (power - self.gamma ** (n - 1)))
        return max(ties, default=-np.inf)

    def _never_succeeding(self):
        """Return the most that can be earned by never succeeding, for the pairs where one can avoid it."""
        allowed = {pair: [m for m in choices if m.outcome != SUCCESS] for pair, choices in self.distinct.items()}
        while not all(allowed.values()):
            allowed = {pair: choices for pair, choices in allowed.items() if choices}
            for pair, choices in allowed.items():
                allowed[pair] = [m for m in choices if m.outcome != LIVE or m.then in allowed]
        return self.solve(allowed)

    def changed(self, pays):
        """Return the truth about the same world with other rewards: those that `pays` makes of moves."""
        moves = {pair: [m._replace(paid=pays(m)) for m in choices] for pair, choices in self.moves.items()}
        return Truth(moves, self.starts, self.gamma)

    # --- episodes that explore ---------------------------------------------------------------------------------------

    @cached_property
    def _numbers(self):
        return {pair: i for i, pair in enumerate(self.moves)}

    def play(self, policy, epsilon, horizons, own=False):
        """Return what episodes come to that are played epsilon-greedily for at most so many steps, for some horizons.

        Success is worth 1; if `own`, every end is worth what was paid on the way. A row of `step` leads from the
        probability of a pair to those of others, and to what was earned so far times that; episodes that can never end
        are left out.
        """
        n = len(self.moves)
        step, ends = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2))
        for pair, i in self._numbers.items():
            for a, move in enumerate(self.moves[pair]):
                share = epsilon / len(self.moves[pair]) + (1 - epsilon) * (a == policy[pair])
                worth = float(move.paid) if own else float(move.outcome == SUCCESS)
                if move.outcome == LIVE:
                    step[i, self._numbers[move.then]] += share
                    step[i, n + self._numbers[move.then]] += share * worth
                else:
                    ends[i] += share * worth, share * (move.outcome == SUCCESS)
                    ends[n + i, 0] += share
        step[n:, n:] = step[:n, :n]
        can_end = ends[n:, 0] > 0
        for _ in range(n):
            can_end |= step[:n, :n] @ can_end > 0
        step[:, np.append(~can_end, ~can_end)] = 0
        state, found, left = np.zeros(2 * n), np.zeros((max(horizons), 2)), {}
        for start in self.starts:
            state[self._numbers[start]] += 1 / len(self.starts)
        for t in range(max(horizons)):
            found[t] = state @ ends
            state = state @ step
            if t + 1 in horizons:
                left[t + 1] = state[:n].sum()
            if t % 16 == 0 and state[:n].sum() < 1e-18:
                break
        time = np.arange(1, len(found) + 1)
        return [
            Play((found[:h, 0] / time[:h]).sum(), found[:h, 1].sum(), found[:h, 1] @ time[:h], left.get(h, 0.0))
            for h in horizons
        ]

    def ceiling(self, epsilon, horizon):
        """Return the most that any policy which must explore can expect of 1 / T, T being the step of success."""
        n = len(self.moves)
        ends = {SUCCESS: n, FAILURE: n + 1}
        links = np.array(
            [[ends[m.outcome] if m.outcome in ends else self._numbers[m.then] for m in choices]
             for choices in self.moves.values()]
        )  # fmt: skip
        value = np.zeros(n + 2)
        for t in range(horizon, 0, -1):
            value[n] = 1 / t
            ahead = value[links]
            value[:n] = epsilon * ahead.mean(axis=1) + (1 - epsilon) * ahead.max(axis=1)
        return np.mean([value[self._numbers[start]] for start in self.starts])
