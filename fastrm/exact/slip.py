"""Optimal values where moves slip, as expectations, with a proven bound on their error.

Alternating sweeps of value iteration go on until the values hardly move. The optimum then lies within v - B and v + B,
where B is the largest discounted sum of residuals, rounding included, that play can collect (see the kernel).
"""

from __future__ import annotations

import numpy as np

from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.kernels import slip_values
from fastrm.kernels.contracts import Tables
from fastrm.problems import Problem

_SWEEPS = 1_000_000


def expected_values(tables: Tables, reward: Array, gamma: float, slip: float) -> tuple[Array, Array, Array]:
    """Return optimal values and bounds on their errors, both [n_s, n_cols], and all actions that may be optimal."""
    if gamma == 1.0:
        raise ConfigError("gamma=1: expected values with slip need a gamma below 1")
    value = np.zeros((len(tables.next_s), reward.shape[1]))
    residual, error = np.empty_like(value), np.empty_like(value)
    for count in range(_SWEEPS):
        if slip_values.sweep(tables, reward, gamma, slip, value, count % 2 == 0) <= 1e-15:
            break
    slip_values.enclose(tables, reward, gamma, slip, value, residual, error)
    mask = np.empty((len(value), tables.n_u), dtype=np.uint8)
    slip_values.candidates(tables, reward, gamma, slip, value, error, mask)
    return value, error, mask


def refuse_slip(problem: Problem, what: str) -> None:
    """Refuse a question about paths where no path is certain."""
    if problem.slip:
        raise ConfigError(
            f"slip={problem.slip:g}: {what} is about certain paths; compile with slip=0, or ask fastrm.solve for "
            "expected values"
        )
