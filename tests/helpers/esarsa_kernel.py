"""The kernel of a learner that does not come with fastrm: expected SARSA on cells x machine states.

Q(s, u, a) <- Q(s, u, a) + alpha (r + gamma E_b Q(s', u', b) - Q(s, u, a)), b drawn epsilon-greedily. q[run, u, s, a].
"""

import numpy as np

from fastrm.kernels import jit
from fastrm.kernels.episode import begin_episode, end_episode, packed_move, record
from fastrm.kernels.lanes import flatten
from fastrm.kernels.policy import choose, slide
from fastrm.kernels.rng import draw
from fastrm.kernels.rows import row_best, row_ties
from fastrm.kernels.td import td

_1, _4 = np.uint64(1), np.uint64(4)


@jit
def run(setting, state, span):
    """Go on for a span with every run. `state` is updated."""
    tables, rule, reward = setting.tables, setting.rule, setting.reward.reshape(-1)
    delta, own, actions = tables.delta.reshape(-1), tables.reward.reshape(-1), setting.actions
    n_cols, n_u, epsilon = np.uint64(tables.reward.shape[1]), np.uint64(tables.n_u), rule.explore_below / 2.0**32
    n_s = np.uint64(len(tables.next_s))
    for i in range(state.agents.size):
        for k in range(span.n_ticks):
            me, q = state.agents[i], state.q[i].reshape(-1)
            rng0, rng1, site, u, t, earned = me["rng0"], me["rng1"], me["s"] * _4, me["u"], me["t"], me["earned"]
            for _ in range(span.tick):
                here = u * n_s * _4 + site
                number, rng0, rng1 = draw(rng0, rng1)
                a = choose(row_ties(q, here, actions), number, rule.explore_below, actions)
                direction, rng0, rng1 = slide(setting.slip, a, rng0, rng1, actions)
                site, e = packed_move(tables.moves, site, direction)
                paid = e * n_cols + u
                u, t = np.uint64(delta[paid]), t + _1
                earned += own[paid]
                there = u * n_s * _4 + site
                mean = 0.25 * (q[there] + q[there + _1] + q[there + np.uint64(2)] + q[there + np.uint64(3)])
                ahead = epsilon * mean + (1.0 - epsilon) * row_best(q, there, actions)
                q[here + a] = td(q[here + a], reward[paid], ahead, rule.alpha, rule.gamma)
                if u == n_u or t == rule.limit:
                    end_episode(me, t, earned, tables.outcome[e, paid - e * n_cols], setting.tasks, state.log, i)
                    begun = begin_episode(me, flatten(setting), rng0, rng1)
                    rng0, rng1, site, u, t, earned = begun
            me["rng0"], me["rng1"], me["s"], me["u"], me["t"], me["earned"] = rng0, rng1, site // _4, u, t, earned
            record(me, state.log, span, k, i)
