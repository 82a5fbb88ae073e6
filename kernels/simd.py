"""The few vector operations that LLVM does not find by itself, written as LLVM IR on registers of four doubles.

Each comes with its plain Python twin, which runs when the JIT is off. No operation is reordered or fused, so results
are those of the scalar rules to the bit.
"""

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastrm.kernels.contracts import BLOCK, N_ACTIONS, TINY

INDEX = ir.IntType(32)
DOUBLE = ir.DoubleType()


def doubles(count):
    """Return the type of a vector of `count` doubles."""
    return ir.VectorType(DOUBLE, count)


class Vectors:
    """Vector operations on top of an LLVM builder.

    Loads and offsets name the type of the element: LLVM's pointers no longer carry one, and llvmlite's will not.
    """

    def __init__(self, context, builder, signature, arguments):
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments

    def data(self, k):
        """Return the address of the data of array argument k."""
        return self.context.make_array(self.types[k])(self.context, self.builder, value=self.arguments[k]).data

    def element(self, data, offset):
        """Return the address of one double."""
        return self.builder.gep(data, [offset], source_etype=DOUBLE)

    def address(self, data, offset, count):
        """Return the address of neighbouring doubles as that of a vector."""
        return self.builder.bitcast(self.element(data, offset), doubles(count).as_pointer())

    def load(self, data, offset, count=BLOCK):
        """Load neighbouring doubles."""
        return self.builder.load(self.address(data, offset, count), align=8, typ=doubles(count))

    def store(self, vector, data, offset):
        """Store a vector of `BLOCK` doubles."""
        self.builder.store(vector, self.address(data, offset, BLOCK), align=8)

    def columns(self, data, offset):
        """Load the numbers of `BLOCK` neighbouring columns, uint32."""
        where = self.builder.gep(data, [offset], source_etype=INDEX)
        wide = ir.VectorType(INDEX, BLOCK)
        return self.builder.load(self.builder.bitcast(where, wide.as_pointer()), align=4, typ=wide)

    def pair(self, data, first, second):
        """Load two doubles that do not lie side by side."""
        vector = ir.Constant(doubles(2), ir.Undefined)
        for k, offset in enumerate((first, second)):
            value = self.builder.load(self.element(data, offset), typ=DOUBLE)
            vector = self.builder.insert_element(vector, value, ir.Constant(INDEX, k))
        return vector

    def twice(self, scalar):
        """Return a pair of twice the same double."""
        pair = ir.Constant(doubles(2), ir.Undefined)
        for k in range(2):
            pair = self.builder.insert_element(pair, scalar, ir.Constant(INDEX, k))
        return pair

    def broadcast(self, scalar):
        """Return a vector of `BLOCK` times the same number."""
        empty = ir.Constant(ir.VectorType(scalar.type, BLOCK), ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(INDEX, 0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(INDEX, BLOCK), [0] * BLOCK))

    def larger(self, x, y):
        """Return the larger of two vectors, element by element."""
        return self.builder.select(self.builder.fcmp_ordered(">", x, y), x, y)

    def normal(self, x):
        """Return a vector with 0 in place of elements that are no normal numbers."""
        bits = ir.VectorType(ir.IntType(64), BLOCK)
        size = self.builder.and_(self.builder.bitcast(x, bits), ir.Constant(bits, [2**63 - 1] * BLOCK))
        tiny = ir.Constant(x.type, [TINY] * BLOCK)
        is_tiny = self.builder.fcmp_ordered("<", self.builder.bitcast(size, x.type), tiny)
        return self.builder.select(is_tiny, ir.Constant(x.type, [0.0] * BLOCK), x)

    def steps(self, first, stride, count=N_ACTIONS):
        """Return the offsets first, first + stride, ..."""
        offsets = [first]
        for _ in range(count - 1):
            offsets.append(self.builder.add(offsets[-1], stride))
        return offsets

    def largest(self, low, high):
        """Return a pair of twice the largest element of two pairs."""
        pair = self.larger(low, high)
        swap = ir.Constant(ir.VectorType(INDEX, 2), [1, 0])
        return self.larger(pair, self.builder.shuffle_vector(pair, ir.Constant(doubles(2), ir.Undefined), swap))

    def ties(self, low, high):
        """Return as a 64-bit mask which elements of two pairs equal the largest.

        Two pairs rather than one register of four: crossing the halves of a register costs six cycles on the way from
        cell to cell.
        """
        return self.equal(low, high, self.largest(low, high))

    def equal(self, low, high, best):
        """Return as a 64-bit mask which elements of two pairs equal those of a third."""
        builder, masks = self.builder, []
        for half in (low, high):
            masks.append(builder.zext(self.equal_pair(half, best), ir.IntType(64)))
        return builder.or_(masks[0], builder.shl(masks[1], ir.Constant(ir.IntType(64), 2)))

    def equal_pair(self, one, other):
        """Return as a mask which elements of two pairs are equal.

        Where there is AVX-512, LLVM takes such masks through mask registers, which lie on the way from cell to cell. So
        x86 is asked for `movmskpd`.
        """
        builder = self.builder
        if not builder.module.triple.startswith("x86_64"):
            return builder.bitcast(builder.fcmp_ordered("==", one, other), ir.IntType(2))
        two, byte, word = doubles(2), ir.IntType(8), ir.IntType(32)
        compare = builder.module.declare_intrinsic("llvm.x86.sse2.cmp.pd", (), ir.FunctionType(two, [two, two, byte]))
        signs = builder.module.declare_intrinsic("llvm.x86.sse2.movmsk.pd", (), ir.FunctionType(word, [two]))
        return builder.call(signs, [builder.call(compare, [one, other, byte(0)])])  # 0: equal, and neither is NaN


@intrinsic
def row_ties(typingctx, q, offset):
    """Return the mask of the largest of four neighbouring values."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        half = builder.add(arguments[1], ir.Constant(arguments[1].type, 2))
        return b.ties(b.load(b.data(0), arguments[1], 2), b.load(b.data(0), half, 2))

    return types.uint64(q, offset), generate


@intrinsic
def row_best(typingctx, q, offset):
    """Return the largest of four neighbouring values."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        half = builder.add(arguments[1], ir.Constant(arguments[1].type, 2))
        best = b.largest(b.load(b.data(0), arguments[1], 2), b.load(b.data(0), half, 2))
        return builder.extract_element(best, ir.Constant(INDEX, 0))

    return types.float64(q, offset), generate


@intrinsic
def column_ties(typingctx, q, offset, stride):
    """Return the mask of the largest of four values that lie `stride` apart."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        first, second, third, fourth = b.steps(arguments[1], arguments[2])
        return b.ties(b.pair(b.data(0), first, second), b.pair(b.data(0), third, fourth))

    return types.uint64(q, offset, stride), generate


@intrinsic
def row_equal(typingctx, q, offset, best):
    """Return the mask of those of four neighbouring values that equal `best`."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        half = builder.add(arguments[1], ir.Constant(arguments[1].type, 2))
        low, high = b.load(b.data(0), arguments[1], 2), b.load(b.data(0), half, 2)
        return b.equal(low, high, b.twice(arguments[2]))

    return types.uint64(q, offset, best), generate


@intrinsic
def column_best(typingctx, q, offset, stride):
    """Return the largest of four values that lie `stride` apart."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        first, second, third, fourth = b.steps(arguments[1], arguments[2])
        best = b.largest(b.pair(b.data(0), first, second), b.pair(b.data(0), third, fourth))
        return builder.extract_element(best, ir.Constant(INDEX, 0))

    return types.float64(q, offset, stride), generate


@intrinsic
def column_equal(typingctx, q, offset, stride, best):
    """Return the mask of those of four values that lie `stride` apart that equal `best`."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        first, second, third, fourth = b.steps(arguments[1], arguments[2])
        low, high = b.pair(b.data(0), first, second), b.pair(b.data(0), third, fourth)
        return b.equal(low, high, b.twice(arguments[3]))

    return types.uint64(q, offset, stride, best), generate


@intrinsic
def count_bits(typingctx, mask):
    """Return how many bits of a mask are set."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(mask), generate


def rows_of(actions):
    """Return the rows of a cell, padding included: four for None, four more for every element of a tuple."""
    return N_ACTIONS if isinstance(actions, types.NoneType) else N_ACTIONS * len(actions)


def apply_td(b, signature, arguments, load_row):
    """Generate the TD rule on four neighbouring columns; ``load_row(offset)`` loads what lies ahead in one row."""
    builder = b.builder
    row, row_next, n_cols, reward, row_reward, alpha, gamma = (*arguments[1:4], b.data(4), *arguments[5:8])
    values = [load_row(offset) for offset in b.steps(row_next, n_cols, rows_of(signature.args[8]))]
    while len(values) > 1:
        paired = zip(values[::2], values[1::2], strict=False)
        values = [b.larger(x, y) for x, y in paired] + values[len(values) & ~1 :]
    old = b.load(b.data(0), row)
    target = builder.fadd(b.load(reward, row_reward), builder.fmul(b.broadcast(gamma), values[0]))
    new = builder.fadd(old, builder.fmul(b.broadcast(alpha), builder.fsub(target, old)))
    b.store(b.normal(new), b.data(0), row)


@intrinsic
def td_block(typingctx, q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions):
    """Apply the TD rule to four neighbouring columns; rows are offsets into the flat arrays. `q` is updated."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        apply_td(b, signature, arguments, lambda offset: b.load(b.data(0), offset))
        return context.get_dummy_value()

    return types.void(q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions), generate


@intrinsic
def td_apart(typingctx, q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions, delta):
    """Like `td_block`, where the columns ahead are those in `delta`, uint32, from `row_reward` on."""

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        q, empty = b.data(0), ir.Constant(doubles(BLOCK), ir.Undefined)
        ahead = b.columns(b.data(9), arguments[5])
        lanes = [
            builder.zext(builder.extract_element(ahead, ir.Constant(INDEX, j)), arguments[2].type) for j in range(BLOCK)
        ]

        def load_row(offset):
            vector = empty
            for j, lane in enumerate(lanes):
                value = builder.load(b.element(q, builder.add(offset, lane)), typ=DOUBLE)
                vector = builder.insert_element(vector, value, ir.Constant(INDEX, j))
            return vector

        apply_td(b, signature, arguments, load_row)
        return context.get_dummy_value()

    return types.void(q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions, delta), generate


@intrinsic
def best_products(typingctx, leg, column, n_last, ahead, chosen, n, worth, choice, place):
    """Find the largest of n products for four neighbouring columns, ties to the first, and which one it is.

    A product is that of ``leg[chosen[j] n_last + column]`` and ``ahead[j]``; `worth` and `choice`, uint8, get the
    products and the numbers `chosen` of the largest at `place`. All arrays are flat. The four best stay in registers.
    """

    def generate(context, builder, signature, arguments):
        b = Vectors(context, builder, signature, arguments)
        _, column, n_last, _, _, n, _, _, place = arguments
        leg, ahead, chosen, worth, choice = (b.data(k) for k in (0, 3, 4, 6, 7))
        number, small = ir.IntType(64), ir.IntType(8)
        four, numbers = doubles(BLOCK), ir.VectorType(number, BLOCK)
        best, which = cgutils.alloca_once(builder, four), cgutils.alloca_once(builder, numbers)
        builder.store(ir.Constant(four, [float("-inf")] * BLOCK), best)
        builder.store(ir.Constant(numbers, [0] * BLOCK), which)
        with cgutils.for_range(builder, n) as loop:
            k = builder.load(builder.gep(chosen, [loop.index], source_etype=number), typ=number)
            row = b.load(leg, builder.add(builder.mul(k, n_last), column))
            value = builder.fmul(row, b.broadcast(builder.load(b.element(ahead, loop.index), typ=DOUBLE)))
            before, first = builder.load(best, typ=four), builder.load(which, typ=numbers)
            is_better = builder.fcmp_ordered(">", value, before)
            builder.store(builder.select(is_better, value, before), best)
            builder.store(builder.select(is_better, b.broadcast(k), first), which)
        b.store(builder.load(best, typ=four), worth, place)
        packed = ir.VectorType(small, BLOCK)
        where = builder.bitcast(builder.gep(choice, [place], source_etype=small), packed.as_pointer())
        builder.store(builder.trunc(builder.load(which, typ=numbers), packed), where, align=1)
        return context.get_dummy_value()

    return types.void(leg, column, n_last, ahead, chosen, n, worth, choice, place), generate


@intrinsic
def rare(typingctx, flag):
    """Return a truth value that the compiler may take to be False nearly always."""

    def generate(context, builder, signature, arguments):
        bit = ir.IntType(1)
        function = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
        return builder.call(function, [arguments[0], bit(0)])

    return types.boolean(types.boolean), generate


@intrinsic
def prefetch(typingctx, array, offset):
    """Ask for the cache line of an element of a flat array, which is to be read soon."""

    def generate(context, builder, signature, arguments):
        byte, flag = ir.IntType(8), ir.IntType(32)
        first = builder.bitcast(Vectors(context, builder, signature, arguments).data(0), byte.as_pointer())
        place = builder.mul(arguments[1], ir.Constant(arguments[1].type, signature.args[0].dtype.bitwidth // 8))
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], kind)
        builder.call(function, [builder.gep(first, [place], source_etype=byte), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()  # flags: to read, into the nearest cache, data

    return types.void(array, offset), generate


if numba.config.DISABLE_JIT:

    def rare(flag):  # noqa: D103
        return flag

    def prefetch(array, offset):  # noqa: D103
        pass

    def row_ties(q, offset):  # noqa: D103
        return column_ties(q, offset, 1)

    def row_best(q, offset):  # noqa: D103
        return q[int(offset) : int(offset) + N_ACTIONS].max()

    def column_ties(q, offset, stride):  # noqa: D103
        values = q[int(offset) : int(offset) + N_ACTIONS * int(stride) : int(stride)]
        return np.uint64(sum(1 << a for a in range(N_ACTIONS) if values[a] == values.max()))

    def row_equal(q, offset, best):  # noqa: D103
        return column_equal(q, offset, 1, best)

    def column_best(q, offset, stride):  # noqa: D103
        return q[int(offset) : int(offset) + N_ACTIONS * int(stride) : int(stride)].max()

    def column_equal(q, offset, stride, best):  # noqa: D103
        values = q[int(offset) : int(offset) + N_ACTIONS * int(stride) : int(stride)]
        return np.uint64(sum(1 << a for a in range(N_ACTIONS) if values[a] == best))

    def best_products(leg, column, n_last, ahead, chosen, n, worth, choice, place):  # noqa: D103
        for c in range(BLOCK):
            products = [leg[int(chosen[j] * n_last + column) + c] * ahead[j] for j in range(int(n))]
            worth[int(place) + c], choice[int(place) + c] = max(products), chosen[int(np.argmax(products))]

    def count_bits(mask):  # noqa: D103
        return np.uint64(int(mask).bit_count())

    def td_block(q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions):  # noqa: D103
        td_apart(q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions, None)

    def td_apart(q, row, row_next, n_cols, reward, row_reward, alpha, gamma, actions, delta):  # noqa: D103
        rows, ahead = N_ACTIONS * (1 if actions is None else len(actions)), range(BLOCK)
        if delta is not None:
            ahead = delta[int(row_reward) : int(row_reward) + BLOCK].tolist()
        best = [max(q[int(row_next) + a * int(n_cols) + v] for a in range(rows)) for v in ahead]
        for k in range(BLOCK):
            old = q[int(row) + k]
            new = old + alpha * (reward[int(row_reward) + k] + gamma * best[k] - old)
            q[int(row) + k] = 0.0 if abs(new) < TINY else new
