"""Two machines in one world, side by side: where they first differ."""

import numpy as np

from fastrm.kernels._jit import jit

UNSEEN, ROOT = np.int64(-2), np.int64(-1)


@jit
def first_difference(world, truth, other, before, queue):
    """Search for the shortest walk after which two machines pay or end differently, breadth first.

    Nodes are (s, u, v), numbered (s n_u + u) n_v + v, with the machine states of both. `before` int64 [n_s n_u n_v] is
    overwritten with how each was first reached, its predecessor times n_a plus the action, ROOT for starts; `queue`,
    of the same shape, is scratch. Returns the node of the difference or -1, its action, and how many nodes were seen.
    """
    n_a = world.next_s.shape[1]
    n_u, n_v = truth.delta.shape[1], other.delta.shape[1]
    before[:] = UNSEEN
    head, tail = 0, 0
    for s in world.starts:
        queue[tail] = np.int64(s) * n_u * n_v
        before[queue[tail]] = ROOT
        tail += 1
    while head < tail:
        node = queue[head]
        head += 1
        v, pair = np.uint64(node % n_v), node // n_v
        u, s = np.uint64(pair % n_u), np.uint64(pair // n_u)
        for k in range(n_a):
            a = np.uint64(k)
            x = np.uint64(world.label[s, a])
            o = truth.output[x, u]
            if o != other.output[x, v]:
                return node, k, tail
            if world.end[o]:
                continue
            ahead = (np.int64(world.next_s[s, a]) * n_u + np.int64(truth.delta[x, u])) * n_v
            ahead += np.int64(other.delta[x, v])
            if before[ahead] == UNSEEN:
                before[ahead] = node * n_a + k
                queue[tail] = ahead
                tail += 1
    return np.int64(-1), 0, tail
