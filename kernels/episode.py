"""What all learners share: a step, the beginning and the end of an episode, the log.

An episode ends *terminated* when its machine reaches a terminal, *truncated* at the step limit. Its score is what its
task pays (1 for success, or its own reward) divided by its length and by the best expected value of that quotient;
where that is not positive, its total own reward, 0 being what random steps earn and 1 what the best policy earns.

Between ticks the state of a run rests in a record; the step loops hold it in local variables, which are registers. A
step waits for little else than its own latency, so every load and store saved on the way from cell to cell counts.
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING, SUCCESS
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.rows import room

_0 = np.uint64(0)


@part
def step(tables, s, u, a):
    """Return the cell and the machine state that move a leads to, and the event of the move: the rule of the world.

    Learners, for whom every load counts, read `packed_move` instead, and the machine only where an event changes it.
    """
    e = tables.event[s, a]
    return tables.next_s[s, a], tables.delta[e, u], e


@part
def packed_move(moves, site, a):
    """Return where the moves of the cell that move a leads to begin, and the event of that move.

    `site` is where the moves of the cell begin, its number times the number of actions.
    """
    move = moves[site + a]
    return move & LOW, move >> HALF


@part
def draw_start(starts, rng0, rng1):
    """Return a start cell, each as likely as the others, and the generator; a single one is not drawn."""
    if starts.size == 1:
        return np.uint64(starts[0]), rng0, rng1
    number, rng0, rng1 = draw(rng0, rng1)
    return np.uint64(starts[(number & LOW) * np.uint64(starts.size) >> HALF]), rng0, rng1


@part
def begin_episode(me, world, rng0, rng1):
    """Return generator, site, machine state, steps and reward at the start of the next episode; tasks take turns."""
    tasks, site = world.setting.tasks, world.start
    if world.setting.tables.starts.size > 1:
        s, rng0, rng1 = draw_start(world.setting.tables.starts, rng0, rng1)
        site = s * room(world.actions)
    return rng0, rng1, site, tasks[np.uint64(me["episodes"] % tasks.size)]["first_u"], _0, 0.0


@jit
def begin(agents, tasks, starts):
    """Start all runs."""
    for i in range(agents.size):
        me = agents[i]
        me["s"], me["rng0"], me["rng1"] = draw_start(starts, me["rng0"], me["rng1"])
        me["u"], me["t"], me["earned"] = tasks[np.uint64(0)]["first_u"], _0, 0.0
        me["narrow"] = me["option"] = NOTHING


@part
def end_episode(me, t, earned, outcome, tasks, log, i):
    """Record that an episode of run i ended after t steps."""
    ring, ended, n = log.ring, log.ended, me["episodes"]
    task = tasks[np.uint64(n % tasks.size)]
    paid = 1.0 if outcome == SUCCESS else 0.0
    if task["own_score"]:
        paid = earned
    score = paid / np.float64(t) / task["optimum"]
    if task["by_total"]:
        score = (paid - task["base"]) / task["optimum"]
    ring[i, np.uint64(n % ring.shape[1])] = score
    if n < ended.shape[1]:
        episode = ended[i, np.uint64(n)]
        episode["paid"] = paid
        episode["length"] = np.int64(t)
    me["episodes"] = n + 1
    me["completions"] += np.int64(outcome == SUCCESS)
    me["banked"] += earned


@part
def next_episode(world, lane, e, u, t, earned, rng0, rng1):
    """Record an episode that ended with event e in machine state u; return what `begin_episode` returns."""
    i, agents, log = lane[0], lane[1], lane[2]
    end_episode(agents[i], t, earned, world.setting.tables.outcome[e, u], world.setting.tasks, log, i)
    return begin_episode(agents[i], world, rng0, rng1)


@part
def narrow_by(prune, partial, e, n_quiet):
    """Return whether event e limits the next update (itself or NOTHING), and how many events then count as quiet."""
    narrows = prune and partial[e] != 0
    return (e if narrows else NOTHING), (_0 if narrows else n_quiet)


@part
def record(me, log, span, k, i):
    """Log run i after tick k of a span; the score is summed from the oldest episode to the newest."""
    window, tick, n = log.ring.shape[1], span.row + k, me["episodes"]
    if span.row < 0:
        return
    log.episodes[i, tick] = n
    log.completions[i, tick] = me["completions"]
    log.reward[i, tick] = me["banked"] + me["earned"]
    recent = min(n, window)
    total = 0.0
    for episode in range(n - recent, n):
        total += log.ring[i, episode % window]
    log.score[i, tick] = total / recent if recent else np.nan
