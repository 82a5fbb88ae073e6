"""The kernel of a learner that does not come with fastrm: expected SARSA on cells x machine states.

Q(s, u, a) <- Q(s, u, a) + alpha (r + gamma E_b Q(s', u', b) - Q(s, u, a)), b drawn epsilon-greedily. q[run, u, s, a].
"""

from fastrm.custom import (
    advance_qrm,
    choose_action,
    jit,
    learn,
    move,
    part,
    resume,
    row_best,
    row_mean,
    row_of,
    row_ties,
)


@part
def step(world, lane, x):
    """Make one step of a run; return its new local variables."""
    q, here, epsilon = lane[3], row_of(x), world.setting.rule.explore_below / 2.0**32
    a, x = choose_action(world, row_ties(q, here, world.actions), x)
    x, e, edge = move(world, q, a, x)
    mean, best = row_mean(q, row_of(x), world.actions), row_best(q, row_of(x), world.actions)
    learn(world, q, here + a, edge, epsilon * mean + (1.0 - epsilon) * best)
    return resume(world, lane, x, e, edge)


@jit
def run(setting, state, span):
    """Advance all runs by `span`, updating `state` in place."""
    advance_qrm(step, setting, state, span)
