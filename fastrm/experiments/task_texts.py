"""The machines of an experiment's tasks, written out as text for its plan."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastrm.errors import ConfigError
from fastrm.exact import as_float, critical_reward
from fastrm.experiments.experiment import Experiment, critical_factor
from fastrm.machines import Kind, RewardMachine, task as build_task
from fastrm.problems import compile
from fastrm.worlds import read_world

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


def rotation_of(tasks: Sequence[tuple[str, Machines]]) -> tuple[str, Machines]:
    """Join tasks into one that plays their machines in turn."""
    joined: Machines = {}
    for kind in tasks[0][1]:
        texts = [machines[kind] for _, machines in tasks]
        joined[kind] = [[machine for text in together for machine in text] for together in zip(*texts, strict=True)]
    names = [name for name, _ in tasks]
    return "+".join(names) if len(names) < 4 else f"{names[0]}..{names[-1]}", joined
