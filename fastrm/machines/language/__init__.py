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
    Value,
    as_written,
    comparisons,
    constant,
    evaluate,
    evaluate_exactly,
    leaves,
    may_round,
    parse_guard,
    parse_reward,
    values_read,
    write,
)

__all__ = [
    "FEATURES", "MAX_STAGES", "MAX_STATES", "OF_SINGLE_OBJECTS", "OWN", "TO_GO", "Agenda", "Binary", "Chain",
    "Draft", "Edge", "Expression", "Feature", "FeatureKind", "Guard", "Number", "Otherwise", "Proposition",
    "StatePotential", "Truth", "Unary", "Value", "as_written", "comparisons", "constant", "describe", "evaluate",
    "evaluate_exactly", "leaves", "may_round", "parse_guard", "parse_reward", "read", "values_read", "write",
]  # fmt: skip
