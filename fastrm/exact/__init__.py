"""Answers without learning: optima, scores, verdicts and thresholds, every bound proven. No randomness."""

from fastrm.exact.lint import Check, Finding, check, lint
from fastrm.exact.solve import Solution, solve
from fastrm.exact.thresholds import as_float, critical_reward
from fastrm.exact.unit import ScoreUnit, optimal_arps, score_ceiling, score_units
from fastrm.exact.values import (
    check_gamma,
    check_request,
    follow_option,
    highest_action,
    refuse_slip,
    value_and_policy,
    value_range,
)
from fastrm.exact.verdicts import Guarantee, Witness, guarantee
from fastrm.exact.water import WaterGuarantee, WaterSolution

__all__ = [
    "Check", "Finding", "Guarantee", "ScoreUnit", "Solution", "WaterGuarantee", "WaterSolution", "Witness",
    "as_float", "check", "check_gamma", "check_request", "critical_reward", "follow_option", "guarantee",
    "highest_action", "lint", "optimal_arps",
    "refuse_slip", "score_ceiling", "score_units", "solve", "value_and_policy", "value_range",
]  # fmt: skip
