"""The maps and the machines of an experiment, written out as text for its plan."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from fastrm.errors import ConfigError
from fastrm.exact import as_float, critical_reward
from fastrm.experiments.experiment import Experiment, critical_factor
from fastrm.machines import KINDS, Kind, RewardMachine, task as build_task
from fastrm.problems import compile
from fastrm.worlds import generate_grid, load_world, read_world, write_world

Machines = dict[str, list[list[str]]]
"""By kind (``""`` for machines from files): for each map, or once for all of them, the texts played in rotation."""


def machines_of(
    experiment: Experiment, task: str, kind: Kind, grids: Sequence[tuple[str, str, str]]
) -> list[list[str]]:
    """Build the machine of a task: one for all maps, or one per map where the reward depends on it."""

    def build(terminal: float | None) -> RewardMachine:
        return build_task(task, kind=kind, closer=experiment.closer, terminal_reward=terminal, scale=experiment.scale)

    reward = experiment.terminal_rewards.get(kind)
    if not isinstance(reward, str):
        return [[build(reward).write()]]
    if experiment.slip:
        raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* is for moves that do not slip; give a number")
    if "gamma" in dict(experiment.sweep):
        raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* depends on gamma, which has several values here")
    texts = []
    for _, _, text in grids:
        problem = compile(read_world(text), build(0.0), experiment.profile, experiment.metric, start=experiment.start)
        critical = as_float(critical_reward(problem, experiment.first_learner.gamma))
        if math.isinf(critical):
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* is beyond floating point; give a number")
        factor = critical_factor(reward) or 1.0
        if critical == 0 != factor - 1.0:
            raise ConfigError(f"terminal_rewards.{kind}={reward!r}: R* of task {task} is 0; give a number")
        texts.append([build(critical + (factor - 1.0) * abs(critical)).write()])
    return texts


def grids_of(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Return setup, name and text of every map: generate some, read the others."""
    grids = [
        (setup, str(k), generate_grid(setup, size=experiment.size, seed=k).render())
        for setup in experiment.setups
        for k in range(experiment.maps)
    ]
    for name in experiment.map_files:
        grids.append((Path(name).stem, Path(name).stem, write_world(load_world(name))))
    names = [(setup, name) for setup, name, _ in grids]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ConfigError(f"two maps are called {twice[0][1]!r}; give their files different names")
    return grids


def tasks_of(
    experiment: Experiment, kinds: Collection[str | None], grids: Sequence[tuple[str, str, str]]
) -> list[tuple[str, Machines]]:
    """Return name and machines of every task, in the kinds that methods ask for."""
    tasks: list[tuple[str, Machines]] = [
        (task, {kind: machines_of(experiment, task, kind, grids) for kind in KINDS if kind in kinds})
        for task in experiment.tasks
    ]
    for name in experiment.machine_files:
        tasks.append((Path(name).stem, {"": [[RewardMachine.load(name).write()]]}))
    return [rotation_of(tasks)] if experiment.rotate else tasks


def rotation_of(tasks: Sequence[tuple[str, Machines]]) -> tuple[str, Machines]:
    """Join tasks into one that plays their machines in turn."""
    joined: Machines = {}
    for kind in tasks[0][1]:
        texts = [machines[kind] for _, machines in tasks]
        joined[kind] = [[machine for text in together for machine in text] for together in zip(*texts, strict=True)]
    names = [name for name, _ in tasks]
    return "+".join(names) if len(names) < 4 else f"{names[0]}..{names[-1]}", joined
