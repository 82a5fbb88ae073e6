"""Coupled: CRM's sweep over the columns of an agenda, and a plan of what to pursue.  q[run, s, a, k], padding 0."""

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.episode import begin_episode, end_episode
from fastrm.kernels.exact.plans import complete, legs_changed, make_plan, pursue
from fastrm.kernels.lanes import flatten, go_on, row_width
from fastrm.kernels.learners.crm import act
from fastrm.kernels.rows import room
from fastrm.kernels.td import sweep_quiet, sweep_reached

_0, _1 = np.uint64(0), np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i."""
    agenda = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), agenda, agenda.columns.reward.reshape(-1)


@jit
def begin_agenda(i, agenda, q, s, n_a, n_cols):
    """Put all stages on the agenda of run i, plan again if a leg changed, and return the column to pursue."""
    columns, strides = agenda.columns, (n_a * n_cols, _1, n_cols)
    agenda.left[i] = (_1 << np.uint64(columns.needs.size)) - _1
    agenda.last[i] = np.uint64(columns.stage.size)
    agenda.cell[i, -1] = s
    if columns.sets.size and legs_changed(columns, q, strides, agenda.cell[i], agenda.leg[i]):
        make_plan(columns, agenda.leg[i], agenda.gamma, agenda.draft, agenda.choice[i])
        agenda.plans[i] += 1
    return pursue(columns, agenda.choice[i], q, strides, agenda.left[i], agenda.last[i], s)


@part
def enter(world, lane):
    """Return the local variables of a run; u is the column it pursues."""
    i, agents, _, q, agenda, _ = lane
    me = agents[i]
    if agenda.left[i] == _0:
        me["u"] = begin_agenda(i, agenda, q, me["s"], room(world.actions), row_width(agenda.width))
    return me["rng0"], me["rng1"], me["s"] * room(world.actions), me["u"], me["t"]


@part
def leave(world, lane, x):
    """Write the local variables of a run back to its record."""
    me = lane[1][lane[0]]
    me["rng0"], me["rng1"], site, me["u"], me["t"] = x
    me["s"] = site // room(world.actions)


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    i, agents, log, q, agenda, reward = lane
    rng0, rng1, site, u, t = x
    rule, columns = world.setting.rule, agenda.columns
    n_a, n_cols = room(world.actions), row_width(agenda.width)
    row, site, e, rng0, rng1 = act(world, columns.moves, q, site, u, n_cols, rng0, rng1)
    row_next = site * n_cols
    t += _1
    # nearly every step: no column reads the move, so all of them learn at once and the episode goes on
    if e == _0:
        sweep_quiet(q, row, row_next, n_cols, reward, _0, world)
        if t != rule.limit:
            return rng0, rng1, site, u, t
    # some object was reached: what it completes leaves the agenda, and another column may be pursued
    else:
        sweep_reached(q, row, row_next, n_cols, reward, e * n_cols, world)
        before = agenda.left[i]
        left, last = complete(columns, e, before, agenda.last[i], site // n_a, agenda.cell[i])
        agenda.left[i], agenda.last[i] = left, last
        if left != before and left != _0 and t != rule.limit:
            u = pursue(columns, agenda.choice[i], q, (n_a * n_cols, _1, n_cols), left, last, site // n_a)
    is_done = agenda.left[i] == _0
    if is_done or t == rule.limit:
        me = agents[i]
        end_episode(me, t, np.float64(is_done), SUCCESS if is_done else LIVE, world.setting.tasks, log, i)
        rng0, rng1, site, _, t, _ = begin_episode(me, world, rng0, rng1)
        u = begin_agenda(i, agenda, q, site // n_a, n_a, n_cols)
    return rng0, rng1, site, u, t


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))
