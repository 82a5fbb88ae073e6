"""Answers without learning: optima, scores, verdicts and thresholds, every bound proven. No randomness."""

from fastrm.exact.advice import Advice, KindAdvice, advise
from fastrm.exact.answers import (
    Check,
    Finding,
    Guarantee,
    ScoreUnit,
    Solution,
    Witness,
    check,
    guarantee,
    optimal_arps,
    score_ceiling,
    score_units,
    solve,
)
from fastrm.exact.tabular import TabularSolution
from fastrm.exact.values import (
    check_gamma,
    check_request,
    follow_option,
    highest_action,
    refuse_slip,
    value_and_policy,
    value_range,
)
from fastrm.exact.verdicts import (
    Phase,
    TabularGuarantee,
    as_float,
    critical_reward,
    guarantee_tables,
    lint,
    reward_phases,
)
from fastrm.exact.water import WaterGuarantee, WaterSolution, guarantee_water

__all__ = [
    "Advice", "Check", "Finding", "Guarantee", "KindAdvice", "Phase", "ScoreUnit", "Solution", "TabularGuarantee",
    "TabularSolution", "WaterGuarantee", "WaterSolution", "Witness", "advise", "as_float", "check", "check_gamma",
    "check_request", "critical_reward", "follow_option", "guarantee", "guarantee_tables", "guarantee_water",
    "highest_action", "lint", "optimal_arps", "refuse_slip", "reward_phases", "score_ceiling", "score_units", "solve",
    "value_and_policy", "value_range",
]  # fmt: skip
