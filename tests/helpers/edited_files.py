"""Result files with something changed inside, sealed again: their checksum is right, their contents are not."""

import io
import json
from pathlib import Path

import h5py
import numpy as np

from fastrm.results.hdf5 import seal, unseal

TOML = """
setups = ["1a1b"]
maps = 2
size = 7
tasks = ["a-b"]
methods = ["crm-bool", "crm-rs-bool", "hrm-num@0.5"]
seeds = 2
steps = 2000
learner.tick = 500
"""


def edited(source, target, change):
    """Write a copy of a result file with something changed inside, sealed again."""
    buffer = io.BytesIO(unseal(Path(source).read_bytes(), str(source)))
    with h5py.File(buffer, "r+") as file:
        change(file)
    target.write_bytes(seal(buffer.getvalue()))
    return target


def replaced(name, make, **how):
    """Return a change that puts other data in place of a dataset."""

    def change(file):
        column = file[name][...]
        del file[name]
        file.create_dataset(name, data=make(column), **how)

    return change


def values(name, change):
    """Return a change of a dataset's values in place."""

    def apply(file):
        column = file[name][...]
        change(column)
        file[name][...] = column

    return apply


def entry(place, value):
    return lambda column: column.__setitem__(place, value)


def attribute(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


def without(name):
    return lambda file: file.attrs.__delitem__(name)


def plan(**entries):
    """Return a change of entries of the plan."""

    def change(file):
        table = json.loads(file.attrs["plan"]) | entries
        file.attrs["plan"] = json.dumps(table)

    return change


def learner(**settings):
    def change(file):
        table = json.loads(file.attrs["plan"])
        table["learner"] |= settings
        file.attrs["plan"] = json.dumps(table)

    return change


def grown(name, shape, **how):
    """Return a change that claims a size without storing anything."""

    def change(file):
        dtype = file[name].dtype
        del file[name]
        file.create_dataset(name, shape=shape, dtype=dtype, chunks=shape and tuple(min(n, 1024) for n in shape), **how)

    return change


def references(file):
    del file["score"]
    file.create_dataset("score", data=np.array([file["run"].ref] * 12, dtype=h5py.ref_dtype))


def records(column):
    return np.zeros(len(column), dtype=[("a", "i4"), ("b", "f8")])


def null(file):
    del file["score"]
    file.create_dataset("score", data=h5py.Empty("f8"))


def scaled(file):
    column = file["greedy_length"][...]
    del file["greedy_length"]
    file.create_dataset("greedy_length", data=column, chunks=(12,), scaleoffset=0)


def long_texts(column):
    return np.array(["x" * 10] * len(column), dtype=h5py.string_dtype())


GRID = ["1a1b", "0", "XXX\nXAX\nXXX\n"]
EDITS = {
    # types
    "score in 4 bytes": (replaced("score", lambda c: c.astype("f4")), "'score' has type float32"),
    "score as whole numbers": (replaced("score", lambda c: np.nan_to_num(c).astype("i8")), "'score' has type int64"),
    "score as text": (replaced("score", lambda c: c.astype("S8")), "'score' has type"),
    "score as complex numbers": (replaced("score", lambda c: c.astype("c16")), "'score' has type complex128"),
    "score as records": (replaced("score", lambda c: records(c)), "'score' has type"),
    "score as references": (references, "'score' has type object"),
    "solved without a sign": (replaced("solved", lambda c: c.astype("u1")), "'solved' has type uint8"),
    "solved as floats": (replaced("solved", lambda c: c.astype("f8")), "'solved' has type float64"),
    "run as floats": (replaced("run", lambda c: c.astype("f8")), "'run' has type float64"),
    "run as text": (replaced("run", lambda c: c.astype("S4")), "'run' has type"),
    "seed in 8 bytes": (replaced("seed", lambda c: c.astype("i8")), "'seed' has type int64"),
    "error as numbers": (replaced("error", lambda c: np.zeros(len(c))), "'error' has type float64"),
    "error of any length": (replaced("error", long_texts), "'error' has type object"),
    "label of any length": (replaced("label", long_texts), "'label' has type object"),
    "label as numbers": (replaced("label", lambda c: np.zeros(len(c), "i4")), "'label' has type int32"),
    "run_id too wide": (replaced("run_id", lambda c: c.astype("S64")), "'run_id' has type"),
    "error too wide": (replaced("error", lambda c: c.astype("S5000")), "'error' has type"),
    "truth values": (replaced("solved", lambda c: c.astype(bool)), "'solved' has type bool"),
    # shapes and storage
    "score of one dimension": (replaced("score", lambda c: c[:, 0]), "'score' has shape"),
    "score of three dimensions": (replaced("score", lambda c: c[:, :, None]), "'score' has shape"),
    "score is a number": (replaced("score", lambda c: 1.0), "'score' has shape ()"),
    "score is nothing": (null, "'score' has shape None"),
    "fewer scores": (replaced("score", lambda c: c[:-1]), "'score' has shape"),
    "fewer ticks": (replaced("tick", lambda c: c[:-1]), "has shape"),
    "run is a number": (replaced("run", lambda c: 3), "'run' has shape ()"),
    "run has two dimensions": (replaced("run", lambda c: c[:, None]), "'run' has shape"),
    "a million scores that are not stored": (grown("score", (10**6, 400)), "'score' claims"),
    "another filter": (scaled, "is stored with filter"),
    "lzf": (replaced("score", lambda c: c, chunks=(12, 4), compression="lzf"), "is stored with filter"),
    "a folder": (lambda f: f.create_group("more"), "'more', which is not part"),
    "a named type": (lambda f: f.__setitem__("more", np.dtype("f8")), "'more', which is not part"),
    # values
    "runs twice": (values("run", entry(1, 0)), "'run' must rise"),
    "a run beyond the plan": (values("run", entry(-1, 12)), "'run' must rise"),
    "a run far beyond the plan": (values("run", entry(-1, 2**62)), "'run' must rise"),
    "a negative run": (values("run", entry(0, -1)), "'run' must rise"),
    "runs backwards": (replaced("run", lambda c: c[::-1]), "'run' must rise"),
    "ticks from one": (values("tick", lambda c: c.__iadd__(1)), "'tick' must count from 0"),
    "other steps": (values("step", entry(0, 7)), "'step' does not hold"),
    "another seed": (values("seed", entry(0, 99)), "'seed' of run 0 is"),
    "another label": (values("label", entry(0, b"qrm-num")), "'label' of run 0 is"),
    "a label that is no text": (values("label", entry(0, b"\xff\xfe")), "'label' of run 0 is"),
    "another setup": (values("setup", entry(3, b"2b")), "'setup' of run 3 is"),
    "shaping of 7": (values("shaping", entry(0, 7)), "'shaping' of run 0 is"),
    "solved 7 times": (values("solved", entry(0, 7)), "'solved' holds 7"),
    "a path of length -5": (values("greedy_length", entry(0, -5)), "'greedy_length' holds -5"),
    "a shortest path of length -5": (values("shortest", entry(0, -5)), "'shortest' holds -5"),
    "-1 episodes": (values("episodes", entry((0, 0), -1)), "'episodes' holds -1"),
    "-1 steps to 90 %": (values("steps_to_90", entry(0, -1.0)), "'steps_to_90' holds -1"),
    "infinite steps to 90 %": (values("steps_to_90", entry(0, np.inf)), "'steps_to_90' holds inf"),
    "an identity in capitals": (values("run_id", entry(0, b"0123456789ABCDEF")), "'run_id' holds"),
    "an error that is no text": (replaced("error", lambda c: np.full(12, b"\xff")), "'error' holds"),
    "an error with an escape": (replaced("error", lambda c: np.full(12, b"\x1b[31m")), "'error' holds"),
    # attributes
    "no schema": (without("schema"), "schema -1"),
    "schema as text": (attribute("schema", "two"), "'schema' is no whole number"),
    "schema as a list": (attribute("schema", [2, 2]), "'schema' is no whole number"),
    "schema as a float": (attribute("schema", 2.5), "'schema' is no whole number"),
    "no plan": (without("plan"), "lacks its attribute 'plan'"),
    "no experiment": (without("experiment"), "lacks its attribute 'experiment'"),
    "no semantics": (without("semantics"), "lacks its attribute 'semantics'"),
    "plan as a number": (attribute("plan", 7), "'plan' is no text"),
    "plan as a list": (attribute("plan", ["a", "b"]), "'plan' is no text"),
    "plan that is not UTF-8": (attribute("plan", np.bytes_(b"\xff\xff")), "'plan' is no text"),
    "plan that is not JSON": (attribute("plan", "{"), "'plan' is not JSON"),
    "plan that is a list": (attribute("plan", "[]"), "'plan' is no table"),
    "plan without bottom": (attribute("plan", '{"a":' * 50_000), "'plan' is not JSON"),
    "plan that is deep": (attribute("plan", '{"a":' * 300 + "1" + "}" * 300), "'plan' is no table"),
    "experiment that is a number": (attribute("experiment", "7"), "'experiment' is no table"),
    "experiment without a name": (attribute("experiment", "{}"), "'experiment' has no name"),
    "experiment whose name is a list": (attribute("experiment", '{"name": []}'), "'experiment' has no name"),
    "semantics as text": (attribute("semantics", '{"crm": "one"}'), "'semantics' has something else"),
    "semantics as a list": (attribute("semantics", "[1]"), "'semantics' is no table"),
    "machine without bottom": (attribute("machine", "[" * 50_000), "'machine' is not JSON"),
    "started as a number": (attribute("started", 1.5), "'started' is no text"),
    "command as bytes of nothing": (attribute("command", h5py.Empty("S10")), "'command' is no text"),
    # the plan
    "10**18 runs": (plan(seeds=10**18), "seeds=1000000000000000000: must be"),
    "too many runs": (plan(seeds=10**6, grids=[GRID] * 200), "speaks of"),
    "10**15 steps": (plan(steps=10**15), "'step' does not hold"),
    "-1 steps": (plan(steps=-1), "steps=-1: must be"),
    "half a seed": (plan(seeds=2.5), "seeds=2.5: must be"),
    "seeds as text": (plan(seeds="2"), "seeds='2': must be"),
    "fewer seeds": (plan(seeds=1), "'run' must rise"),
    "no maps": (plan(grids=[]), "grids: must be"),
    "maps of two parts": (plan(grids=[["a", "b"]]), "grids: must be"),
    "maps of numbers": (plan(grids=[[1, 2, 3]]), "grids: must be"),
    "tasks as text": (plan(tasks="abc"), "tasks: must be"),
    "tasks without machines": (plan(tasks=[["a-b", {}]]), "tasks: 'a-b' lacks machines"),
    "machines of numbers": (plan(tasks=[["a-b", {"boolean": 7}]]), "tasks: must be"),
    "unknown methods": (plan(methods=["nonsense-x"] * 3), "lacks machines of kind"),
    "methods of numbers": (plan(methods=[1, 2, 3]), "methods: must be"),
    "no methods": (plan(methods=[]), "methods: must be"),
    "no learner": (plan(learner=None), "learner=None: must be"),
    "a tick of 0": (learner(tick=0), "tick=0: must be"),
    "gamma of NaN": (learner(gamma=float("nan")), "gamma=nan: must be"),
    "profile as a list": (plan(profile=[]), "profile=[]: must be"),
    "another metric": (plan(metric="air"), "metric='air': must be"),
    "a slip of 3": (plan(slip=3), "slip=3: must be"),
    "optimism as text": (plan(optimism="much"), "optimism='much': must be"),
    "root_seed as text": (plan(root_seed="0"), "root_seed='0': must be"),
    "names with NUL": (plan(tasks=[["a\0b", {"": [["x"]]}]]), "tasks: must be"),
    # what no check of the file can see, or what does no harm
    "a map that is none": (plan(grids=[["1a1b", "0", "?"], ["1a1b", "1", "?"]]), None),
    "a machine that is none": (plan(tasks=[["a-b", {"": [["?"]]}]]), None),
    "an unknown profile": (plan(profile="nonsense"), None),
    "infinite scores": (values("score", entry((0, 0), np.inf)), None),
    "enormous scores": (values("score", entry(0, 1e308)), None),
    "enormous ceilings": (values("ceiling", entry(slice(None), 1e308)), None),
    "units of 0": (values("optimal_arps", entry(slice(None), 0.0)), None),
    "infinite rewards": (values("reward", entry(slice(None), -np.inf)), None),
    "scores of NaN": (values("score", entry(slice(None), np.nan)), None),
    "every run failed": (replaced("error", lambda c: np.full(12, b"broke")), None),
    "a name with markup": (attribute("experiment", '{"name": "[/x][red]"}'), None),
    "a name with an escape": (attribute("experiment", json.dumps({"name": "\x1b[2J\x07\u202e"})), None),
    "a variable of tomorrow": (lambda f: f.create_dataset("tomorrow", data=long_texts(range(3))), None),
}
"""What is changed, and what the message says; None where the file may load."""
