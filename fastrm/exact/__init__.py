"""Exact answers on a finite map: optima, scores, verdicts, thresholds, and what HRM settles on."""
