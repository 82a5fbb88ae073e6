"""Machines that explain traces: by merging states, or as small as can be proven by a SAT solver.

*Merging* (RPNI, blue-fringe; Oncina and Garcia 1992, Lang and others 1998) is fast and always consistent; with enough
traces it finds the machine that made them. *Smallest* asks a solver for a machine of 1, 2, ... states: state of every
node of the prefix tree, successor and output of every state and label, one-hot, states numbered in the order in which
they are first reached. Where merging found no more states than are proven necessary, there is nothing to ask.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.checks import check_choice, check_truth, check_whole
from fastrm.errors import FastrmWarning, MachineError, MissingExtra
from fastrm.inference.traces import Steps, Trace, check_traces
from fastrm.inference.tree import Tree, machine_of_rows
from fastrm.inference.writing import write_learned
from fastrm.kernels.contracts import LIVE, Mealy
from fastrm.kernels.inference.merge import NONE
from fastrm.machines import RewardMachine
from fastrm.machines.language import MAX_STATES
from fastrm.problems import NOTHING, Label, Output

ENGINES = ("merge", "smallest")
MOST_CONFLICTS = 1000
"""Conflicts of the solver for one number of states, after which it gives up."""


def infer(
    traces: Iterable[Trace | Mapping[str, Any]],
    engine: str = "merge",
    max_states: int = 64,
    compress: bool = True,
) -> RewardMachine:
    """Return a machine that pays and ends as all traces say.

    What no trace tells does nothing: the state stays, and nothing is paid.

    Parameters
    ----------
    traces : iterable of Trace
        What episodes read and were paid; tables with the same names will do, and `load_traces` reads a file.
    engine : {"merge", "smallest"}
        Merge states, which takes milliseconds and may leave more states than are needed; or search for a machine with
        the fewest, which needs the extra ``fastrm[sat]``. It gives up after 1 000 conflicts of the solver, warns, and
        returns the merged machine.
    max_states : int
        How many states the machine may have.
    compress : bool
        Leave out steps that read and pay nothing. Right where such steps never change the machine's state.

    Returns
    -------
    RewardMachine
        With states ``u0``, ``u1``, ..., and ``done`` and ``failed`` where episodes end.

    Raises
    ------
    ConfigError
        When a trace is malformed.
    MachineError
        When two traces contradict each other, or more than `max_states` states are needed.

    Examples
    --------
    >>> traces = [
    ...     Trace(["a", "b"], [0, 1], "success"),
    ...     Trace(["b", "b", "a", "a"], [0, 0, 0, 0]),
    ... ]
    >>> print(infer(traces).write(), end="")
    states  u0 u1
    start   u0
    success done
    <BLANKLINE>
    u0 -> u1    when a     reward 0
    u0 -> u0    otherwise  reward 0
    u1 -> u0    when a     reward 0
    u1 -> done  when b     reward 1
    u1 -> u1    otherwise  reward 0
    """
    check_choice("engine", engine, ENGINES)
    check_whole("max_states", max_states, 1, MAX_STATES)
    check_truth("compress", compress)
    steps = check_traces(traces)
    labels = sorted({(), *(label for trace in steps for label in trace.labels)})
    numbers: dict[Output, int] = {NOTHING: 0}
    rows = [_number(trace, labels, numbers, compress) for trace in steps]
    tree = Tree(len(labels), np.array([output.end for output in numbers], dtype=np.uint8))
    for i, (_, read, given) in enumerate(rows):
        if (agrees := tree.add(read, given)) < len(read):
            raise MachineError(_contradiction(rows, i, agrees, labels, tuple(numbers)))
    machine, proven = ENGINE[engine](tree, max_states)
    if engine == "smallest" and not proven:
        warnings.warn(unproven(machine), FastrmWarning, stacklevel=2)
    return write_learned(machine, labels, tuple(numbers))


def unproven(machine: Mealy) -> str:
    """Return that a machine may not be the smallest one."""
    return (
        f"smallest: gave up after {MOST_CONFLICTS} conflicts; the machine has {machine.delta.shape[1]} states, "
        "by merging, and fewer may do"
    )


_Row = tuple[list[int], Array, Array]
"""Which steps of a trace are kept, and their labels and outputs by number."""


def _number(trace: Steps, labels: Sequence[Label], numbers: dict[Output, int], compress: bool) -> _Row:
    """Return the labels and outputs of a trace by number; `numbers` of outputs is updated with new ones."""
    ends = [LIVE] * (len(trace.labels) - 1) + [trace.end]
    given = [Output(*pair) for pair in zip(trace.rewards, ends[: len(trace.labels)], strict=True)]
    kept = [j for j, pair in enumerate(zip(trace.labels, given, strict=True)) if pair != ((), NOTHING) or not compress]
    read = np.array([labels.index(trace.labels[j]) for j in kept], dtype=np.uint32)
    return kept, read, np.array([numbers.setdefault(given[j], len(numbers)) for j in kept], dtype=np.uint32)


def _contradiction(
    rows: Sequence[_Row], i: int, step: int, labels: Sequence[Label], outputs: Sequence[Output]
) -> str:  # fmt: skip
    """Return how step `step` of trace i, counted from 0 among those kept, contradicts a trace before."""
    kept, read, given = rows[i]
    for k in range(i + 1):
        others, other_read, other_given = rows[k]
        same = len(other_read) > step and np.array_equal(other_read[: step + 1], read[: step + 1])
        if same and other_given[step] != given[step]:
            break
    mine, other = outputs[int(given[step])], outputs[int(other_given[step])]
    here, there = f"trace {i + 1}, step {kept[step] + 1}", f"trace {k + 1}, step {others[step] + 1}"
    if mine.end == LIVE != other.end and len(read) > step + 1:
        return f"{here}: goes on where {there} ended in {other.word}; after the same labels both must end"
    label = " ".join(labels[int(read[step])]) or "a move without a label"
    what = f"{label} {_describe(mine)}, and in {there} {_describe(other)}"
    cure = "labels do not determine what is paid; tell the states apart by more labels, or give compress=False"
    return f"{here}: after the same labels {what}: {cure}"


def _describe(output: Output) -> str:
    """Describe what a move gives."""
    return f"pays {output.reward:g}" + (f" and ends in {output.word}" if output.word else "")


def merge_states(tree: Tree, most: int) -> tuple[Mealy, bool]:
    """Return the machine that merging makes; nothing is proven about its size, unless it has one state."""
    machine = tree.merge(most)
    if machine is None:
        raise MachineError(
            f"max_states={most}: merging needs more states; raise it, or check that labels determine what is paid"
        )
    return machine, machine.delta.shape[1] == 1


def find_smallest(tree: Tree, most: int) -> tuple[Mealy, bool]:
    """Return a machine with the fewest states, and True; or the merged one, and False, where that takes too long."""
    machine = tree.merge(min(int(tree.size), MAX_STATES))
    if machine is None:
        raise MachineError(f"max_states={most}: merging needs more than {MAX_STATES} states")
    n = machine.delta.shape[1]
    for k in range(1, min(n, most + 1)):
        found = search(tree, k)
        if found is None:
            break
        if isinstance(found, Mealy):
            return found, True
    else:
        if n <= most:
            return machine, True
        raise MachineError(f"max_states={most}: no machine of {most} states explains the traces; raise it")
    return merge_states(tree, most)[0], False


def search(tree: Tree, k: int) -> Mealy | bool | None:
    """Ask a solver for a machine of k states: return it, False where there is none, None where it gave up."""
    try:
        from pysat.solvers import Solver
    except ImportError:
        raise MissingExtra("engine='smallest': needs python-sat; install fastrm[sat]") from None
    clauses, state = _encode(tree, k)
    with Solver(name="glucose4", bootstrap_with=clauses) as solver:
        solver.conf_budget(MOST_CONFLICTS)
        answer = solver.solve_limited()
        if not answer:
            return False if answer is False else None
        true = {x for x in solver.get_model() if x > 0}
    n_l = tree.child.shape[1]
    delta, output = np.tile(np.arange(k)[:, None], (1, n_l)), np.zeros((k, n_l), dtype=np.int64)
    of_node = {node: next(v for v, x in enumerate(row) if x in true) for node, row in state.items()}
    for node, v in of_node.items():
        for x in np.flatnonzero(tree.output[node] != NONE).tolist():
            output[v, x] = tree.output[node, x]
            if (after := int(tree.child[node, x])) != NONE:
                delta[v, x] = of_node[after]
    return machine_of_rows(delta, output)


def _encode(tree: Tree, k: int) -> tuple[list[list[int]], dict[int, range]]:
    """Return clauses, and the variables of the state of every node."""
    n, last = int(tree.size), 0

    def new(count: int) -> range:
        nonlocal last
        last += count
        return range(last - count + 1, last + 1)

    known = tree.output[:n] != NONE
    used = np.flatnonzero(known.any(axis=0)).tolist()
    outputs = {x: sorted({*tree.output[:n, x][known[:, x]].tolist()}) for x in used}
    state = {node: new(k) for node in range(n)}
    successor = {(v, x): new(k) for v in range(k) for x in used}
    paid = {(v, x): dict(zip(outputs[x], new(len(outputs[x])), strict=True)) for v in range(k) for x in used}
    clauses = [[state[0][0]]]
    for row in (*state.values(), *successor.values(), *(tuple(row.values()) for row in paid.values())):
        clauses.append([*row])
        clauses += [[-one, -two] for one, two in combinations(row, 2)]
    for node in range(n):
        for x in np.flatnonzero(known[node]).tolist():
            after = int(tree.child[node, x])
            for v in range(k):
                clauses.append([-state[node][v], paid[v, x][int(tree.output[node, x])]])
                if after != NONE:
                    clauses += [[-state[node][v], -successor[v, x][w], state[after][w]] for w in range(k)]
    pairs = list(successor)
    for w in range(1, k):  # states are numbered in the order in which they are first led to
        clauses.append([successor[pair][w] for pair in pairs if pair[0] < w])
        for i, pair in enumerate(pairs):
            if w > 1:
                clauses.append([-successor[pair][w], *(successor[before][w - 1] for before in pairs[:i])])
    return clauses, state


ENGINE = {"merge": merge_states, "smallest": find_smallest}
