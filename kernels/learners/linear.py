"""Tiles of Water world: which of them a state lies in, and where their weights are.

QRM and CRM on Water world: values are sums of weights, one for every tile that a state lies in.

``Q(s, u, a) = q_init + w_1 + ... + w_K``, and ``w_k <- w_k + (alpha / K) (r + gamma max_b Q(s', u', b) - Q(s, u, a))``.
Tiles that were never met have no weights yet: a table gives each of them a row when it is first met, so that what a run
has seen lies close together.
"""

from typing import NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import LIVE, Rule
from fastrm.kernels.episode import end_episode, record
from fastrm.kernels.policy import choose_among
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.simd import prefetch
from fastrm.kernels.worlds.water import (
    N_PUSHES,
    Machines,
    Scratch,
    WaterTables,
    make_move,
    measure,
    next_event,
    paid,
    touched,
)

_LINE = 8


# fmt: off
class Tilings(NamedTuple):
    """Which tiles a state lies in. Of the two sets of features only one is in use; the other's arrays are empty.

    *Memory* (`is_sight` false): tile k is ``x[k, x_state] + y[k, y_state] + t[k, time]``, the same for all machine
    states. *Sight*: for every machine state, and every group of colours that it looks at, tiles of offset and relative
    velocity of the nearest ball: ``floor((value + shift) / width)``.
    """

    is_sight: bool
    x:        np.ndarray  # int64   [K, n_x]
    y:        np.ndarray  # int64   [K, n_y]
    t:        np.ndarray  # int64   [K, T + 1]
    groups:   np.ndarray  # int64   [n_u, n_g]         a bit per colour; 0 where a state has fewer groups
    base:     np.ndarray  # int64   [n_u, n_g, n_k]    number of the first tile of a tiling
    width:    np.ndarray  # float64 [n_k, 2]           of offsets, of velocities
    shift:    np.ndarray  # float64 [n_k, 2]
    sides:    np.ndarray  # int64   [n_k, 2]           tiles along an offset, along a velocity
    count:    np.ndarray  # int64   [n_u]              K of every machine state
    n_tiles:  int
# fmt: on


@part
def _row(me, state, tile, size, is_new):
    """Return the first weight of a tile's row; a tile that has none gets a new one, or row 0 if it may not."""
    row = np.int64(state.row_of[tile])
    if row == 0 and is_new:
        me["rows"] += 1
        row = me["rows"]
        state.row_of[tile] = row
    return row * size


@part
def _look(physics, t, x, y, sees):
    """Overwrite `sees` with what the agent sees of every ball."""
    for b in range(physics.colour.size):
        dx, dy = physics.balls[t, b, 0] - physics.x[x, 0], physics.balls[t, b, 1] - physics.y[y, 0]
        sees[b, 0], sees[b, 1] = dx, dy
        sees[b, 2], sees[b, 3] = physics.balls[t, b, 2] - physics.x[x, 1], physics.balls[t, b, 3] - physics.y[y, 1]
        sees[b, 4] = dx * dx + dy * dy


@part
def find_rows(setting, me, state, t, x, y, rows, is_new):
    """Overwrite `rows` with the first weights of all tiles that a state lies in, for every machine state."""
    tilings, n_u = setting.tilings, setting.machines.n_u
    if not tilings.is_sight:
        # all numbers of rows are asked for before the first is read, and all weights before the first is added; of one
        # machine state the tables are small, and asking costs more than it saves
        for k in range(tilings.x.shape[0]):
            rows[0, k] = tilings.x[k, x] + tilings.y[k, y] + tilings.t[k, t]
            if n_u > 1:
                prefetch(state.row_of, rows[0, k])
        for k in range(tilings.x.shape[0]):
            row = _row(me, state, rows[0, k], n_u * N_PUSHES, is_new)
            if n_u > 1:
                for weight in range(row, row + n_u * N_PUSHES, _LINE):
                    prefetch(state.weights, weight)
            for u in range(n_u):
                rows[u, k] = row + u * N_PUSHES
        return
    _look(setting.physics, t, x, y, state.sees)
    sees = state.sees
    for u in range(n_u):
        n = 0
        for g in range(tilings.groups.shape[1]):
            colours = tilings.groups[u, g]
            if colours == 0:
                continue
            nearest, least = -1, np.inf
            for b in range(setting.physics.colour.size):
                if colours >> setting.physics.colour[b] & 1 and sees[b, 4] < least:
                    nearest, least = b, sees[b, 4]
            for k in range(tilings.width.shape[0]):
                tile = np.int64(0)
                for j in range(4):
                    value = (sees[nearest, j] + tilings.shift[k, j >> 1]) / tilings.width[k, j >> 1]
                    tile = tile * tilings.sides[k, j >> 1] + np.int64(np.floor(value))
                rows[u, n] = _row(me, state, tilings.base[u, g, k] + tile, N_PUSHES, is_new)
                n += 1


NO_EVENT = -1
_0, _PUSHES = np.uint64(0), np.uint64(N_PUSHES)


# fmt: off
class WaterSetting(NamedTuple):
    """What stays the same while runs go on. Read-only."""

    physics:  WaterTables
    machines: Machines
    tilings:  Tilings
    tasks:    np.ndarray  # TASK  [n_m]
    rule:     Rule
    q_init:   float
    sweeps:   bool        #             update every machine state (CRM), or the one in force (QRM)?
    rest_x:   np.ndarray  # int64 [n]   states of the x axis at rest, where episodes begin anywhere; else empty
    rest_y:   np.ndarray  # int64 [n]
    carried:  np.ndarray  # int64 [5, 2]  delayed: where later episodes begin after each first action


class WaterState(NamedTuple):
    """What one run changes on its way. All of it is updated; `rows_*` and `values` are room to work in."""

    agents:    np.ndarray  # WATER_AGENT [1]
    log:       tuple       # Log
    row_of:    np.ndarray  # int32   [n_tiles]           row of weights, 0 where a tile was never met
    weights:   np.ndarray  # float64 [rows * n_u * 5] or [rows * 5]
    rows_here: np.ndarray  # int64   [n_u, K]            first weight of every tile that the state lies in
    rows_next: np.ndarray  # int64   [n_u, K]
    values:    np.ndarray  # float64 [5]
    sees:      np.ndarray  # float64 [n_b, 5]            offset, relative velocity and distance of every ball
    scratch:   Scratch


WATER_AGENT = np.dtype([
    ("rng0",        np.uint64),   # state of the generator
    ("rng1",        np.uint64),
    ("x",           np.int64),    # states of the axes
    ("y",           np.int64),
    ("u",           np.int64),    # machine state
    ("t",           np.int64),    # steps of this episode
    ("touching",    np.int64),    # balls touched now
    ("waiting",     np.int64),    # delayed: colours that the next move shows
    ("previous",    np.int64),    # event of the last move, or NO_EVENT
    ("first",       np.int64),    # first action of the run, -1 before it
    ("rows",        np.int64),    # rows of weights in use
    ("earned",      np.float64),  # own reward of this episode
    ("banked",      np.float64),  # own reward of all episodes before
    ("episodes",    np.int64),
    ("completions", np.int64),
], align=True)
"""Where one run stands."""
# fmt: on


@part
def _evaluate(setting, state, rows, u):
    """Overwrite `state.values` with the value of every action, and return the largest."""
    w, n = state.weights, setting.tilings.count[u]
    v0 = v1 = v2 = v3 = v4 = setting.q_init
    for k in range(n):
        i = np.uint64(rows[u, k])
        v0 += w[i]
        v1 += w[i + np.uint64(1)]
        v2 += w[i + np.uint64(2)]
        v3 += w[i + np.uint64(3)]
        v4 += w[i + np.uint64(4)]
    out = state.values
    out[0], out[1], out[2], out[3], out[4] = v0, v1, v2, v3, v4
    return max(max(max(v0, v1), max(v2, v3)), v4)


@part
def _learn(setting, state, u, a, target, alpha):
    """Move the value of an action towards its target."""
    w, n, rows = state.weights, setting.tilings.count[u], state.rows_here
    value = setting.q_init
    for k in range(n):
        value += w[np.uint64(rows[u, k] + a)]
    change = alpha / n * (target - value)
    for k in range(n):
        w[np.uint64(rows[u, k] + a)] += change


@part
def _begin_episode(setting, me):
    """Put the agent at a start; where episodes begin anywhere, one draw decides."""
    physics, n = setting.physics, me["episodes"]
    me["x"], me["y"] = physics.start[0], physics.start[1]
    if physics.delayed and me["first"] >= 0:
        me["x"], me["y"] = setting.carried[me["first"], 0], setting.carried[me["first"], 1]
    if setting.rest_x.size:
        number, me["rng0"], me["rng1"] = draw(me["rng0"], me["rng1"])
        me["x"] = setting.rest_x[(number & LOW) * np.uint64(setting.rest_x.size) >> HALF]
        me["y"] = setting.rest_y[(number >> HALF) * np.uint64(setting.rest_y.size) >> HALF]
    me["u"] = setting.machines.first_u[n % setting.machines.first_u.size]
    me["t"], me["earned"], me["waiting"], me["previous"] = 0, 0.0, 0, NO_EVENT
    me["touching"] = touched(physics, 0, me["x"], me["y"])


@jit
def begin(setting, state):
    """Start a run."""
    me = state.agents[0]
    me["first"] = -1
    _begin_episode(setting, me)


@part
def _sweep(setting, state, me, e, a, at_limit):
    """Learn from a move: in every machine state, or in the one in force."""
    machines, rule = setting.machines, setting.rule
    for v in range(machines.n_u):
        if not setting.sweeps and v != me["u"]:
            continue
        if setting.sweeps and rule.prune and me["previous"] != NO_EVENT and not machines.image[me["previous"], v]:
            continue
        target = paid(machines, e, v, state.scratch)
        if machines.outcome[e, v] == LIVE and (setting.sweeps or rule.bootstraps_at_limit or not at_limit):
            target += rule.gamma * _evaluate(setting, state, state.rows_next, np.int64(machines.delta[e, v]))
        _learn(setting, state, v, a, target, rule.alpha)


@jit
def run(setting, state, span):
    """Make the steps of a span."""
    me, physics, machines, rule = state.agents[0], setting.physics, setting.machines, setting.rule
    reads = machines.feature.shape[0] > 0
    limit = np.int64(rule.limit)
    for tick in range(span.n_ticks):
        find_rows(setting, me, state, me["t"], me["x"], me["y"], state.rows_here, True)
        if reads:
            measure(physics, machines, me["t"], me["x"], me["y"], state.scratch.after)
        for _ in range(span.tick):
            _evaluate(setting, state, state.rows_here, me["u"])
            number, me["rng0"], me["rng1"] = draw(me["rng0"], me["rng1"])
            a = np.int64(choose_among(state.values, _0, _0, _PUSHES, number, rule.explore_below))
            if me["first"] < 0:
                me["first"] = a
            x, y, now, fresh, label = make_move(physics, me["t"], me["x"], me["y"], a, me["touching"], me["waiting"])
            t = me["t"] + 1
            e = next_event(physics, machines, t, x, y, label, state.scratch)
            find_rows(setting, me, state, t, x, y, state.rows_next, True)
            at_limit = t == limit
            _sweep(setting, state, me, e, a, at_limit)
            outcome = machines.outcome[e, me["u"]]
            me["earned"] += paid(machines, e, me["u"], state.scratch)
            me["x"], me["y"], me["t"], me["u"] = x, y, t, np.int64(machines.delta[e, me["u"]])
            me["touching"], me["waiting"], me["previous"] = now, fresh, e
            if outcome != LIVE or at_limit:
                end_episode(me, t, me["earned"], outcome, setting.tasks, state.log, 0)
                _begin_episode(setting, me)
                find_rows(setting, me, state, 0, me["x"], me["y"], state.rows_here, True)
                if reads:
                    measure(physics, machines, 0, me["x"], me["y"], state.scratch.after)
            else:
                for u in range(machines.n_u):
                    for k in range(setting.tilings.count[u]):
                        state.rows_here[u, k] = state.rows_next[u, k]
        record(me, state.log, span, tick, 0)


@jit
def look(setting, state, t, x, y, u):
    """Overwrite `state.values` with the value of every action in a state; weights stay as they are."""
    find_rows(setting, state.agents[0], state, t, x, y, state.rows_next, False)
    _evaluate(setting, state, state.rows_next, u)


@jit
def follow(setting, state, x, y, u, actions):
    """Follow the greedy policy from states of the axes and of the machine; return the moves made and the outcome.

    `actions` int64 [limit] is overwritten. Ties go to the highest action. Weights stay as they are.
    """
    me, physics, machines = state.agents[0], setting.physics, setting.machines
    touching, waiting = touched(physics, 0, x, y), np.int64(0)
    if machines.feature.shape[0] > 0:
        measure(physics, machines, 0, x, y, state.scratch.after)
    for n in range(actions.size):
        find_rows(setting, me, state, n, x, y, state.rows_next, False)
        best, a = _evaluate(setting, state, state.rows_next, u), 0
        for b in range(N_PUSHES):
            if state.values[b] == best:
                a = b
        actions[n] = a
        x, y, touching, waiting, label = make_move(physics, n, x, y, a, touching, waiting)
        e = next_event(physics, machines, n + 1, x, y, label, state.scratch)
        outcome = machines.outcome[e, u]
        u = np.int64(machines.delta[e, u])
        if outcome != LIVE:
            return n + 1, np.int64(outcome)
    return actions.size, np.int64(LIVE)
