"""HRM: options for the edges of the machine, and a controller that chooses among them.

The options learn like the states of one more machine: option o, in column o, goes on while its machine state lasts and
ends in the worthless column n_o when that state is left. So their sweep is CRM's. ``q[run][s, a, option]`` and
``controller[run][s, option]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import BLOCK, NOTHING, event_of, next_of
from fastrm.kernels.episode import begin_episode, end_episode, mark_image, narrow_by, record
from fastrm.kernels.policy import choose, choose_among, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.simd import column_ties
from fastrm.kernels.td import sweep_kept, sweep_ordered, sweep_quiet

_0, _1, _4 = np.uint64(0), np.uint64(1), np.uint64(4)


class Options(NamedTuple):
    """The options of a problem, ordered by the machine state they leave. C-contiguous, read-only."""

    first: np.ndarray  # uint64  [n_u + 1]       options first[u] .. first[u + 1] - 1 leave machine state u
    owner: np.ndarray  # uint32  [n_o]           the machine state an option leaves
    delta: np.ndarray  # uint32  [n_e, n_cols]   the option itself while it goes on, n_o when it ends
    reward: np.ndarray  # float64 [n_e, n_cols]   what it learns from: the machine's reward, and its own at the end


@part
def best_option(controller, values, first, u):
    """Return the value of the best option that leaves machine state u."""
    best = controller[values + first[u]]
    for o in range(first[u], first[u + _1]):
        best = max(best, controller[values + np.uint64(o)])
    return best


@part
def advance(i, tables, tasks, reward, options, rule, slip, agents, log, q, n_cols, controller, valid, keep, tick):
    """Make `tick` steps of run i."""
    moves, delta, own, outcome = tables.moves, tables.delta.reshape(-1), tables.reward.reshape(-1), tables.outcome
    owner, first, ends, earns = options.owner, options.first, options.delta.reshape(-1), options.reward.reshape(-1)
    n_u, n_quiet, start = np.uint64(tables.n_u), np.uint64(tables.n_quiet), np.uint64(tables.start)
    n_states, n_o = np.uint64(tables.reward.shape[1]), np.uint64(owner.size)
    me, partial = agents[i], tables.partial
    rng0, rng1, s, u, t, earned, narrow = me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"]
    o, o_u, o_s, gain, discount = me["option"], me["option_u"], me["option_s"], me["option_return"], me["discount"]
    quiet = n_quiet if narrow == NOTHING else _0
    for _ in range(tick):
        if o == NOTHING:
            number, rng0, rng1 = draw(rng0, rng1)
            o = choose_among(controller, s * n_o, first[u], first[u + _1], number, rule.explore_below)
            o_u, o_s, gain, discount = u, s, 0.0, 1.0
        here = s * _4 * n_cols
        number, rng0, rng1 = draw(rng0, rng1)
        a = choose(column_ties(q, here + o, n_cols), number, rule.explore_below)
        direction, rng0, rng1 = slide(slip, a, rng0, rng1)
        move = moves[s * _4 + direction]
        s, e = next_of(move), event_of(move)
        v, row, there, paid = u, here + a * n_cols, s * _4 * n_cols, e * n_cols
        t += _1
        earned += own[e * n_states + v]
        gain += discount * reward[e * n_states + v]
        discount *= rule.gamma
        if e < quiet:
            sweep_quiet(q, row, there, n_cols, earns, paid, rule.alpha, rule.gamma)
        else:
            u = np.uint64(delta[e * n_states + v])
            if narrow == NOTHING:
                sweep_ordered(q, row, there, n_cols, earns, paid, ends, n_o, rule.alpha, rule.gamma)
            else:
                mark_image(valid, delta, n_states, n_u, narrow)
                for j in range(n_o):
                    keep[j] = valid[owner[j]]
                sweep_kept(q, row, there, n_cols, earns, paid, ends, keep, n_o, rule.alpha, rule.gamma)
            narrow, quiet = narrow_by(rule.prune, partial, e, n_quiet)
        cut = t == rule.limit
        if u != o_u or (cut and not rule.option_survives):
            if u != n_u and not (cut and rule.option_survives):
                gain += discount * best_option(controller, s * n_o, first, u)
            value = o_s * n_o + o
            controller[value] += rule.controller_alpha * (gain - controller[value])
            o = NOTHING
        if u == n_u or cut:
            end_episode(me, t, earned, outcome[e, v], tasks, log.ring, log.ended, i)
            s, u, t, earned = begin_episode(me, tasks, start)
            narrow, quiet = NOTHING, n_quiet
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"], me["narrow"] = rng0, rng1, s, u, t, earned, narrow
    me["option"], me["option_u"], me["option_s"], me["option_return"], me["discount"] = o, o_u, o_s, gain, discount


@jit
def run(tables, tasks, reward, options, rule, slip, agents, log, q, controller, valid, keep, n_ticks, tick, row):
    """Make n_ticks x tick steps of every run, logging from column `row` on (not at all if negative).

    `agents`, `log`, `q` float64 [n, n_s * n_a * n_cols] and `controller` float64 [n, n_s * n_o] are updated; q is 0
    from column n_o on. `slip` is as in `qrm`. `valid` uint8 [columns of the tables] and `keep` uint8 [n_cols] are
    scratch. A row of one block is compiled by itself: its width is then a constant.
    """
    n_cols = options.reward.shape[1]
    for k in range(n_ticks):
        for i in range(agents.size):
            mine, values = q[i], controller[i]
            if n_cols == BLOCK:
                advance(i, tables, tasks, reward, options, rule, slip, agents, log, mine, np.uint64(BLOCK), values,
                        valid, keep, tick)  # fmt: skip
            else:
                advance(i, tables, tasks, reward, options, rule, slip, agents, log, mine, np.uint64(n_cols), values,
                        valid, keep, tick)  # fmt: skip
        if row >= 0:
            record(agents, log, row + k)
