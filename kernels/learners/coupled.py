"""Coupled: CRM's sweep over the columns of an agenda, and a plan of what to pursue.  q[run, s, a, k], padding 0."""

from __future__ import annotations

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.kernels.episode import begin_episode, end_episode, packed_move
from fastrm.kernels.exact.plans import complete, legs_changed, make_plan, pursue
from fastrm.kernels.lanes import fetch_ahead, flatten, go_on, row_width
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import column_ties, room
from fastrm.kernels.td import sweep_quiet, sweep_reached

_0, _1 = np.uint64(0), np.uint64(1)


@part
def own(state, i):
    """Return what belongs to run i."""
    agenda = state.own
    return i, state.agents, state.log, state.q[i].reshape(-1), agenda, agenda.columns.reward.reshape(-1)


@jit
def begin_agenda(i, agenda, q, s, n_a, n_cols):
    """Put all stages of run i on the agenda, plan anew where a leg changed; return the column to pursue."""
    columns, strides = agenda.columns, (n_a * n_cols, _1, n_cols)
    agenda.left[i] = (_1 << np.uint64(columns.needs.size)) - _1
    agenda.last[i] = np.uint64(columns.stage.size)
    agenda.cell[i, -1] = s
    if columns.sets.size and legs_changed(columns, q, strides, agenda.cell[i], agenda.leg[i]):
        make_plan(columns, agenda.leg[i], agenda.gamma, agenda.draft, agenda.choice[i])
        agenda.plans[i] += 1
    return pursue(columns, agenda.choice[i], q, strides, agenda.left[i], agenda.last[i], s)


@part
def enter(world, mine):
    """Return the local variables of a run; u is the column it pursues."""
    i, agents, _, q, agenda, _ = mine
    me = agents[i]
    if agenda.left[i] == _0:
        me["u"] = begin_agenda(i, agenda, q, me["s"], room(world.actions), row_width(agenda.width))
    return me["rng0"], me["rng1"], me["s"] * room(world.actions), me["u"], me["t"]


@part
def leave(world, mine, x):
    """Put the local variables of a run back."""
    me = mine[1][mine[0]]
    me["rng0"], me["rng1"], site, me["u"], me["t"] = x
    me["s"] = site // room(world.actions)


@part
def step(world, mine, x):
    """Make a step of one run; return its local variables."""
    i, agents, log, q, agenda, reward = mine
    rng0, rng1, site, u, t = x
    setting, rule, columns = world.setting, world.setting.rule, agenda.columns
    n_a, n_cols = room(world.actions), row_width(agenda.width)
    here = site * n_cols
    number, rng0, rng1 = draw(rng0, rng1)
    a = choose(column_ties(q, here + u, n_cols, world.actions), number, rule.explore_below, world.actions)
    direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, world.actions)
    site, e = packed_move(columns.moves, site, direction)
    fetch_ahead(world, columns.moves, site, q, _0, n_cols)
    row, there = here + a * n_cols, site * n_cols
    t += _1
    if e == _0:
        sweep_quiet(q, row, there, n_cols, reward, _0, world)
        if t != rule.limit:
            return rng0, rng1, site, u, t
    else:
        sweep_reached(q, row, there, n_cols, reward, e * n_cols, world)
        before = agenda.left[i]
        left, last = complete(columns, e, before, agenda.last[i], site // n_a, agenda.cell[i])
        agenda.left[i], agenda.last[i] = left, last
        if left != before and left != _0 and t != rule.limit:
            u = pursue(columns, agenda.choice[i], q, (n_a * n_cols, _1, n_cols), left, last, site // n_a)
    is_done = agenda.left[i] == _0
    if is_done or t == rule.limit:
        me = agents[i]
        end_episode(me, t, np.float64(is_done), SUCCESS if is_done else LIVE, setting.tasks, log, i)
        rng0, rng1, site, _, t, _ = begin_episode(me, world, rng0, rng1)
        u = begin_agenda(i, agenda, q, site // n_a, n_a, n_cols)
    return rng0, rng1, site, u, t


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    go_on(own, enter, step, leave, flatten(setting), state, span, row_width(state.own.width))
