"""DQN on a map and in Water world, SAC on a point mass: with counterfactual experiences and without.

``python -m fastrm.bench.deep.study grid`` trains five seeds of every method and writes ``results/deep/grid.h5``, with a
figure and a table of findings; ``water`` and ``point`` are the other worlds. Each finished run is kept, so that an
interrupted study goes on where it was; several processes may make runs of one study, those of ``--kinds num`` say.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.base_class import BaseAlgorithm

import fastrm
from fastrm.arrays import Array
from fastrm.plots import learning_curves
from fastrm.results import Results, interval_of_mean, write_runs

from .training import Task, scaled_numeric, train

TICK = 1_000
NETWORK = {"policy_kwargs": {"net_arch": [64, 64]}, "batch_size": 64, "learning_starts": 1_000, "train_freq": 4}
DQN_SETTINGS = {
    **NETWORK, "learning_rate": 1e-3, "target_update_interval": 500, "exploration_fraction": 0.5,
    "exploration_final_eps": 0.1,
}  # fmt: skip


class World(NamedTuple):
    """What is learned, by whom, and with which settings: those of one learner are the same for all of its methods."""

    task: Callable[[], Task]
    learner: type[BaseAlgorithm]
    settings: dict[str, Any]


def make_task(world: Any, setup: str, grid: str, task: str, limit: int, scale: float, **settings: Any) -> Task:
    """Compile a task on a world, Boolean and numeric; numeric rewards are scaled so that success pays 1."""
    machines = {"bool": fastrm.task(task), "num": scaled_numeric(task, scale, 1 / scale)}
    problems = {kind: fastrm.compile(world, machine) for kind, machine in machines.items()}
    return Task(setup=setup, grid=grid, task=task, problems=problems, limit=limit, settings=settings)


WORLDS = {
    "grid": World(
        lambda: make_task(fastrm.GridMap.generate("1a1b1c", size=11, seed=2), "1a1b1c", "2", "a-b-c", 200, 0.01),
        DQN,
        {**DQN_SETTINGS, "gamma": 0.95},
    ),
    "water": World(
        lambda: make_task(fastrm.WaterWorld.generate(3), "water", "3", "a-b", 600, 0.001),
        DQN,
        {**DQN_SETTINGS, "gamma": 0.97, "learning_rate": 5e-4},
    ),
    "point": World(
        lambda: make_task(fastrm.PointMass.generate(0), "point", "0", "a-b", 200, 0.005, forces=True),
        SAC,
        {**NETWORK, "train_freq": 8, "learning_rate": 1e-3, "gamma": 0.95, "ent_coef": 0.02},
    ),
}


def make_runs(name: str, kinds: list[str], seeds: int, steps: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Train every method and seed, or read what is finished."""
    world, task = WORLDS[name], None
    folder.mkdir(parents=True, exist_ok=True)
    for seed, kind, counterfactual in itertools.product(range(seeds), kinds, (True, False)):
        path = folder / f"{kind}-{'crm' if counterfactual else 'own'}-{seed}-{steps}.json"
        if not path.exists():
            task = task or world.task()
            run = train(
                world.learner, task, kind, counterfactual=counterfactual, seed=seed, steps=steps, tick=TICK,
                **world.settings,
            )  # fmt: skip
            aside = path.with_suffix(".tmp")
            aside.write_text(json.dumps(run))
            aside.rename(path)
            print(f"{name} {run['method']} seed {seed}: {run['greedy_length']} of {run['shortest']} steps", flush=True)
        yield json.loads(path.read_text())


def describe(values: Array) -> str:
    """Return the mean of some runs with its interval over seeds."""
    interval = interval_of_mean(values, np.zeros(len(values)))
    return f"{values.mean():.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def findings(results: Results) -> str:
    """Return what the runs show, as a table, and whether counterfactual experiences made a difference."""
    lines = [
        "| method | settled score | area | reached a success at (steps, median) | greedy completes | shortest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    settled, area = results.per_run_values("settled"), results.per_run_values("area")
    verdicts, chosen = [], {}
    for (method,), rows in results.groups("method"):
        first = [next((s for s, n in zip(results["step"], results["completions"][row], strict=True) if n), np.nan)
                 for row in rows]  # fmt: skip
        lengths = results["greedy_length"][rows]
        heights = " | ".join(describe(value[rows]) for value in (settled, area))
        chosen[method] = area[rows]
        lines.append(
            f"| {method} | {heights} | {np.nanmedian(first):,.0f} | {(lengths > 0).sum()} of {len(rows)} | "
            f"{results['solved'][rows].sum()} of {len(rows)} |"
        )
    for kind in ("bool", "num"):
        pair = [name for name in chosen if name.endswith(f"-{kind}")]
        with_crm = next((name for name in pair if "-crm-" in name), None)
        if with_crm is None or len(pair) < 2:
            continue
        (without,) = set(pair) - {with_crm}
        gaps = chosen[with_crm] - chosen[without]
        interval = interval_of_mean(gaps, np.zeros(len(gaps)))
        word = "supported" if interval.low > 0 else "contradicted" if interval.high < 0 else "open"
        verdicts.append(
            f"- Counterfactual experiences learn faster, {kind}: **{word}**. Area {with_crm} minus {without}, seed by "
            f"seed: {describe(gaps)}."
        )
    return "\n".join([*lines, "", *verdicts, ""])


def main() -> None:
    """Make one study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--kinds", nargs="+", choices=("bool", "num"), default=["bool", "num"])
    parser.add_argument("--out", type=Path, default=Path("results/deep"))
    given = parser.parse_args()
    runs = list(make_runs(given.world, given.kinds, given.seeds, given.steps, given.out / f"{given.world}.parts"))
    if len(given.kinds) < 2:
        return
    about = {"torch": torch.__version__, "settings": {k: str(v) for k, v in WORLDS[given.world].settings.items()}}
    results = write_runs(given.out / f"{given.world}.h5", runs, name=f"deep-{given.world}", tick=TICK, about=about)
    learning_curves(results).savefig(given.out / f"{given.world}.png")
    (given.out / f"{given.world}.md").write_text(findings(results))
    print(findings(results))


if __name__ == "__main__":
    main()
