"""Result files made by hand, in which every claim of the paper holds unless something is turned round."""

import numpy as np

from fastrm import Experiment, LearnerConfig
from fastrm.experiments import Plan, method_of
from fastrm.results.hdf5 import pack
from fastrm.results.schema import empty_frame
from fastrm.results.store import file_attributes

METHODS = (
    "crm-rs-bool", "hrm-bool", "qrm-num-bool", "crm-num-bool", "hrm-num-bool", "qrm-num", "crm-num", "hrm-num",
)  # fmt: skip
TASKS = ("a", "a-b", "a-b-c")
PAPER = Experiment.named("paper")


def make_plan(**changes):
    settings = {
        "name": "made", "setups": ("1a1b1c", "2a2b2c"), "maps": 2, "map_files": PAPER.map_files[:1], "tasks": TASKS,
        "methods": METHODS, "seeds": 3, "steps": 1_000_000, "profile": "icarte2022", "closer": "any",
        "learner": LearnerConfig(tick=100_000),
    }  # fmt: skip
    return Plan.of(Experiment(**{**settings, **changes}))


PLAN = make_plan()
SLOWNESS = {"crm-rs-bool": 9, "hrm-bool": 7, "qrm": 4, "crm": 2, "hrm": 3}


def as_claimed(plan, grid, task, label, seed):
    """Return figures of a run such that every claim of the paper holds."""
    two, how = plan.grids[grid][0] != "1a1b1c", method_of(label)
    better = {"1a1b1c": "numeric-boolean"}.get(plan.grids[grid][0], "numeric")
    steps = SLOWNESS.get(label) or SLOWNESS[how.algo] + (how.kind != better)
    stuck = how.algo == "hrm" and plan.grids[grid][0].startswith("appendix") and task != "a"
    far = label == "hrm-bool" and two and task == "a-b-c"
    return {
        "steps": 1000 * len(task) * (2 * steps - 3 * two) + seed,
        "found": not stuck and not far,
        "full_from": 7 if label == "hrm-bool" else 8,
        "score": 0.95 if how.kind == "numeric-boolean" and task == "a" else 1.0,
        "length": {"a": 20, "a-b": 27, "a-b-c": 40}[task] if stuck else 20,
    }


def make_file(path, turn=lambda run: None, plan=PLAN, runs=None, **attributes):
    """Write a result file of runs as claimed, after `turn` has changed what it wants to."""
    frame = empty_frame(plan, list(range(plan.count)))
    frame["run"][:] = np.arange(plan.count)
    failed, tick, labels = [], np.arange(len(plan.step)), [method.label for method in plan.methods]
    is_text = {name: isinstance(plan.values(name)[0], str) for name in plan.swept}
    rising = np.minimum(np.linspace(0.1, 1.2, len(tick)), 0.97)
    for run in range(plan.count):
        grid, task, method, _, seed = plan.coordinates(run)
        figures = as_claimed(plan, grid, plan.tasks[task][0], labels[method], seed)
        figures |= {
            name: str(plan.coordinate(name, np.array([run]))[0], "utf-8") for name in plan.swept if is_text[name]
        }
        figures |= {"setup": plan.grids[grid][0], "grid": grid, "task": plan.tasks[task][0], "seed": seed}
        figures["label"] = labels[method]
        turn(figures)
        frame["steps_to_90"][run], frame["solved"][run] = figures["steps"], figures["found"]
        if plan.greedy_ticks:
            frame["steps_to_lasting_shortest"][run] = figures["steps"] if figures["found"] else np.nan
        # scores rise to the one settled on, which a run has from a tick on
        frame["score"][run] = figures["score"] * np.where(tick < figures["full_from"], rising, 1.0)
        frame["greedy_length"][run] = figures["length"]
        failed.append(figures.get("failed", False))
    frame["error"] = np.where(failed, b"broke", b"")
    if runs is not None:
        frame = {name: column[runs] for name, column in frame.items()}
    path.write_bytes(pack(plan, [frame], file_attributes(plan, "2026-01-01") | attributes))
    return path
