"""The prefix tree of traces, in arrays that grow, and the machine that merging its states makes."""

from __future__ import annotations

import numpy as np

from fastrm.arrays import Array
from fastrm.kernels.contracts import Mealy
from fastrm.kernels.inference import merge
from fastrm.kernels.inference.merge import NONE


class Tree:
    """A prefix tree of labels and outputs, both by number; see `fastrm.kernels.inference.merge`."""

    def __init__(self, n_l: int, end: Array) -> None:
        self.end, self.size = end, 1
        self.child = np.full((64, n_l), NONE, dtype=np.uint32)
        self.output = np.full((64, n_l), NONE, dtype=np.uint32)

    def add(self, labels: Array, outputs: Array) -> int:
        """Add a trace, uint32 each; return how many of its steps agree with all traces before, all or not."""
        while self.size + len(labels) > len(self.child):
            more = np.full_like(self.child, NONE)
            self.child, self.output = np.vstack([self.child, more]), np.vstack([self.output, more])
        self.size, agrees = merge.grow(self.child, self.output, self.end, np.uint64(self.size), labels, outputs)
        return int(agrees)

    def merge(self, most: int) -> Mealy | None:
        """Return the machine that merging makes, None where it has more than `most` states."""
        n, n_l = int(self.size), self.child.shape[1]
        child, output = self.child[:n].copy(), self.output[:n].copy()
        delta, paid = np.empty((2, min(n, most), n_l), dtype=np.uint32)
        found = merge.merge(
            child,
            output,
            np.empty(n, np.uint32),
            np.empty(n, np.uint8),
            np.empty(min(n, most), np.uint32),
            np.empty((n, 2), np.uint32),
            np.empty(n * (1 + 2 * n_l), np.uint64),
            delta,
            paid,
        )
        return machine_of_rows(delta[:found], paid[:found]) if found else None


def machine_of_rows(delta: Array, output: Array) -> Mealy:
    """Return a machine given state by state, [state, label], as kernels read it; what ends leads nowhere."""
    found = Mealy(*(np.ascontiguousarray(table.T, dtype=np.uint32) for table in (delta, output)))
    for table in found:
        table.flags.writeable = False
    return found
