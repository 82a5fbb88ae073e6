"""What result files say about the paper, the reference implementation, and beyond. Reads files; only parity trains."""

from fastrm.studies.claim import Case, Claim
from fastrm.studies.evidence import Facts
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
from fastrm.studies.water import (
    Cell,
    Gap,
    WaterOptimum,
    WaterRecord,
    water_cells,
    water_gaps,
    water_optima,
    water_records,
)

__all__ = [
    "COMPARED_AT",
    "PARITY_PROFILE",
    "REJECTION_LEVEL",
    "Agreement",
    "Case",
    "Cell",
    "Certified",
    "Claim",
    "Comparison",
    "Curves",
    "Difference",
    "Facts",
    "Gap",

    "Optimum",
    "Point",
    "Speed",
    "WaterOptimum",
    "WaterRecord",
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
    "water_cells",
    "water_gaps",
    "water_optima",
    "water_records",
]  # fmt: skip
