"""A run of a kernel beside its twin, the oracle."""

import numpy as np

from fastrm.learners import registry
from fastrm.learners.hrm import option_pairs

import naive

PROFILES = {"clean": naive.CLEAN, "icarte2022": naive.ICARTE2022}
FAILURE_OPTIONS = {
    "clean": naive.CLEAN,
    "icarte2022": naive.ICARTE2022,
    "clean + failure_options": naive.CLEAN | {"failure_options": True},
    "icarte2022 - failure_options": naive.ICARTE2022 | {"failure_options": False},
    "clean + merge_terminals": naive.CLEAN | {"merge_terminals": True},
}
"""Profiles that differ in the options HRM has where tasks can fail."""
LEARNERS = tuple(name for name in registry.BUILT_IN if name != "learn-smallest")  # which needs an extra
ANY_MACHINE = tuple(name for name in LEARNERS if name not in ("coupled", "learn-merge"))
"""Learners that take any machine; `coupled` takes agendas, and has tests of its own."""


def assert_equal(oracle, batch, i=0):
    """Compare everything that the oracle and run i of a batch know, bit for bit."""
    problem, run = batch.problem, batch.result(i)
    cells = problem.terrain.cells_of(range(len(problem.terrain.cells)))
    if batch.learner.name == "hrm":
        rows = [option for machine in oracle.machines for option in machine.options(oracle.self_loop_options)]
        ours = option_pairs(problem, oracle.self_loop_options)
        assert [source for source, _ in rows] == [problem.states[column] for _, column, _ in ours]
        values = [[oracle.controller.get((cell, row), oracle.q_init) for row in rows] for cell in cells]
        assert run.controller.tobytes() == np.array(values).tobytes()
    else:
        rows = oracle.states
    values = [[[oracle.value(cell, row, a) for a in oracle.actions] for row in rows] for cell in cells]
    assert run.q.tobytes() == np.array(values).tobytes()
    assert (run.episodes.tolist(), run.completions.tolist()) == (
        [tick["episodes"] for tick in oracle.ticks], [tick["completions"] for tick in oracle.ticks],
    )  # fmt: skip
    assert run.step.tolist() == [tick["step"] for tick in oracle.ticks]
    assert run.reward.tobytes() == np.array([tick["reward"] for tick in oracle.ticks]).tobytes()
    assert np.array_equal(run.score, np.array([tick["score"] for tick in oracle.ticks]), equal_nan=True)
    paid, length = run.episode_log
    assert list(zip(paid.tolist(), length.tolist(), strict=True)) == oracle.lengths
    assert batch.state.agents["t"][i] == oracle.t
