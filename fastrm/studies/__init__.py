"""What result files say about the paper, the reference implementation, and beyond. Reads files, never trains."""

from fastrm.studies.claim import Case, Claim
from fastrm.studies.findings import (
    Agreement,
    Certified,
    Difference,
    Estimate,
    Point,
    agreement,
    by_optimism,
    certified,
    differences,
    plain_label,
    short_names,
    sweep,
    verdicts,
)
from fastrm.studies.judge import judge
from fastrm.studies.parity import (
    LEVEL,
    PROFILE,
    WHERE,
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
    "LEVEL", "PROFILE", "WHERE", "Agreement", "Case", "Certified", "Claim", "Comparison", "Curves", "Difference",
    "Estimate", "Optimum", "Point", "Speed", "agreement", "by_optimism", "certified", "check_folder", "compare_optima",
    "compare_speeds", "differences", "judge", "load_curves", "parity_experiments", "plain_label", "rejected",
    "short_names", "sweep", "verdicts",
]  # fmt: skip
