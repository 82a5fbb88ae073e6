"""Vectors of doubles in LLVM: the operations that `simd` is made of."""

from __future__ import annotations

from llvmlite import ir

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
            equal = builder.bitcast(builder.fcmp_ordered("==", half, best), ir.IntType(2))
            masks.append(builder.zext(equal, ir.IntType(64)))
        return builder.or_(masks[0], builder.shl(masks[1], ir.Constant(ir.IntType(64), 2)))
