"""Watkins's Q(lambda): Q-learning whose errors also correct the values that led to them.

Every value has a trace e, 0 at the start of an episode. At every step from (s, u) by a to (s', u') that paid r::

    e           <- 0 everywhere if a is not greedy
    error        = r + gamma max_b Q(s', u', b) - Q(s, u, a)
    e(s, u, a)  <- 1
    Q           <- Q + alpha error e      everywhere
    e           <- gamma lambda e         everywhere, and 0 where that is below 2^-10

with Q = 0 in every terminal. ``trace_decay`` is lambda; with 0 this is QRM to the bit. The largest value and the old
ones are read before any is changed. Laid out as QRM's table, the traces beside it as a list.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.kernels.contracts import FORGOTTEN, Traces
from fastrm.kernels.learners import q_lambda
from fastrm.learners.qrm import Qrm
from fastrm.problems import TabularProblem


class QLambda(Qrm):
    """QRM's table, and traces."""

    name = "q-lambda"
    semantics = 1
    settings: tuple[str, ...] = (*Qrm.settings, "trace_decay")
    kernel = staticmethod(q_lambda.run)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values, and no traces; there is room for as many as can last."""
        q, _ = super().begin(problem, reward, config, n)
        decay = float(config.gamma) * float(config.trace_decay)
        lasting = 1 if decay < FORGOTTEN else math.inf if decay == 1 else math.log(FORGOTTEN) / math.log(decay) + 2
        room = int(min(lasting, config.episode_limit, math.prod(q.shape[1:]))) + 1
        place, weight = np.zeros((n, room), dtype=np.uint64), np.zeros((n, room))
        return q, Traces(place, weight, np.zeros(n, dtype=np.uint64), decay)
