"""A prefix tree of traces, and the machine that merging its states makes.

Nodes are what was read so far, the root nothing. `child` uint32 [n, n_l] is the node after one more label, NONE where
no trace goes on like this or the episode is over; `output` uint32 [n, n_l] is what that step paid and ended, by number,
NONE where it was never made. Merging is blue-fringe: *red* nodes are states of the machine, *blue* ones their children.
The first blue node, by the order of red nodes and labels, is folded into the first red one that never contradicts it,
or becomes red itself.
"""

import numpy as np

from fastrm.kernels._jit import jit, part

NONE = np.uint32(2**32 - 1)

_0, _1 = np.uint64(0), np.uint64(1)


@jit
def grow(child, output, ends, size, labels, outputs):
    """Add a trace to a tree of `size` nodes, which has room for it, updating `child` and `output`.

    Returns the number of nodes, and the step at which the trace contradicts another; if none does, its length.
    """
    node = _0
    for i in range(labels.size):
        x, o = np.uint64(labels[i]), outputs[i]
        known = output[node, x]
        if known != NONE and known != o:
            return size, i
        output[node, x] = o
        if ends[o]:
            return size, labels.size
        if child[node, x] == NONE:
            child[node, x] = np.uint32(size)
            size += 1
        node = np.uint64(child[node, x])
    return size, labels.size


@part
def _find(above, node):
    """Return the node that stands for all those merged with a node."""
    while above[node] != node:
        node = np.uint64(above[node])
    return node


@part
def _undo(above, child, output, log, n):
    """Take back the n changes that a fold has made, the last first."""
    size, n_l = np.uint64(child.shape[0]), np.uint64(child.shape[1])
    while n > 0:
        n -= 1
        place = np.uint64(log[n])
        if place < size:
            above[place] = np.uint32(place)
            continue
        place -= size
        cells = size * n_l
        if place < cells:
            output[place // n_l, place % n_l] = NONE
        else:
            child[(place - cells) // n_l, (place - cells) % n_l] = NONE


@part
def _fold(red, blue, above, child, output, stack, log):
    """Merge two nodes and all that this makes one; take it back and return False where outputs differ."""
    size, n_l = np.uint64(child.shape[0]), np.uint64(child.shape[1])
    stack[_0, _0], stack[_0, _1] = red, blue
    todo, n = 1, 0
    while todo > 0:
        todo -= 1
        a = _find(above, np.uint64(stack[np.uint64(todo), _0]))
        b = _find(above, np.uint64(stack[np.uint64(todo), _1]))
        if a == b:
            continue
        above[b] = np.uint32(a)
        log[np.uint64(n)] = b
        n += 1
        for k in range(n_l):
            x = np.uint64(k)
            if output[b, x] == NONE:
                continue
            if output[a, x] == NONE:
                output[a, x] = output[b, x]
                log[np.uint64(n)] = size + a * n_l + x
                n += 1
            elif output[a, x] != output[b, x]:
                _undo(above, child, output, log, n)
                return False
            if child[b, x] == NONE:
                continue
            if child[a, x] == NONE:
                child[a, x] = child[b, x]
                log[np.uint64(n)] = size + (size + a) * n_l + x
                n += 1
            else:
                stack[np.uint64(todo), _0], stack[np.uint64(todo), _1] = child[a, x], child[b, x]
                todo += 1
    return True


@jit
def merge(child, output, above, is_red, red, stack, log, delta, paid):
    """Merge the states of a tree, of whose arrays `child` and `output` are a copy: overwritten, as all others are.

    `above` uint32 and `is_red` uint8 [n], `red` uint32 [most], `stack` uint32 [n, 2] and `log` uint64 [n + 2 n n_l]
    are scratch. `delta` and `paid` uint32 [most, n_l] are the machine: where a label leads from a state, and its
    output; a label that was never read in a state does nothing. Returns the number of states, 0 where it is above
    `most`.
    """
    size, n_l = child.shape
    for node in range(size):
        above[node], is_red[node] = np.uint32(node), np.uint8(0)
    red[_0], is_red[_0], n_red = np.uint32(0), np.uint8(1), 1
    i, x = _0, _0
    while i < n_red:
        node = np.uint64(red[i])
        blue = _0
        if child[node, x] != NONE:
            blue = _find(above, np.uint64(child[node, x]))
        if blue == _0 or is_red[blue]:  # the root is red: 0 means that there is no blue node here
            x += _1
            if x == n_l:
                i, x = i + _1, _0
            continue
        is_folded = False
        for k in range(n_red):
            if _fold(np.uint64(red[np.uint64(k)]), blue, above, child, output, stack, log):
                is_folded = True
                break
        if not is_folded:
            if n_red == red.size:
                return 0
            red[np.uint64(n_red)], is_red[blue] = np.uint32(blue), np.uint8(1)
            n_red += 1
        i, x = _0, _0  # a fold may give any red node a blue child
    for k in range(n_red):
        v = np.uint64(k)
        for j in range(n_l):
            y = np.uint64(j)
            delta[v, y], paid[v, y] = np.uint32(v), np.uint32(0)
            node = np.uint64(red[v])
            if output[node, y] != NONE:
                paid[v, y] = output[node, y]
            if child[node, y] != NONE:
                leads = _find(above, np.uint64(child[node, y]))
                for r in range(n_red):
                    if red[np.uint64(r)] == leads:
                        delta[v, y] = np.uint32(r)
    return n_red
