"""Machines from traces: the machine that explains what was read and paid, and whether it is the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastrm.lazy import lazy_names

if TYPE_CHECKING:  # read by `lazy_names` too
    from fastrm.inference.engines import ENGINES as ENGINES, infer as infer
    from fastrm.inference.learner import Hypothesis as Hypothesis
    from fastrm.inference.learning import Learned as Learned, learn as learn, read_learned as read_learned
    from fastrm.inference.traces import Trace as Trace, load_traces as load_traces, save_traces as save_traces
    from fastrm.inference.verdict import Difference as Difference, Equivalence as Equivalence, equivalent as equivalent
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
