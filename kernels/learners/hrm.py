"""HRM: options for the edges of the machine, and a controller that chooses among them.

The options learn like the states of one more machine: option o, in column o, goes on while its machine state lasts and
ends in the worthless column n_o when that state is left. So their sweep is CRM's. q[run, s, a, option], 0 from
column n_o on, and controller[run, s, option].
"""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import NOTHING
from fastrm.kernels.episode import narrow_by, next_episode
from fastrm.kernels.lanes import flatten, go_on, row_width
from fastrm.kernels.learners import crm
from fastrm.kernels.learners.crm import act
from fastrm.kernels.policy import choose_among
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import room
from fastrm.kernels.simd import rare
from fastrm.kernels.td import normal, sweep_ordered, sweep_quiet

_1 = np.uint64(1)


@part
def best_option(controller, values, first, u):
    """Return the value of the best option that leaves machine state u."""
    best = controller[values + first[u]]
    for o in range(first[u], first[u + _1]):
        best = max(best, controller[values + np.uint64(o)])
    return best


@part
def own(state, i):
    """Return what belongs to run i, and what options there are."""
    options = state.own.options
    learned = state.q[i].reshape(-1), state.own.controller[i].reshape(-1)
    tables = options.delta.reshape(-1), options.reward.reshape(-1), options.image.reshape(-1)
    return i, state.agents, state.log, state.own, learned, tables


@part
def enter(world, lane):
    """Return the local variables of a run: those of CRM, and those of its option."""
    me = lane[1][lane[0]]
    return crm.enter(world, lane), (me["option"], me["option_s"], me["option_return"], me["discount"])


@part
def leave(world, lane, x):
    """Write the local variables of a run back to its record."""
    crm.leave(world, lane, x[0])
    me = lane[1][lane[0]]
    me["option"], me["option_s"], me["option_return"], me["discount"] = x[1]


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    hierarchy, (q, controller), (ends, earns, image) = lane[3], lane[4], lane[5]
    (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount) = x
    rule, n_cols = world.setting.rule, row_width(hierarchy.width)
    first, n_o = hierarchy.options.first, np.uint64(hierarchy.options.owner.size)
    # the controller chooses an option only where none is in force
    if rare(o == NOTHING):
        number, rng0, rng1 = draw(rng0, rng1)
        o_s, gain, discount = site // room(world.actions), 0.0, 1.0
        o = choose_among(controller, o_s * n_o, first[u], first[u + _1], number, rule.explore_below)
    row, site, e, rng0, rng1 = act(world, world.moves, q, site, o, n_cols, rng0, rng1)
    v, edge, row_next, row_reward = u, e * world.n_cols + u, site * n_cols, e * n_cols
    t += _1
    earned += world.own[edge]
    # the controller learns from the discounted reward of the whole option
    gain += discount * world.reward[edge]
    discount *= rule.gamma
    # the options learn as the machine states of CRM do
    if not rare(e >= quiet):
        sweep_quiet(q, row, row_next, n_cols, earns, row_reward, world)
        if not rare(t == rule.limit):
            return (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount)
        ended = False
    else:
        u = np.uint64(world.delta[edge])
        ended = ends[row_reward + o] == n_o  # by its own machine and state, whatever is played
        sweep_ordered(q, row, row_next, n_cols, earns, row_reward, ends, image, narrow, n_o, world)
        narrow, quiet = narrow_by(rule.prune, world.setting.tables.partial, e, world.n_quiet)
    # an option that ended, or that the limit ends, teaches the controller
    cut = t == rule.limit
    if ended or (cut and not rule.option_survives):
        if u != world.n_u and not (cut and rule.option_survives):
            gain += discount * best_option(controller, site // room(world.actions) * n_o, first, u)
        value = o_s * n_o + o
        controller[value] = normal(controller[value] + rule.controller_alpha * (gain - controller[value]))
        o = NOTHING
    if u == world.n_u or cut:
        rng0, rng1, site, u, t, earned = next_episode(world, lane, e, v, t, earned, rng0, rng1)
        narrow, quiet = NOTHING, world.n_quiet
    return (rng0, rng1, site, u, t, earned, narrow, quiet), (o, o_s, gain, discount)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))
