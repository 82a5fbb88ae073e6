"""What result files say about the paper, the reference implementation, and beyond. Reads files; only parity trains."""

from fastrm.studies.claim import Case, Claim
from fastrm.studies.findings import (
    Agreement,
    Certified,
    Difference,
    Point,
    agreement,
    by_optimism,
    certified,
    differences,
    short_names,
    sweep,
    verdicts,
)
from fastrm.studies.judge import judge
from fastrm.studies.parity import (
    COMPARED_AT,
    PARITY_PROFILE,
    REJECTION_LEVEL,
    Comparison,
    Curves,
    Optimum,
    Speed,
    check_folder,
    compare_optima,
    compare_speeds,
    load_curves,
    parity_experiments,
    rejected,
)

__all__ = [
    "COMPARED_AT",
    "PARITY_PROFILE",
    "REJECTION_LEVEL",
    "Agreement",
    "Case",
    "Certified",
    "Claim",
    "Comparison",
    "Curves",
    "Difference",

    "Optimum",
    "Point",
    "Speed",
    "agreement",
    "by_optimism",
    "certified",
    "check_folder",
    "compare_optima",
    "compare_speeds",
    "differences",
    "judge",
    "load_curves",
    "parity_experiments",

    "rejected",
    "short_names",
    "sweep",
    "verdicts",
]  # fmt: skip
