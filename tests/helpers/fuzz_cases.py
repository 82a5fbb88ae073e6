"""The cases of ``tests/fuzz.py``: each takes a random generator and a folder, and ends well or in a FastrmError."""

import contextlib
import io
import json
import os
import sys
import time
from functools import cache
from pathlib import Path

import h5py
import numpy as np

import fastrm
from fastrm import Experiment, GridMap, LearnerConfig, Profile, RewardMachine
from fastrm.bench.__main__ import COMMANDS, main
from fastrm.machines import KINDS
from fastrm.results.hdf5 import seal, unseal

from edited_files import TOML, edited
from fuzz import Bad
from sample_files import COUNTS, GOLD, REFERENCE

LONG = "a" * 5000
ODD = [
    None, True, -1, 0, 0.5, -0.0, float("nan"), float("inf"), 10**30, -(10**30), 1j, "", "x", "\0", "\x1b[2J", "[/x]",
    "\ud800", LONG, b"x", b"\xff", (), [], [None], {}, {"a": 1}, set(), object(), object, np.array([]),
    np.array([1.0, 2.0]), np.float64("nan"), np.int8(-1), Path(), Path("/dev/zero"), range(3), print,
]  # fmt: skip
TEXTS = {
    "map": [GridMap.generate("2a1b1f1n", size=7, seed=1).render(), "XXXXXX\nXA.XaX\nXb.XXX\nXXXXXX\n"],
    "rm": [GOLD, REFERENCE, COUNTS, *(RewardMachine.sequence("a-b", kind=kind).write() for kind in KINDS)],
    "toml": [TOML],
    "task": ["a-b-c", "{a,b}-c", "a-{b,c}", "a"],
    "formula": ["F (a & F b)", "a U b", "G !c & F a", "X a | F b"],
}
SPLICES = ["->", "when", "otherwise", "\0", "\x1b", "é", "\n", *'-{}()!&[]="#']


def mutated(chance, kind):
    """Return a valid text with up to three things changed; digits are never added, so that nothing grows."""
    text = chance.choice(TEXTS[kind])
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        change = chance.choice(["delete", "splice", "truncate", "swap", "replace"])
        if change == "delete":
            text = text[:at] + text[at + chance.randrange(1, 9) :]
        elif change == "splice":
            text = text[:at] + chance.choice(SPLICES) + text[at:]
        elif change == "truncate":
            text = text[:at]
        elif change == "replace":
            text = text[:at] + chance.choice(SPLICES) + text[at + 1 :]
        else:
            lines = text.split("\n")
            i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
    return text


@cache
def _problem():
    return fastrm.compile(GridMap.generate("1a1b", size=7, seed=0), RewardMachine.sequence("a-b"))


@cache
def original(folder):
    """Return a result file of two tiny maps."""
    path = folder / "original.h5"
    (folder / "original.toml").write_text(TOML)
    fastrm.run(str(folder / "original.toml"), path, workers=1)
    return path


def _calls(chance, folder):
    """Return public functions with arguments that are fine."""
    problem, results = _problem(), fastrm.load(original(folder))
    grid, machine = problem.grid, problem.machines[0]
    return [
        (GridMap.parse, {"text": mutated(chance, "map")}),
        (GridMap.load, {"path": folder / "x.map"}),
        (GridMap.generate, {"setup": "1a1b", "size": 7, "seed": 1}),
        (RewardMachine.parse, {"text": mutated(chance, "rm")}),
        (RewardMachine.load, {"path": folder / "x.rm"}),
        (RewardMachine.sequence, {"sequence": mutated(chance, "task"), "kind": "numeric"}),
        (RewardMachine.from_ltlf, {"formula": mutated(chance, "formula")}),
        (fastrm.task, {"text": mutated(chance, "task"), "kind": "boolean"}),
        (fastrm.compile, {"grid": grid, "machines": machine, "profile": "clean", "metric": "manhattan", "slip": 0.0}),
        (fastrm.solve, {"problem": problem, "gamma": 0.9}),
        (fastrm.guarantee, {"problem": problem, "gamma": 0.9}),
        (fastrm.check, {"problem": problem, "gamma": 0.9}),
        (fastrm.lint, {"problem": problem, "gamma": 0.9}),
        (fastrm.optimal_arps, {"problem": problem, "gamma": 0.9, "epsilon": 0.1}),
        (fastrm.hrm_fixed_point, {"problem": problem, "gamma": 0.9}),
        (fastrm.train, {"problem": problem, "algo": "crm", "steps": 100, "seed": 0, "shaping": False}),
        (fastrm.train_many, {"problem": problem, "algo": "qrm", "steps": 100, "seeds": [0, 1]}),
        (Experiment.load, {"path": folder / "x.toml"}),
        (Experiment.named, {"name": "quick"}),
        (Experiment, {"name": "x", "setups": ("1a",), "tasks": ("a",), "methods": ("crm-bool",), "seeds": 1}),
        (LearnerConfig, {"alpha": 0.5, "gamma": 0.9, "epsilon": 0.1, "tick": 10, "window": 5, "q_init": 1.0}),
        (Profile.named, {"name": "clean + prune"}),
        (Profile, {"prune": True, "falls_off": False}),
        (fastrm.load, {"path": original(folder)}),
        (results.__getitem__, {"name": "score"}),
        (results.select, {"method": "crm-bool", "seed": [0, 1], "grid": "0"}),
        (results.curves, {"value": "score", "task": "a-b"}),
        (lambda *names: list(results.groups(*names)), ["setup", "label"]),
        (results.per_run_values, {"value": "steps_to_0.5"}),
        (results.summary, {"by": ("setup", "label"), "over": None}),
        (results.compare, {"one": "crm-bool", "two": "crm-rs-bool", "value": "settled", "over": None}),
    ]


def api(chance, folder):
    """Call a public function with something odd, or with a text that was mutated."""
    for kind in ("map", "rm", "toml"):
        data = mutated(chance, kind).encode(errors="surrogatepass")
        (folder / f"x.{kind}").write_bytes(data if chance.random() < 0.9 else bytes(chance.choices(range(256), k=99)))
    function, given = chance.choice(_calls(chance, folder))
    for _ in range(chance.choice((0, 1, 1, 2))):
        key = chance.choice(range(len(given)) if isinstance(given, list) else list(given))
        given[key] = chance.choice(ODD)
    function(*given) if isinstance(given, list) else _call(function, given)


def _call(function, given):
    """Call by position where a parameter has another name here than there."""
    try:
        function(**given)
    except TypeError as problem:
        if "unexpected keyword" not in str(problem) and "missing" not in str(problem):
            raise
        function(*given.values())


def commands(chance, folder):
    """Give the shell door random arguments."""
    for kind in ("map", "rm", "toml"):
        (folder / f"x.{kind}").write_bytes(mutated(chance, kind).encode(errors="surrogatepass"))
    edit_inside(chance, original(folder), folder / "x.h5")
    (folder / "x.jsonl").write_text('{"labels": ["a", "b"], "rewards": [0, 1], "end": "success"}\n')
    files = [folder / "x.map", folder / "x.rm", folder / "x.toml", folder / "x.h5", original(folder), folder]
    words = [str(path) for path in files] + [
        "a-b",
        "1a1b",
        "quick",
        "",
        "x",
        "\x1b[2J",
        "\ud800",
        "-1",
        "0",
        "7",
        "1e9",
    ]
    command = chance.choice([name for name in COMMANDS if name not in ("speed", "reproduce")])
    usual = {
        "run": [
            folder / "x.toml",
            "--out",
            folder / "out.h5",
            "-j",
            "1",
            "--steps",
            "100",
            "--maps",
            "1",
            "--seeds",
            "1",
        ],
        "claims": [folder / "x.h5"],
        "findings": [folder / "x.h5", "--no-exact"],
        "plot": [folder / "x.h5", "--text"],
        "draw": ["--machine", folder / "x.rm", "--out", folder / "x.svg"],
        "explain": [folder / "x.map", folder / "x.rm", "--out", folder / "x.html"],
        "report": [folder / "x.h5", "--out", folder / "x.html"],
        "replay": [folder / "x.h5", "--run", "0", "--out", folder / "x.npz"],
        "play": [folder / "x.map", folder / "x.rm"],
        "parity": ["--reference", folder, "--out", folder / "parity"],
        "info": [folder / "x.h5"],
        "merge": [folder / "x.h5", original(folder), "--out", folder / "joined.h5"],
        "check": [folder / "x.map", folder / "x.rm"],
        "learn": [folder / "x.map", folder / "x.rm", "--steps", "2000"],
        "infer": [folder / "x.jsonl", "--out", folder / "learned.rm"],
    }[command]
    given = [command, *map(str, usual)]
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        at = chance.randrange(1, len(given) + 1)
        change = chance.choice(["add", "replace", "remove", "flag"])
        if change == "add":
            given.insert(at, chance.choice(words))
        elif change == "flag":
            flags = [
                "--json",
                "--size",
                "--seed",
                "--kind",
                "--gamma",
                "--quiet",
                "--shard",
                "--format",
                "--no",
                "-",
                "--",
            ]
            given.insert(at, chance.choice(flags))
        elif at < len(given):
            given[at : at + 1] = [chance.choice(words)] if change == "replace" else []
    if given[0] == "run" and "--steps" not in given:
        return  # it might be the whole paper
    shell(given)


def shell(given):
    """Run a command here; its exit code and what it says must be in order."""
    out, error, before = io.StringIO(), io.StringIO(), sys.stdin
    try:
        sys.stdin = io.StringIO("wdsa\n\x1b[Aq")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = main(given)
    except SystemExit as stop:
        code = stop.code
    finally:
        sys.stdin = before
    said = out.getvalue() + error.getvalue()
    if code not in (0, 1, 2, 3):
        raise Bad(f"{given}: exit code {code}")
    if "Traceback" in said or (code == 2 and "\x1b" in error.getvalue()):
        raise Bad(f"{given}: {said[-500:]}")


def edit_inside(chance, source, target):
    """Write a copy of a result file with random edits inside, sealed again."""
    if chance.random() < 0.5:
        image = bytearray(unseal(source.read_bytes(), str(source)))
        for _ in range(chance.choice((1, 1, 2, 8, 64))):
            at = chance.randrange(len(image))
            image[at] = chance.choice((image[at] ^ (1 << chance.randrange(8)), chance.randrange(256), 0, 255))
        target.write_bytes(seal(bytes(image)))
        return

    def change(file):
        for _ in range(chance.choice((1, 1, 2, 3))):
            with contextlib.suppress(Exception):  # not every edit can be made
                chance.choice((_edit_dataset, _edit_dataset, _edit_attribute, _edit_plan))(chance, file)

    edited(source, target, change)


def _edit_dataset(chance, file):
    name = chance.choice(sorted(file))
    column = file[name][...]
    change = chance.choice(["type", "shape", "value", "delete", "rename", "add", "link", "group", "filter", "claim"])
    if change == "value":
        flat = column.reshape(-1)
        odd = [0, -1, 1, 2**31 - 1, 2**62, np.nan, np.inf, 1e308, b"\xff", b"x" * 50, b"\x1b[2J"]
        flat[chance.randrange(len(flat))] = chance.choice(odd)
        file[name][...] = flat.reshape(column.shape)
        return
    if change in ("add", "link", "group"):
        other = chance.choice(["more", "score2", "\x1b[2J", "a" * 300])
        file[other] = {"add": column, "link": h5py.SoftLink("/run"), "group": None}[change]
        return
    del file[name]
    if change == "type":
        types = ["f4", ">f8", "i8", ">i4", "u1", "S1", "S64", "c16", "?", h5py.string_dtype(), "f2", "V8"]
        file.create_dataset(name, data=column.astype(chance.choice(types)))
    elif change == "shape":
        shapes = [column[:-1], column[..., None], column.reshape(-1), column[:0], column.T, column.reshape(-1)[0]]
        file.create_dataset(name, data=chance.choice(shapes))
    elif change == "rename":
        file[chance.choice(["runs", "score", "error", "label"])] = column
    elif change == "filter":
        file.create_dataset(
            name, data=column, chunks=True, **chance.choice([{"compression": "lzf"}, {"scaleoffset": 0}])
        )
    elif change == "claim":
        shape = tuple(chance.choice((0, 1, 10**6, 10**12)) for _ in column.shape)
        file.create_dataset(name, shape=shape, dtype=column.dtype, chunks=tuple(max(1, min(n, 99)) for n in shape))


def _edit_attribute(chance, file):
    name = chance.choice([*file.attrs, "more"])
    if chance.random() < 0.2:
        del file.attrs[name]
        return
    odd = ["", "{}", "[]", "null", "[" * 10**5, '{"name": 1}', 7, 1.5, [1, 2], ["a", "b"], b"\xff", np.nan, "\x1b[2J"]
    file.attrs[name] = chance.choice([*odd, h5py.Empty("f8"), np.array(["x"] * 9, dtype=h5py.string_dtype())])


def _edit_plan(chance, file):
    """Change something anywhere inside the JSON of an attribute."""
    name = chance.choice(["plan", "plan", "experiment", "semantics"])
    table = json.loads(file.attrs[name])
    place, key = table, chance.choice(sorted(table))
    while isinstance(place[key], dict | list) and place[key] and chance.random() < 0.6:
        place = place[key]
        key = chance.choice(sorted(place)) if isinstance(place, dict) else chance.randrange(len(place))
    odd = [
        None,
        True,
        0,
        -1,
        1,
        2.5,
        10**18,
        10**400,
        float("nan"),
        "",
        "x",
        "\x1b[2J",
        "\0",
        [],
        {},
        [[]],
        [None],
        "\ud800",
    ]
    place[key] = chance.choice(odd)
    file.attrs[name] = json.dumps(table)


def files(chance, folder):
    """Read a result file that was edited inside."""
    path, whole = folder / "x.h5", original(folder)
    edit_inside(chance, whole, path)
    for given in (["info", path], chance.choice(_readers(path, whole, folder))):
        shell([str(word) for word in given])
    results = fastrm.load(path)
    _ = repr(results), results.complete, results.summary(), results.curves()


def _readers(path, whole, folder):
    return [
        ["claims", path, whole], ["claims", "--json", path], ["findings", path], ["plot", path, "--text"],
        ["merge", whole, path, "--out", folder / "joined.h5"], ["merge", path, "--out", folder / "joined.h5"],
        ["run", folder / "original.toml", "--out", path, "--quiet", "-j", "1"],
    ]  # fmt: skip


def broken(chance, folder):
    """End badly, to see that it is noticed."""
    change = chance.choice((_raise, time.sleep, _allocate, os.kill))
    change(*{time.sleep: (100,), os.kill: (os.getpid(), 11)}.get(change, ()))


def _raise():
    raise TypeError("noticed")


def _allocate():
    time.sleep(len(np.ones(3 << 27)))
