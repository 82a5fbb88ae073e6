"""The temporal-difference rule, for one value and for whole rows of machine states.

q <- q + alpha (r + gamma max_a' q' - q). Q is laid out ``q[run, s, a, column]`` for sweeps, so on an event that changes
no machine state, which is nearly every one, the counterfactual updates of all states are plain vector arithmetic on
rows: LLVM is handed registers of four doubles.  Column n_u, a terminal, is worth 0 and stays 0.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from fastrm.kernels._jit import part
from fastrm.kernels.policy import max4
from fastrm.kernels.tables import BLOCK, N_ACTIONS

_BLOCK = np.uint64(BLOCK)
_ACTIONS = np.uint64(N_ACTIONS)


@part
def td(old, reward, best, alpha, gamma):
    """Return the updated value."""
    return old + alpha * (reward + gamma * best - old)


@intrinsic
def _td_block(typingctx, q, row, row_next, n_cols, reward, row_reward, alpha, gamma):
    """Apply `td` to four neighbouring columns; rows are offsets into the flat arrays."""
    signature = types.void(q, row, row_next, n_cols, reward, row_reward, alpha, gamma)

    def generate(context, builder, signature, arguments):
        q, row, row_next, n_cols, reward, row_reward, alpha, gamma = arguments
        vector = ir.VectorType(ir.DoubleType(), BLOCK)
        q_data = context.make_array(signature.args[0])(context, builder, value=q).data
        r_data = context.make_array(signature.args[4])(context, builder, value=reward).data

        def address(data, offset):
            return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())

        def load(data, offset):
            return builder.load(address(data, offset), align=8)

        def broadcast(scalar):
            empty = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))

        def larger(x, y):
            return builder.select(builder.fcmp_ordered(">", x, y), x, y)

        offsets = [row_next]
        for _ in range(N_ACTIONS - 1):
            offsets.append(builder.add(offsets[-1], n_cols))
        values = [load(q_data, offset) for offset in offsets]
        best = larger(larger(values[0], values[1]), larger(values[2], values[3]))
        old = load(q_data, row)
        target = builder.fadd(load(r_data, row_reward), builder.fmul(broadcast(gamma), best))
        step = builder.fmul(broadcast(alpha), builder.fsub(target, old))
        builder.store(builder.fadd(old, step), address(q_data, row), align=8)
        return context.get_dummy_value()

    return signature, generate


if numba.config.DISABLE_JIT:  # the same in plain Python, for coverage and debugging

    def _td_block(q, row, row_next, n_cols, reward, row_reward, alpha, gamma):
        q, reward = q.reshape(-1), reward.reshape(-1)
        for k in range(BLOCK):
            q0, q1, q2, q3 = (q[int(row_next) + a * int(n_cols) + k] for a in range(N_ACTIONS))
            at = int(row) + k
            q[at] = td(q[at], reward[int(row_reward) + k], max4(q0, q1, q2, q3), alpha, gamma)


@part
def sweep_quiet(q, i, s, a, s_next, e, reward, alpha, gamma):
    """Update all columns of (s, a) after an event that keeps every column. `q` [n, n_s, n_a, n_cols] is updated."""
    n_s, n_cols = np.uint64(q.shape[1]), np.uint64(q.shape[3])
    cell = i * n_s + s
    row = (cell * _ACTIONS + a) * n_cols
    row_next = (i * n_s + s_next) * _ACTIONS * n_cols
    row_reward = e * n_cols
    column = np.uint64(0)
    while column < n_cols:
        _td_block(q, row + column, row_next + column, n_cols, reward, row_reward + column, alpha, gamma)
        column += _BLOCK


@part
def sweep_ordered(q, i, s, a, s_next, e, reward, delta, keep, n, alpha, gamma):
    """Update the columns v < n of (s, a) that `keep` marks, one after the other. `q` is updated."""
    for k in range(n):
        v = np.uint64(k)
        if keep[v]:
            v_next = np.uint64(delta[e, v])
            best = max4(
                q[i, s_next, 0, v_next], q[i, s_next, 1, v_next], q[i, s_next, 2, v_next], q[i, s_next, 3, v_next]
            )
            q[i, s, a, v] = td(q[i, s, a, v], reward[e, v], best, alpha, gamma)
