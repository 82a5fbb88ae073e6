"""The commands ``learn`` and ``infer``: verdicts, witnesses, files, and one line for what cannot be."""

import json
import os
from pathlib import Path

import pytest

import fastrm
from fastrm.bench.__main__ import main

JIRP = Path(os.environ.get("FASTRM_REFERENCE", "")) / "jirp"
MAP = ["1a1b1c", "{a,b}-c", "--size", "15", "--seed", "12"]


def test_learn_says_whether_machines_are_right_and_shows_the_witness_against_the_first(tmp_path, capsys):
    out = tmp_path / "learned.rm"
    assert main(["learn", *MAP, "--walk", "0", "--steps", "50000", "--seeds", "2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "0 of 2 seeds ended with a machine that is right on this map" in said
    assert "not equivalent" in said and "pays     1, success; the learned machine says 0" in said
    problem = fastrm.compile(fastrm.GridMap.generate("1a1b1c", size=15, seed=12), fastrm.task("{a,b}-c"))
    machine = fastrm.RewardMachine.load(out)
    assert machine == fastrm.learn(problem, steps=50_000, walk=0).machine
    assert not fastrm.equivalent(problem, machine).on_map


def test_learn_gives_programs_everything(capsys):
    assert main(["learn", *MAP, "--steps", "50000", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (run,) = said["runs"]
    assert run["equivalent"] and run["witness"] is None and run["greedy_length"] == said["shortest"] == 21
    assert run["log"][0]["states"] == 1 and run["log"][-1]["equivalent"]
    assert len(fastrm.RewardMachine.parse(run["machine"]).states) == run["states"]


def test_infer_prints_or_writes_a_machine(tmp_path, capsys):
    traces, out = tmp_path / "traces.jsonl", tmp_path / "m.rm"
    traces.write_text('{"labels": ["a", "", "b"], "rewards": [0, 0, 1], "end": "success"}\n')
    assert main(["infer", str(traces)]) == 0
    assert "u0 -> done  when b     reward 1" in capsys.readouterr().out
    assert main(["infer", str(traces), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machine"] == out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learn", "water", "a"], "learn: not on <water seed 0>"),
        (["learn", "1a1b", "a-b", "--kind", "numeric"], "reads d(a), and labels do not tell it"),
        (["learn", "1a1b1c1d1e1f1g1h1i1j1k", "{a,b,c,d,e,f,g,h,i,j,k}"], "learn: not on"),
        (["learn", "1a1b", "a-b", "--slip", "0.1"], "are not certain"),
        (["learn", "1a1b", "a-b", "--walk", "2"], "walk=2.0: must be a number from 0 to 1"),
        (["learn", "1a1b", "a-b", "--seeds", "0"], "--seeds=0: must be a whole number"),
        (["learn", "1a1b", "a-b", "--engine", "sat"], "engine='sat': must be one of merge, smallest"),
        (["infer", "nothing.jsonl"], "nothing.jsonl: cannot be read"),
        (["infer", "odd.jsonl"], "odd.jsonl:2: 1 labels and 2 rewards"),
        (["infer", "odd.jsonl", "--max-states", "0"], "odd.jsonl:2"),
    ],
)
def test_what_cannot_be_learned_is_one_line_and_code_2(tmp_path, monkeypatch, words, message, capsys):
    monkeypatch.chdir(tmp_path)
    Path("odd.jsonl").write_text('{"labels": [], "rewards": []}\n{"labels": ["a"], "rewards": [0, 1]}\n')
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


@pytest.mark.skipif(not JIRP.is_dir(), reason="FASTRM_REFERENCE names no folder with the published data")
@pytest.mark.parametrize(("task", "states", "failure"), [("t1", 2, ("3",)), ("t2", 2, ()), ("t4", 4, ())])
def test_machines_without_a_line_of_terminals_are_read_and_learned(task, states, failure):
    machine = fastrm.RewardMachine.load(JIRP / f"{task}.txt")
    assert len(machine.states) == states and machine.failure == failure and len(machine.success) == 1
    problem = fastrm.compile(fastrm.GridMap.load(JIRP / "map_0.map"), machine)
    found = fastrm.learn(problem, steps=50_000)
    assert found.equivalent_on_map and found.run.solved
    assert len(found.machine.states) == states
