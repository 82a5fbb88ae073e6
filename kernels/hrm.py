"""HRM: options for the edges of the machine, and a controller that chooses among them.

The options learn like the states of one more machine: option o, in column o, goes on while its machine state lasts and
ends in the worthless column n_o when that state is left. So their sweep is CRM's. ``q[run, s, a, option]`` and
``controller[run, s, option]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit
from fastrm.kernels.agents import NOTHING, end_episode, mark_valid, move_on, record
from fastrm.kernels.policy import choose, choose_among
from fastrm.kernels.rng import draw
from fastrm.kernels.td import sweep_ordered, sweep_quiet

_1 = np.uint64(1)


class Options(NamedTuple):
    """The options of a problem, ordered by the machine state they leave. C-contiguous, read-only."""

    first: np.ndarray  # int64   [n_u + 1]       options first[u] .. first[u + 1] - 1 leave machine state u
    owner: np.ndarray  # uint32  [n_o]           the machine state an option leaves
    delta: np.ndarray  # uint32  [n_e, n_cols]   the option itself while it goes on, n_o when it ends
    reward: np.ndarray  # float64 [n_e, n_cols]   what it learns from: the machine's reward, and its own at the end


@jit
def begin_option(options, rule, me, values):
    """Let the controller choose an option by its `values` [n_o] of the cell the run stands on."""
    first, last = options.first[me["u"]], options.first[me["u"] + _1]
    me["option"] = choose_among(values, first, last, draw(me), rule.explore_below)
    me["option_s"] = me["s"]
    me["option_return"] = 0.0
    me["discount"] = 1.0


@jit
def end_option(options, rule, me, controller, i, s_next, u_next, bootstraps):
    """Update the controller with the return of the option of run i."""
    target = me["option_return"]
    if bootstraps:
        best = controller[i, s_next, options.first[u_next]]
        for o in range(options.first[u_next], options.first[u_next + _1]):
            best = max(best, controller[i, s_next, o])
        target += me["discount"] * best
    s, o = me["option_s"], me["option"]
    controller[i, s, o] += rule.controller_alpha * (target - controller[i, s, o])
    me["option"] = NOTHING


@jit
def mark_options(tables, owner, last, prune, valid, keep):
    """Mark the options to update: those of the machine states to update. `valid` and `keep` are overwritten."""
    mark_valid(tables.delta, tables.partial, last, prune, tables.n_u, valid)
    for o in range(owner.size):
        keep[o] = valid[owner[o]]


@jit
def run(tables, reward, options, rule, agents, log, q, controller, valid, keep, n_ticks, tick, row):
    """Step all runs in lockstep for n_ticks x tick steps, logging from column `row` on (not at all if negative).

    `agents`, `log`, `q` float64 [n, n_s, n_a, n_cols] and `controller` float64 [n, n_s, n_o] are updated; q is 0 from
    column n_o on. `valid` uint8 [columns of the tables] and `keep` uint8 [n_cols] are scratch.
    """
    next_s, event, delta, own = tables.next_s, tables.event, tables.delta, tables.reward
    owner, ends, earns = options.owner, options.delta, options.reward
    n_u, n_quiet = np.uint64(tables.n_u), np.uint64(tables.n_quiet)
    for k in range(n_ticks):
        for _ in range(tick):
            for lane in range(agents.size):
                i = np.uint64(lane)
                me = agents[i]
                s, u = me["s"], me["u"]
                if me["option"] == NOTHING:
                    begin_option(options, rule, me, controller[i, s])
                o = me["option"]
                a = choose(q[i, s, 0, o], q[i, s, 1, o], q[i, s, 2, o], q[i, s, 3, o], draw(me), rule.explore_below)
                s_next, e = np.uint64(next_s[s, a]), np.uint64(event[s, a])
                u_next = u
                if e < n_quiet and (not rule.prune or me["last"] < n_quiet):
                    sweep_quiet(q, i, s, a, s_next, e, earns, rule.alpha, rule.gamma)
                else:
                    u_next = np.uint64(delta[e, u])
                    mark_options(tables, owner, me["last"], rule.prune, valid, keep)
                    sweep_ordered(q, i, s, a, s_next, e, earns, ends, keep, owner.size, rule.alpha, rule.gamma)
                me["option_return"] += me["discount"] * reward[e, u]
                me["discount"] *= rule.gamma
                cut = me["t"] + _1 == rule.limit
                if u_next != np.uint64(owner[o]) or (cut and not rule.option_survives):
                    bootstraps = u_next != n_u and not (cut and rule.option_survives)
                    end_option(options, rule, me, controller, i, s_next, u_next, bootstraps)
                if move_on(me, own[e, u], s_next, u_next, e, rule.limit, n_u):
                    end_episode(tables, log, agents, i, e, u)
        if row >= 0:
            record(agents, log, row + k)
