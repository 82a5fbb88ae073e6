"""Machines from traces, slow and obvious: dictionaries and lists, nothing imported from the package.

A machine is a list of states, each {label: (next state, output)}; an output is (reward, end). What is not there keeps
the state and gives `NOTHING`. A trace is a list of (label, output).
"""

from itertools import product

NOTHING = (0.0, 0)


def step(machine, v, label):
    return machine[v].get(label, (v, NOTHING))


def explains(machine, trace):
    v = 0
    for label, output in trace:
        v, given = step(machine, v, label)
        if given != output:
            return False
    return True


def infer(traces):
    """Merge the states of the prefix tree: blue nodes in order of red ones and labels, each into the first red one."""
    child, output = [{}], [{}]
    for trace in traces:
        node = 0
        for label, given in trace:
            assert output[node].setdefault(label, given) == given
            if given[1]:
                break
            if label not in child[node]:
                child[node][label] = len(child)
                child.append({})
                output.append({})
            node = child[node][label]
    red, above = [0], list(range(len(child)))

    def find(node):
        while above[node] != node:
            node = above[node]
        return node

    def blue():
        for node in red:
            for label in sorted(child[node]):
                if find(child[node][label]) not in red:
                    return find(child[node][label])
        return None

    while (node := blue()) is not None:
        for other in red:
            before = [dict(x) for x in child], [dict(x) for x in output], list(above)
            if fold(other, node, child, output, above, find):
                break
            child[:], output[:], above[:] = before
        else:
            red.append(node)
    number = {node: v for v, node in enumerate(red)}
    return [
        {label: (number[find(child[node][label])] if label in child[node] else v, given)
         for label, given in output[node].items()}
        for v, node in enumerate(red)
    ]  # fmt: skip


def fold(a, b, child, output, above, find):
    a, b = find(a), find(b)
    if a == b:
        return True
    above[b] = a
    for label, given in output[b].items():
        if output[a].setdefault(label, given) != given:
            return False
    return all(
        fold(child[a][label], c, child, output, above, find) if child[a].setdefault(label, c) != c else True
        for label, c in list(child[b].items())
    )


def smallest(traces, labels, outputs, most):
    """Return the fewest states of a machine that explains all traces, by trying all of them."""
    for n in range(1, most + 1):
        cells = list(product(range(n), labels))
        for choice in product(product(range(n), outputs), repeat=len(cells)):
            machine = [{} for _ in range(n)]
            for (v, label), what in zip(cells, choice, strict=True):
                machine[v][label] = what
            if all(explains(machine, trace) for trace in traces):
                return n
    return None


def equal(one, other, labels):
    """Return whether two machines give the same for all sequences of labels."""
    todo, seen = [(0, 0)], {(0, 0)}
    for u, v in todo:
        for label in labels:
            (u_next, mine), (v_next, its) = step(one, u, label), step(other, v, label)
            if mine != its:
                return False
            if not mine[1] and (u_next, v_next) not in seen:
                seen.add((u_next, v_next))
                todo.append((u_next, v_next))
    return True


def shortest_difference(moves, starts, one, other, most):
    """Return the fewest moves after which two machines differ, by trying all walks of up to `most`; None if none."""
    walks = [(s, 0, 0) for s in starts]
    for n in range(1, most + 1):
        ahead = []
        for s, u, v in walks:
            for s_next, label in moves[s]:
                (u_next, mine), (v_next, its) = step(one, u, label), step(other, v, label)
                if mine != its:
                    return n
                if not mine[1]:
                    ahead.append((s_next, u_next, v_next))
        walks = ahead
    return None
