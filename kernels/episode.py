"""What all learners share: the state of runs stepped in lockstep, the end of an episode, the log.

An episode ends *terminated* when its machine reaches a terminal, *truncated* at the step limit. Its score is what its
task pays (1 for success, or its own reward) divided by its length and by the best expected value of that quotient.

Between ticks the state of a run rests in a record; the step loops hold it in local variables, which are registers. A
step waits for little else than its own latency, so every load and store saved on the way from cell to cell counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING, SUCCESS

_0 = np.uint64(0)

AGENT = np.dtype(
    [
        ("rng0", np.uint64),  # state of the generator
        ("rng1", np.uint64),
        ("s", np.uint64),  # cell
        ("u", np.uint64),  # column of the machine's state
        ("t", np.uint64),  # steps of this episode
        ("narrow", np.uint64),  # previous event, if its image limits the next update, or NOTHING
        ("earned", np.float64),  # own reward of this episode
        ("banked", np.float64),  # own reward of all episodes before
        ("episodes", np.int64),
        ("completions", np.int64),
        ("option", np.uint64),  # HRM: option in force, or NOTHING
        ("option_u", np.uint64),  # HRM: machine state it leaves
        ("option_s", np.uint64),  # HRM: cell where it began
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


TASK = np.dtype([("first_u", np.uint64), ("own_score", np.uint64), ("optimum", np.float64)], align=True)
"""One machine: its start column, whether episodes are scored by own reward, and the unit of the score."""

EPISODE = np.dtype([("paid", np.float64), ("length", np.int64)], align=True)
"""One ended episode: what its task paid, and its length."""


class Log(NamedTuple):
    """What is recorded; a row per run."""

    ring: np.ndarray  # float64 [n, window]   scores of the last episodes
    ended: np.ndarray  # EPISODE [n, room]     the first episodes, as many as there is room for
    episodes: np.ndarray  # int64   [n, n_ticks]  episodes ended
    completions: np.ndarray  # int64   [n, n_ticks]  ended in success
    reward: np.ndarray  # float64 [n, n_ticks]  own reward so far
    score: np.ndarray  # float64 [n, n_ticks]  mean score of the last episodes, NaN before the first


@part
def begin_episode(me, tasks, start):
    """Return cell, machine state, steps and reward at the start of the next episode; tasks take turns."""
    return start, tasks[np.uint64(me["episodes"] % tasks.size)]["first_u"], _0, 0.0


@jit
def begin(agents, tasks, start):
    """Start all runs."""
    for i in range(agents.size):
        me = agents[i]
        me["s"], me["u"], me["t"], me["earned"] = begin_episode(me, tasks, np.uint64(start))
        me["narrow"] = me["option"] = NOTHING


@part
def end_episode(me, t, earned, outcome, tasks, ring, ended, i):
    """Record that an episode of run i ended after t steps."""
    n = me["episodes"]
    task = tasks[np.uint64(n % tasks.size)]
    paid = 1.0 if outcome == SUCCESS else 0.0
    if task["own_score"]:
        paid = earned
    ring[i, np.uint64(n % ring.shape[1])] = paid / np.float64(t) / task["optimum"]
    if n < ended.shape[1]:
        episode = ended[i, np.uint64(n)]
        episode["paid"] = paid
        episode["length"] = np.int64(t)
    me["episodes"] = n + 1
    me["completions"] += np.int64(outcome == SUCCESS)
    me["banked"] += earned


@part
def narrow_by(prune, partial, e, n_quiet):
    """Return whether event e limits the next update (itself or NOTHING), and how many events then count as quiet."""
    narrows = prune and partial[e] != 0
    return (e if narrows else NOTHING), (_0 if narrows else n_quiet)


@part
def mark_image(valid, delta, n_cols, n_u, e):
    """Mark the machine states that event e can lead to. `valid` is overwritten."""
    for v in range(n_u):
        valid[v] = 0
    for v in range(n_u):
        valid[delta[e * n_cols + np.uint64(v)]] = 1


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
