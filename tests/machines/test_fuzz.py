"""Mutated files give a valid object or a FastrmError that fits on one line; nothing else."""

import warnings

from hypothesis import given, settings, strategies as st

from fastrm import FastrmError, GridMap, MachineError, MapError, RewardMachine, compile
from fastrm.machines import KINDS
from fastrm.textfile import decode_text

from sample_files import COUNTS, DEADLINE, GOLD, REFERENCE
from sizes import either

MAPS = [GridMap.generate("2a1b1f1n", size=7, seed=1).render(), "XXXXXX\nXA.XaX\nXb.XXX\nXXXXXX\n"]
MACHINES = [GOLD, REFERENCE, *(RewardMachine.sequence("a-b", kind=kind).write() for kind in KINDS)]
CLOCKS = [DEADLINE.format(k=5, top=6), COUNTS]
WORDS = [
    "->",
    "do",
    "clock",
    "count",
    "..",
    "+=",
    "when",
    "otherwise",
    "reward",
    "start",
    "d(a)",
    "!",
    "(",
    ")",
    "1e309",
    "&",
    "0",
    "[2]",
    "\r",
]
ROOM = GridMap.parse(MAPS[0])


@st.composite
def mutated(draw, texts):
    """Take a valid file and damage it in one to three places."""
    data = draw(st.sampled_from(texts)).encode()
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 8))
        kind = draw(st.sampled_from(["delete", "insert", "replace", "repeat", "splice", "truncate", "swap"]))
        if kind == "delete":
            data = data[:at] + data[at + length :]
        elif kind == "insert":
            data = data[:at] + draw(st.text(max_size=5)).encode() + data[at:]
        elif kind == "replace":
            data = data[:at] + draw(st.binary(max_size=4)) + data[at + length :]
        elif kind == "repeat":
            data = data[:at] + data[at : at + length] * draw(st.integers(2, 400)) + data[at:]
        elif kind == "splice":
            data = data[:at] + draw(st.sampled_from(WORDS)).encode() + data[at:]
        elif kind == "truncate":
            data = data[:at]
        else:
            lines = data.split(b"\n")
            i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[i], lines[j] = lines[j], lines[i]
            data = b"\n".join(lines)
    return data


def one_line(problem):
    assert "\n" not in str(problem) and len(str(problem)) < 1000


@settings(max_examples=either(5000, 750))
@given(mutated(MAPS))
def test_mutated_maps(data):
    try:
        grid = GridMap.parse(decode_text(data, "m.txt", MapError), "m.txt")
        assert GridMap.parse(grid.render()) == grid
    except FastrmError as problem:
        one_line(problem)


@settings(max_examples=either(5000, 750))
@given(mutated(MACHINES))
def test_mutated_machines(data):
    read_or_refuse(data)


@settings(max_examples=either(20_000, 300))
@given(mutated(CLOCKS))
def test_mutated_machines_with_clocks_and_counts(data):
    read_or_refuse(data)


def read_or_refuse(data):
    try:
        machine = RewardMachine.parse(decode_text(data, "m.rm", MachineError), "m.rm")
        assert RewardMachine.parse(machine.write()) == machine
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(ROOM, machine)
    except FastrmError as problem:
        one_line(problem)
