"""CRM: after every step one counterfactual update for each machine state.  q[run, s, a, u], 0 from column n_u on."""

import numpy as np

from fastrm.kernels._jit import frame, jit, part
from fastrm.kernels.contracts import NOTHING
from fastrm.kernels.episode import narrow_by, next_episode, packed_move
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on, row_width
from fastrm.kernels.learners.qrm import own
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import column_ties, room
from fastrm.kernels.td import sweep_ordered, sweep_quiet

_0, _1 = np.uint64(0), np.uint64(1)


@part
def enter(world, lane):
    """Return the local variables of a run; events below `quiet` allow a sweep of whole rows."""
    me = lane[1][lane[0]]
    quiet = world.n_quiet if me["narrow"] == NOTHING else _0
    return me["rng0"], me["rng1"], me["s"] * room(world.actions), me["u"], me["t"], me["earned"], me["narrow"], quiet


@part
def leave(world, lane, x):
    """Write the local variables of a run back to its record."""
    me = lane[1][lane[0]]
    me["rng0"], me["rng1"], site, me["u"], me["t"], me["earned"], me["narrow"], _ = x
    me["s"] = site // room(world.actions)


@part
def place_of(lane, x, a):
    """Return where the value of action a in the run's cell and machine state lies in `q`."""
    return (x[2] + a) * row_width(lane[4].width) + x[3]


@part
def choose_in(world, q, site, column, n_cols, rng0, rng1):
    """Choose an action by the values of a column, epsilon-greedily; return it and the generator."""
    number, rng0, rng1 = draw(rng0, rng1)
    ties = column_ties(q, site * n_cols + column, n_cols, world.actions)
    return choose(ties, number, world.setting.rule.explore_below, world.actions), rng0, rng1


@part
def move(world, moves, q, site, a, n_cols, rng0, rng1):
    """Take action a, which may slip; return its row in `q`, the new site, the event, and the generator."""
    direction, rng0, rng1 = slide(world.setting.slip, world.setting.chance, site, a, rng0, rng1, world.actions)
    site_next, e = packed_move(moves, site, direction)
    fetch_ahead(world, moves, site_next, q, _0, n_cols)
    return site * n_cols + a * n_cols, site_next, e, rng0, rng1


@part
def act(world, moves, q, site, column, n_cols, rng0, rng1):
    """Choose an action as `choose_in`, and take it; return what `move` returns."""
    a, rng0, rng1 = choose_in(world, q, site, column, n_cols, rng0, rng1)
    return move(world, moves, q, site, a, n_cols, rng0, rng1)


@part
def sweep(world, lane, x, a):
    """Take action a and learn from it in every machine state; return the local variables for the next step."""
    q, rule, n_cols = lane[3], world.setting.rule, row_width(lane[4].width)
    rng0, rng1, site, u, t, earned, narrow, quiet = x
    row, site, e, rng0, rng1 = move(world, world.moves, q, site, a, n_cols, rng0, rng1)
    v, row_next, row_reward = u, site * n_cols, e * n_cols
    t += _1
    earned += world.own[row_reward + v]
    # nearly every step: no machine state changes, so all of them learn at once and the episode goes on
    if e < quiet:
        sweep_quiet(q, row, row_next, n_cols, world.reward, row_reward, world)
        if t != rule.limit:
            return rng0, rng1, site, u, t, earned, narrow, quiet
    # some state may change, so each learns from its own successor; pruning skips those that cannot be the true one
    else:
        u = np.uint64(world.delta[row_reward + v])
        sweep_ordered(
            q, row, row_next, n_cols, world.reward, row_reward, world.delta, world.image, narrow, world.n_u, world
        )
        narrow, quiet = narrow_by(rule.prune, world.setting.tables.partial, e, world.n_quiet)
    # the next episode begins without a previous event
    if u == world.n_u or t == rule.limit:
        rng0, rng1, site, u, t, earned = next_episode(world, lane, e, v, t, earned, rng0, rng1)
        narrow, quiet = NOTHING, world.n_quiet
    return rng0, rng1, site, u, t, earned, narrow, quiet


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    rng0, rng1, site, u, t, earned, narrow, quiet = x
    a, rng0, rng1 = choose_in(world, lane[3], site, u, row_width(lane[4].width), rng0, rng1)
    return sweep(world, lane, (rng0, rng1, site, u, t, earned, narrow, quiet), a)


@frame
def advance_crm(step, setting, state, span):
    """Advance all runs by `span` on CRM's table, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    advance_crm(step, setting, state, span)
