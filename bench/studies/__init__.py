"""What result files say about the paper, the reference implementation, and beyond. Reads files; only parity trains."""

from .claim import VERDICTS, Case, Claim, Share, format_p, worst
from .claims import has_starts, is_plain, judge, judged
from .evidence import Facts
from .findings import (
    PAIRS,
    Agreement,
    Certified,
    Difference,
    agreement,
    certified,
    differences,
    findings_tables,
    verdicts,
)
from .parity import (
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
from .water import WaterOptimum, WaterRecord, water_optima, water_records

__all__ = [
    "COMPARED_AT", "PAIRS", "PARITY_PROFILE", "REJECTION_LEVEL", "VERDICTS", "Agreement", "Case", "Certified", "Claim",
    "Comparison", "Curves", "Difference", "Facts", "Optimum", "Share", "Speed", "WaterOptimum", "WaterRecord",
    "agreement", "certified", "check_folder", "compare_optima", "compare_speeds", "differences", "findings_tables",
    "format_p", "has_starts", "is_plain", "judge", "judged", "load_curves", "parity_experiments", "rejected",
    "verdicts", "water_optima", "water_records", "worst",
]  # fmt: skip
