"""Dyna: Q-learning that, after every step, makes some more updates from memory.

After QRM's update of a step, ``planning`` times: draw one of all moves (s, u, a) made so far, each as likely, and
update its value by QRM's rule with the cell, the machine state and the reward that this move has in the problem. A move
that may slip slips again. No step limit cuts such a move off. With ``planning`` 0 this is QRM to the bit. Laid out
as QRM's table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastrm.arrays import Array
from fastrm.config import LearnerConfig
from fastrm.errors import ConfigError
from fastrm.kernels.contracts import Memory
from fastrm.kernels.learners import dyna
from fastrm.learners.qrm import Qrm
from fastrm.problems import TabularProblem


class Dyna(Qrm):
    """QRM's table, and a memory of moves."""

    name = "dyna"
    semantics = 1
    settings: tuple[str, ...] = (*Qrm.settings, "planning")
    kernel = staticmethod(dyna.run)

    def begin(self, problem: TabularProblem, reward: Array, config: LearnerConfig, n: int) -> tuple[Array, Any]:
        """Return the initial values, and an empty memory."""
        q, _ = super().begin(problem, reward, config, n)
        room = math.prod(q.shape[1:])
        if room >= 2**32:
            raise ConfigError(f"dyna: remembers at most 2^32 moves, but this problem has {room}; take a smaller map")
        made, is_made = np.zeros((n, room), dtype=np.uint32), np.zeros((n, room), dtype=np.uint8)
        return q, Memory(made, is_made, np.zeros(n, dtype=np.uint64), int(config.planning))
