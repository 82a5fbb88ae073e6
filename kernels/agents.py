"""What all learners share: the state of runs stepped in lockstep, the end of an episode, the log.

An episode ends *terminated* when its machine reaches a terminal, *truncated* at the step limit. Its score is what its
task pays (1 for success, or its own reward) divided by its length and by the best expected value of that quotient.

Taking an array out of a tuple costs an atomic reference count, so the step loops take what they need out of `Tables`
once, and the state of a run is a record: reading ``agents[i]["s"]`` is one load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.tables import SUCCESS

NOTHING = np.uint64(2**64 - 1)  # no previous event, no option
_0, _1 = np.uint64(0), np.uint64(1)

AGENT = np.dtype(
    [
        ("rng0", np.uint64),  # state of the generator
        ("rng1", np.uint64),
        ("s", np.uint64),  # cell
        ("u", np.uint64),  # column of the machine's state
        ("t", np.uint64),  # steps of this episode
        ("last", np.uint64),  # previous event of this episode, or NOTHING
        ("earned", np.float64),  # own reward of this episode
        ("banked", np.float64),  # own reward of all episodes before
        ("episodes", np.int64),
        ("completions", np.int64),
        ("option", np.uint64),  # HRM: option in force, or NOTHING
        ("option_s", np.uint64),  # HRM: where it began
        ("option_return", np.float64),  # HRM: its discounted reward so far
        ("discount", np.float64),  # HRM: gamma to the number of its steps
    ],
    align=True,
)
"""The state of one run."""


class Rule(NamedTuple):
    """How to learn."""

    alpha: float
    gamma: float
    explore_below: np.uint64  # explore when the upper half of a draw is below this: floor(epsilon 2^32)
    limit: np.uint64  # steps after which an episode is cut off
    bootstraps_at_limit: bool  # QRM
    option_survives: bool  # HRM
    prune: bool  # CRM and HRM
    controller_alpha: float  # HRM


class Log(NamedTuple):
    """What is recorded; a row per run. Episodes are recorded only where `episode_length` has room."""

    ring: np.ndarray  # float64 [n, window]   scores of the last episodes
    episodes: np.ndarray  # int64   [n, n_ticks]  episodes ended
    completions: np.ndarray  # int64   [n, n_ticks]  ended in success
    reward: np.ndarray  # float64 [n, n_ticks]  own reward so far
    score: np.ndarray  # float64 [n, n_ticks]  mean score of the last episodes, NaN before the first
    episode_paid: np.ndarray  # float64 [n, room]     what the task paid
    episode_length: np.ndarray  # int64   [n, room]     0 where no episode was recorded
    optimum: np.ndarray  # float64 [n_m]         the score's unit, per machine


@jit
def begin_episode(tables, me):
    """Put a run at the start of its next episode."""
    machine = me["episodes"] % tables.first_u.size
    me["s"] = np.uint64(tables.start)
    me["u"] = np.uint64(tables.first_u[machine])
    me["t"] = _0
    me["last"] = NOTHING
    me["earned"] = 0.0


@jit
def begin(tables, agents):
    """Start all runs."""
    for i in range(agents.size):
        begin_episode(tables, agents[i])


@jit
def end_episode(tables, log, agents, i, e, v):
    """Record that the episode of run i ended on event e in state v, and begin the next."""
    me = agents[i]
    n = me["episodes"]
    machine = n % tables.first_u.size
    succeeded = tables.outcome[e, v] == SUCCESS
    paid = 1.0 if succeeded else 0.0
    if tables.own_score[machine]:
        paid = me["earned"]
    log.ring[i, n % log.ring.shape[1]] = paid / np.float64(me["t"]) / log.optimum[machine]
    if n < log.episode_length.shape[1]:
        log.episode_paid[i, n] = paid
        log.episode_length[i, n] = np.int64(me["t"])
    me["episodes"] = n + 1
    me["completions"] += succeeded
    me["banked"] += me["earned"]
    begin_episode(tables, me)


@part
def move_on(me, reward, s_next, u_next, e, limit, n_u):
    """Count a step that paid `reward`; say whether the episode is over."""
    me["earned"] += reward
    t = me["t"] + _1
    me["t"] = t
    me["s"] = s_next
    me["u"] = u_next
    me["last"] = e
    return u_next == n_u or t == limit


@jit
def mark_valid(delta, partial, last, prune, n_u, valid):
    """Mark the machine states to update: all, or the image of the previous event. `valid` is overwritten."""
    if not (prune and last != NOTHING and partial[last]):
        valid[:] = 1
        return
    valid[:] = 0
    for v in range(n_u):
        valid[delta[last, v]] = 1


@jit
def record(agents, log, tick):
    """Log all runs at a tick; the score is summed from the oldest episode to the newest."""
    window = log.ring.shape[1]
    for i in range(agents.size):
        me = agents[i]
        n = me["episodes"]
        log.episodes[i, tick] = n
        log.completions[i, tick] = me["completions"]
        log.reward[i, tick] = me["banked"] + me["earned"]
        recent = min(n, window)
        total = 0.0
        for k in range(n - recent, n):
            total += log.ring[i, k % window]
        log.score[i, tick] = total / recent if recent else np.nan
