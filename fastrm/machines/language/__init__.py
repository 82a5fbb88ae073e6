"""How machines are written: expressions, and the text formats of whole machines. Nothing is ever executed."""

from fastrm.machines.language.draft import Draft, Edge
from fastrm.machines.language.expressions import (
    TO_GO,
    Binary,
    Chain,
    Expression,
    Feature,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Truth,
    Unary,
    constant,
    evaluate,
    leaves,
    write,
)
from fastrm.machines.language.formats import read

__all__ = [
    "TO_GO", "Binary", "Chain", "Draft", "Edge", "Expression", "Feature", "Guard", "Number", "Otherwise", "Proposition",
    "Truth", "Unary", "constant", "evaluate", "leaves", "read", "write",
]  # fmt: skip
