"""How machines are written: expressions, and text formats of whole machines. Nothing is executed."""

from fastrm.machines.language.drafts import MAX_STAGES, MAX_STATES, Agenda, Draft, Edge, StatePotential, describe, read
from fastrm.machines.language.expressions import (
    FEATURES,
    OF_SINGLE_OBJECTS,
    OWN,
    TO_GO,
    Binary,
    Chain,
    Expression,
    Feature,
    FeatureKind,
    Guard,
    Number,
    Otherwise,
    Proposition,
    Truth,
    Unary,
    as_written,
    constant,
    evaluate,
    evaluate_exactly,
    leaves,
    may_round,
    parse_guard,
    parse_reward,
    write,
)

__all__ = [
    "FEATURES", "MAX_STAGES", "MAX_STATES", "OF_SINGLE_OBJECTS", "OWN", "TO_GO", "Agenda", "Binary", "Chain", "Draft",
    "Edge", "Expression", "Feature", "FeatureKind", "Guard", "Number", "Otherwise", "Proposition", "StatePotential",
    "Truth", "Unary", "as_written", "constant", "describe", "evaluate", "evaluate_exactly", "leaves", "may_round",
    "parse_guard", "parse_reward", "read", "write",
]  # fmt: skip
