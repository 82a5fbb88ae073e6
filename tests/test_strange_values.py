"""Odd values at every parameter of every public function: one clear line, or success, and no other exception."""

import math
from pathlib import Path

import numpy as np
import pytest
from time_limit import does_not_hang

import fastrm
from fastrm import Experiment, FastrmError, GridMap, LearnerConfig, Profile, RewardMachine
from fastrm.errors import shown

ODD = (
    None, 5, -1, 1.5, math.nan, math.inf, 10**30, 10**5000, "", "x" * 10**5, "\x00", "\x1b[31m", "\ud800", b"x", [], {},
    object(), (), True, np.int64(3), np.float64(0.5), np.str_("a"), np.arange(3), np.zeros((2, 2)), np.array("a"),
    Path("nowhere"), Path("x" * 300), ["\x00"], (None,), {"a": None}, {1: 2}, [[]], [math.nan],
)  # fmt: skip

GRID = GridMap.parse("XXXXX\nXA aX\nX  bX\nXXXXX")
MACHINE = RewardMachine.sequence("a-b")
PROBLEM = fastrm.compile(GRID, MACHINE)
SOLUTION = fastrm.solve(PROBLEM)
RUN = {"problem": PROBLEM, "steps": 20, "tick": 10, "episode_limit": 10}
EXPERIMENT = {"name": "odd", "setups": ("1a1b",), "size": 5, "tasks": ("a-b",), "methods": ("crm-bool",)}

CALLS = {
    "GridMap": (GridMap, {"rows": GRID.rows, "source": "m", "fences": frozenset()}),
    "GridMap.parse": (GridMap.parse, {"text": GRID.render(), "source": "m"}),
    "GridMap.load": (GridMap.load, {"path": "nowhere.map"}),
    "GridMap.generate": (GridMap.generate, {"setup": "1a", "size": 5, "seed": 0, "walls": 0.0, "layout": "open"}),
    "GridMap.generate appendix": (GridMap.generate, {"setup": "appendix", "size": 41, "walls": 0, "layout": "open"}),
    "GridMap.render": (GRID.render, {"rows": GRID.rows}),
    "RewardMachine.parse": (RewardMachine.parse, {"text": MACHINE.write(), "source": "m"}),
    "RewardMachine.load": (RewardMachine.load, {"path": "nowhere.rm"}),
    "RewardMachine.from_ltlf": (RewardMachine.from_ltlf, {"formula": "F a", "reward": 1.0, "failure_reward": 0.0}),
    "RewardMachine.potentials": (MACHINE.potentials, {"gamma": 0.9}),
    "RewardMachine": (
        RewardMachine,
        {name: getattr(MACHINE, name) for name in RewardMachine.__dataclass_fields__},
    ),
    "RewardMachine.sequence": (
        RewardMachine.sequence,
        {
            "task": "a-b",
            "kind": "numeric",
            "terminal_reward": 1,
            "failure_reward": 0,
            "step_reward": 0.1,
            "closer": "nearest",
            "distance": "after",
            "arrival": "step",
            "scale": 0.1,
        },
    ),
    "task": (fastrm.task, {"text": "a-b", "kind": "boolean", "used_up": True, "grid": GRID, "terminal_reward": 1}),
    "compile": (
        fastrm.compile,
        {"grid": GRID, "machine": MACHINE, "profile": "clean", "metric": "manhattan", "slip": 0.0, "gamma": 0.9},
    ),
    "solve": (fastrm.solve, {"problem": PROBLEM, "gamma": 0.9, "machine": 0}),
    "guarantee": (fastrm.guarantee, {"problem": PROBLEM, "gamma": 0.9, "machine": 0}),
    "check": (fastrm.check, {"problem": PROBLEM, "gamma": 0.9, "machine": 0}),
    "lint": (
        fastrm.lint,
        {"machine": MACHINE, "grid": GRID, "gamma": 0.9, "profile": "clean", "metric": "manhattan"},
    ),
    "optimal_arps": (fastrm.optimal_arps, {"problem": PROBLEM, "gamma": 0.9, "epsilon": 0.1}),
    "hrm_fixed_point": (fastrm.hrm_fixed_point, {"problem": PROBLEM, "gamma": 0.9, "machine": 0}),
    "Solution.arps": (SOLUTION.arps, {"epsilon": 0.1, "horizon": 100}),
    "Solution.ceiling": (SOLUTION.ceiling, {"epsilon": 0.1, "horizon": 100}),
    "Solution.success_probability": (SOLUTION.success_probability, {"epsilon": 0.1, "horizon": 100}),
    "Solution.expected_length": (SOLUTION.expected_length, {"epsilon": 0.1}),
    "Problem.at": (PROBLEM.at, {"gamma": 0.9}),
    "train": (
        fastrm.train,
        {**RUN, "algo": "crm", "seed": 0, "shaping": False, "optimum": [1.0], "episodes": False, "config": None},
    ),
    "train_many": (fastrm.train_many, {**RUN, "algo": "qrm", "seeds": [0]}),
    "Profile": (Profile, dict.fromkeys(Profile.__dataclass_fields__, True)),
    "Profile.named": (Profile.named, {"name": "clean"}),
    "LearnerConfig": (
        LearnerConfig,
        {name: getattr(LearnerConfig(), name) for name in LearnerConfig.__dataclass_fields__},
    ),
    "Experiment": (
        Experiment,
        {name: getattr(Experiment(**EXPERIMENT), name) for name in Experiment.__dataclass_fields__},
    ),
    "Experiment.load": (Experiment.load, {"path": "nowhere.toml", "reference": None}),
    "Experiment.named": (Experiment.named, {"name": "quick", "reference": None}),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_value_at_any_parameter_is_refused_in_one_line_or_works(name):
    function, arguments = CALLS[name]
    wrong = []
    with does_not_hang(60):
        for parameter in arguments:
            for value in ODD:
                if problem := _strange(function, {**arguments, parameter: value}):
                    wrong.append(f"{name}({parameter}={shown(value)}): {problem}")
    assert not wrong, "\n".join(wrong)


def _strange(function, arguments):
    """Return what is wrong with how a call ends, None if nothing is."""
    try:
        function(**arguments)
    except FastrmError as refusal:
        line = str(refusal)
        if not line.isprintable() or (len(line) > 700):
            return f"not a line: {line[:300]!r}"
    except Exception as other:
        return f"{type(other).__name__}: {str(other)[:100]}"
    return None


def test_environments_refuse_odd_values_in_one_line_too():
    pytest.importorskip("gymnasium")
    from fastrm.env import RewardMachineEnv, RewardMachineVectorEnv

    settings = {"grid": "1a1b", "machine": "a-b", "size": 5, "map_seed": 0, "kind": "boolean", "slip": 0.0}
    one = RewardMachineEnv(PROBLEM)
    one.reset()
    many = RewardMachineVectorEnv(2, PROBLEM)
    many.reset()
    calls = (
        (RewardMachineEnv, {**settings, "episode_limit": 5, "counterfactuals": False, "render_mode": None}),
        (RewardMachineEnv, {"problem": PROBLEM}),
        (RewardMachineVectorEnv, {**settings, "num_envs": 1, "episode_limit": 5}),
        (one.step, {"action": 0}),
        (many.step, {"actions": [0, 0]}),
        (one.reset, {"seed": 0, "options": None}),
        (many.reset, {"seed": 0, "options": None}),
    )
    wrong = []
    for function, arguments in calls:
        for parameter in arguments:
            for value in ODD:
                if problem := _strange(function, {**arguments, parameter: value}):
                    wrong.append(f"{function.__qualname__}({parameter}={shown(value)}): {problem}")
    assert not wrong, "\n".join(wrong)
