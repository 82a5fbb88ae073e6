"""Acting by a machine that may be wrong: CRM on the guess, until what the world pays contradicts it.

Every step all columns of the guess learn from the move, as in CRM. An episode is a *walk* now and then: it heads for a
label met before, by the shortest way over moves made before. A walk goes where the policy would not, and so it finds
what contradicts a guess that the policy never tests.
"""

from typing import Any, NamedTuple

import numpy as np

from fastrm.kernels._jit import jit, part
from fastrm.kernels.contracts import FAR, LIVE, MASK, NOTHING
from fastrm.kernels.episode import draw_start, end_episode, packed_move, record
from fastrm.kernels.policy import choose
from fastrm.kernels.rng import HALF, LOW, draw
from fastrm.kernels.rows import column_ties, count, room
from fastrm.kernels.td import sweep_ordered, sweep_quiet

DONE, WRONG, STALE, FULL = 0, 1, 2, 3
"""Why `act` stops: the steps are made, the guess is contradicted, ways are to be looked for, the trace needs room."""
PATIENCE = 60
"""Steps after which a walk chooses another label."""
CHUNK = 50
"""Episodes after which ways are looked for once more, if a move was made for the first time since."""
_WANDER = np.uint64(2**32 // 20)  # a walk makes one step in twenty at random
_0, _1, _PATIENCE, _CHUNK = np.uint64(0), np.uint64(1), np.uint64(PATIENCE), np.uint64(CHUNK)


class Scene(NamedTuple):
    """A `Setting` as sweeps read it."""

    setting: Any
    actions: Any


@jit
def compass(world, trails, seen, toward, distance, queue):
    """Overwrite `toward` with the actions that begin shortest ways to every label over the moves that were made.

    `distance` int32 and `queue` int64 [n_s] are scratch.
    """
    n_s, n_a = world.next_s.shape
    toward[:, :] = 0
    for g in range(1, toward.shape[0]):
        distance[:] = FAR
        head, tail = 0, 0
        for s in range(n_s):
            for a in range(n_a):
                if seen[s, a] and world.label[s, a] == g and distance[s] == FAR:
                    distance[s] = 1
                    queue[tail] = s
                    tail += 1
        while head < tail:
            s_next = queue[head]
            head += 1
            for k in range(trails.first_into[s_next], trails.first_into[s_next + 1]):
                s, a = trails.into[k] // n_a, trails.into[k] % n_a
                if seen[s, a] and distance[s] == FAR:
                    distance[s] = distance[s_next] + 1
                    queue[tail] = s
                    tail += 1
        for k in range(tail):
            s = queue[k]
            for a in range(n_a):
                steps = 1 if world.label[s, a] == g else distance[world.next_s[s, a]] + 1
                if seen[s, a] and steps == distance[s]:
                    toward[g, s] |= MASK(1 << a)


@part
def _choose_walking(notes, site, left, goal, n_met, actions, rng0, rng1):
    """Choose an action of a walk; return it, the steps left, the label it heads for, and the generator."""
    if left == _0 and n_met > _0:
        number, rng0, rng1 = draw(rng0, rng1)
        goal, left = np.uint64(notes.met[(number & LOW) * n_met >> HALF]), _PATIENCE
    left -= _1 if left > _0 else _0
    number, rng0, rng1 = draw(rng0, rng1)
    ways = np.uint64(notes.toward[goal, site // room(actions)])
    ways = ways if ways != _0 else (_1 << count(actions)) - _1
    return choose(ways, number, _WANDER, actions), left, goal, rng0, rng1


@jit
def act(setting, trails, guess, agents, log, i, notes, q, steps):
    """Advance run i by up to `steps`, updating its agent, its log, its notes and `q`.

    Returns the steps made and why it stopped.
    """
    me, at, rule, world = agents[i], notes.at[0], setting.rule, Scene(setting, setting.actions)
    moves, seen, actions = trails.moves, notes.seen.reshape(-1), setting.actions
    rng0, rng1, site, u, t, earned = me["rng0"], me["rng1"], me["s"] * room(actions), me["u"], me["t"], me["earned"]
    v, goal, left, walks, n = at["v"], at["goal"], at["left"], at["walks"], at["n"]
    n_met, n_seen, n_u, n_cols = at["n_met"], at["n_seen"], np.uint64(trails.n_u), np.uint64(guess.n_cols)
    why, made = DONE, 0
    while made < steps:
        if n == np.uint64(notes.labels.size):
            why = FULL
            break
        if t == _0:
            number, rng0, rng1 = draw(rng0, rng1)
            walks = np.uint64(number >> HALF < trails.walk_below)
            v, goal, left, n = _0, _0, _0, _0
        if walks:
            a, left, goal, rng0, rng1 = _choose_walking(notes, site, left, goal, n_met, actions, rng0, rng1)
        else:
            number, rng0, rng1 = draw(rng0, rng1)
            ties = column_ties(q, site * n_cols + v, n_cols, actions)
            a = choose(ties, number, rule.explore_below, actions)
        n_seen += np.uint64(1 - seen[site + a])
        seen[site + a] = 1
        row = (site + a) * n_cols
        site, x = packed_move(moves, site, a)
        row_next = site * n_cols
        made, t = made + 1, t + _1
        # nearly every step: no label, so nothing is paid and no state changes
        if x == _0 and guess.is_quiet:
            sweep_quiet(q, row, row_next, n_cols, guess.reward, _0, world)
            if t != rule.limit:
                continue
            outcome = LIVE
        # a label: the world pays, the guess says what it should have paid, and every state learns by the guess
        else:
            o = trails.output[x * n_u + u]
            outcome = trails.end[o]
            earned += trails.reward[o]
            if x != _0 or o != 0 or trails.keeps_all:
                notes.labels[n], notes.outputs[n] = np.uint32(x), o
                n += _1
            if guess.output[x * n_cols + v] != o:
                why = WRONG
            if x != _0 and not notes.is_met[x]:
                notes.is_met[x] = 1
                notes.met[n_met] = np.uint32(x)
                n_met += _1
            left = _0 if x == goal else left
            sweep_ordered(
                q, row, row_next, n_cols, guess.reward, x * n_cols, guess.delta, guess.image, NOTHING, guess.n_v, world
            )
            u, v = np.uint64(trails.delta[x * n_u + u]), np.uint64(guess.delta[x * n_cols + v])
            if outcome == LIVE and t != rule.limit:
                if why == WRONG:
                    break
                continue
        end_episode(me, t, earned, outcome, setting.tasks, log, i)
        at["episodes"] += _1
        s, rng0, rng1 = draw_start(setting.tables.starts, rng0, rng1)
        site, u, t, earned = s * room(actions), _0, _0, 0.0
        if why == WRONG:
            break
        if at["episodes"] >= _CHUNK and n_seen != at["known"]:
            why = STALE
            break
    me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"] = rng0, rng1, site // room(actions), u, t, earned
    at["v"], at["goal"], at["left"], at["walks"], at["n"] = v, goal, left, walks, n
    at["n_met"], at["n_seen"] = n_met, n_seen
    at["steps"] += made
    return made, why


@jit
def note(agents, log, span, k, i):
    """Log run i after tick k of a span."""
    record(agents[i], log, span, k, i)
