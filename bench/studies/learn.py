"""The study of machines that were learned: whether they are right, whether a curve can tell, and what they cost.

::

    python -m fastrm.bench run learn
    python -m fastrm.bench.studies.learn results/learn.h5

The second command writes findings.md into the folder of ``--out``. A curve is *at its maximum* when every episode that
ended in the last tenth of the steps completed the task: no episode of these tasks pays more. Steps to a shortest plan
are those from which every greedy path was a shortest one. Intervals are over maps.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastrm import load
from fastrm.arrays import Array
from fastrm.errors import ConfigError
from fastrm.results import Results, by_map, censored_percentile, interval_of_share, share_over_maps

from ..console import markdown_table
from .claim import Share, worst
from .deadline import interval_of_median

LEARNED, KNOWN = "learn-merge", "crm"
NEVER, ALWAYS = 0.0, 0.5
"""How often episodes walk."""
MOST = 10
"""How many times the steps of CRM, which knows the machine, a shortest plan may take."""
LITTLE = 1e-9
"""Regret above this is no rounding."""


class Runs:
    """Runs of one result file, by setup, task, learner and walk."""

    def __init__(self, results: Results) -> None:
        if results.swept != ("walk",) or {LEARNED, KNOWN} - set(results["algo"].tolist()):
            raise ConfigError(
                f"{results.path}: must sweep walk of {LEARNED} beside {KNOWN}; name the file of suite learn"
            )
        self.results, self.plan = results, results.plan
        self.cells = {key: rows for key, rows in results.groups("setup", "task", "algo", "walk") if len(rows)}
        self.setups = list(dict.fromkeys(setup for setup, *_ in self.cells))
        self.tasks = list(dict.fromkeys(task for _, task, *_ in self.cells))
        late = len(results["step"]) - math.ceil(len(results["step"]) / 10) - 1
        ended, completed = (results[name][:, -1] - results[name][:, late] for name in ("episodes", "completions"))
        self.is_wrong = results["equivalent"] == 0
        self.is_at_maximum = ended == completed
        self.is_hidden = (results["regret"] > LITTLE) & self.is_at_maximum

    def rows(self, setup: str, walk: float, task: str | None = None, algo: str = LEARNED) -> Array:
        """Return the runs of one task, or of all."""
        return np.concatenate([self.cells[setup, name, algo, walk] for name in ([task] if task else self.tasks)])

    def maps_with(self, runs: Array, setup: str, walk: float) -> Share:
        """Return on how many maps some run is one of those."""
        rows = self.rows(setup, walk)
        found = [bool(values.any()) for values in by_map(runs[rows], self.results["grid"][rows])]
        return Share(sum(found), len(found))

    def steps(self, setup: str, task: str, algo: str) -> Array:
        """Return the median steps to a shortest plan on every map, infinite where most runs never get there."""
        rows = self.rows(setup, ALWAYS, task, algo)
        steps = np.nan_to_num(self.results["steps_to_lasting_shortest"][rows], nan=np.inf)
        return np.array([censored_percentile(values, 50) for values in by_map(steps, self.results["grid"][rows])])

    def within(self, setup: str) -> Share:
        """Return on how many maps a shortest plan takes at most `MOST` times the steps of CRM in every task."""
        pairs = [(self.steps(setup, task, LEARNED), self.steps(setup, task, KNOWN)) for task in self.tasks]
        held = np.all([np.isfinite(one) & (one <= MOST * two) for one, two in pairs], axis=0)
        return Share(int(held.sum()), len(held))


def judge(runs: Runs) -> Iterator[tuple[str, str, str]]:
    """Yield name, verdict and numbers of every claim."""
    wrong, hidden = runs.is_wrong, runs.is_hidden
    walked = {setup: runs.maps_with(wrong, setup, ALWAYS) for setup in runs.setups}
    yield _claim("L1 with walks every run ends equivalent", {s: Share(n - k, n) for s, (k, n) in walked.items()})
    shares = {setup: runs.maps_with(wrong, setup, NEVER) for setup in runs.setups}
    yield _claim("L2 without walks some runs end wrong", shares)
    shares = {setup: runs.maps_with(hidden, setup, NEVER) for setup in runs.setups}
    yield _claim("L2 some of these have regret, and their curve is at its maximum", shares)
    shares = {setup: runs.within(setup) for setup in runs.setups}
    yield _claim(f"L3 a shortest plan takes at most {MOST} times the steps of CRM", shares)


def _claim(name: str, shares: dict[str, Share]) -> tuple[str, str, str]:
    """Return a claim about maps of several setups."""
    told = "; ".join(f"{setup}: {share}" for setup, share in shares.items())
    return name, worst(share.verdict for share in shares.values()), told


def verdict_table(runs: Runs) -> Iterator[Sequence[str]]:
    """Yield what became of the machines, by setup, task and walk."""
    results = runs.results
    for setup, task, walk in itertools.product(runs.setups, runs.tasks, (NEVER, ALWAYS)):
        rows = runs.rows(setup, walk, task)
        maps, right = results["grid"][rows], np.nan_to_num(results["steps_to_equivalent"][rows], nan=np.inf)
        found = (results["equivalent"] == 1, results["regret"] > LITTLE, runs.is_hidden)
        shares = (_share(which[rows], maps) for which in found)
        yield setup, task, f"{walk:g}", *shares, f"{results['regret'][rows].max():.3f}", _thousands(right)


def _share(runs: Array, maps: Array) -> str:
    """Return the share of runs with its interval; Wilson's where all runs are alike and show no spread."""
    share = share_over_maps(runs, maps)
    if share.low == share.high:
        count = len(np.unique(maps))
        low, high = interval_of_share(round(share.mean * count), count)
        share = share._replace(low=low, high=high)
    return str(share)


def price_table(runs: Runs) -> Iterator[Sequence[str]]:
    """Yield the steps to a shortest plan with walks, and those of CRM, by setup and task."""
    for setup, task in itertools.product(runs.setups, runs.tasks):
        one, two = (runs.steps(setup, task, algo) for algo in (LEARNED, KNOWN))
        low, high = interval_of_median(one / two)
        ratio = f"{np.median(one / two):.2f} [{low:.2f}, {high:.2f}]"
        yield setup, task, _thousands(one), _thousands(two), ratio, f"{(one / two).max():.2f}"


def _thousands(steps: Array) -> str:
    """Format the median of some steps in thousands."""
    middle = censored_percentile(steps, 50)
    return f"{middle / 1000:.1f}" if math.isfinite(middle) else "never"


def write_findings(runs: Runs) -> str:
    """Return the claims and tables as Markdown."""
    verdicts = ["maps", "task", "walk", "right", "regret", "regret, curve at maximum", "most", "k steps to right"]
    price = ["maps", "task", "k steps, learned", "k steps, CRM", "ratio", "largest ratio"]
    tables: list[tuple[list[str], Iterator[Sequence[Any]]]] = [
        (["claim", "verdict", "numbers"], judge(runs)), (verdicts, verdict_table(runs)), (price, price_table(runs)),
    ]  # fmt: skip
    return "\n".join(markdown_table(head, rows) for head, rows in tables)


def main() -> None:
    """Judge the runs of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/learn"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    findings = write_findings(Runs(load(arguments.file)))
    (arguments.out / "findings.md").write_text(findings)
    sys.stdout.write(f"{findings}\n")


if __name__ == "__main__":
    main()
