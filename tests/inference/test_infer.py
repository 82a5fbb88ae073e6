"""Machines from traces: consistent, as small as other tools find them, and one line for traces that cannot be."""

import json
import os
import random

import numpy as np
import pytest

import fastrm
from fastrm.errors import ConfigError, FastrmWarning, MachineError, MissingExtra
from fastrm.inference import Trace, engines, load_traces, save_traces

import naive_inference as naive
from random_traces import by_label, pairs, play, random_machine

FULL = bool(os.environ.get("FASTRM_FULL"))


@pytest.mark.parametrize("seed", range(200 if FULL else 40))
def test_the_machine_explains_every_trace_and_is_the_one_of_the_oracle(seed):
    rng = random.Random(seed)
    machine = random_machine(rng)
    traces = [play(rng, machine) for _ in range(rng.choice([3, 20, 100]))]
    found = by_label(fastrm.infer(traces))
    expected = naive.infer([pairs(trace) for trace in traces])
    assert len(found) == len(expected)
    assert all(naive.explains(found, pairs(trace)) for trace in traces)
    for v, state in enumerate(expected):
        for label, (v_next, output) in state.items():
            assert found[v][label] == ((0 if output[1] else v_next), output)
    assert all(
        output == naive.NOTHING for v, s in enumerate(found) for x, (_, output) in s.items() if x not in expected[v]
    )


@pytest.mark.parametrize("seed", range(200 if FULL else 25))
def test_it_is_the_machine_that_aalpy_finds(seed):
    learning = pytest.importorskip("aalpy.learning_algs")
    rng = random.Random(1000 + seed)
    machine = random_machine(rng, ending=0)
    traces = [play(rng, machine, longest=15) for _ in range(150)]
    data = [
        (tuple(trace.labels[: k + 1]), trace.rewards[k]) for trace in traces for k in range(len(trace.labels))
    ]  # fmt: skip
    peer = learning.run_RPNI(data, "mealy", print_info=False)
    found = by_label(fastrm.infer(traces))
    number = {state: v for v, state in enumerate(peer.states)}
    peers = [
        {x: (number[after], (state.output_fun[x], 0)) for x, after in state.transitions.items()}
        for state in sorted(peer.states, key=lambda state: state is not peer.initial_state)
    ]
    if peer.states[0] is not peer.initial_state:
        pytest.fail("the first state of AALpy's machine is not its start")
    assert len(found) == len(peers)
    assert naive.equal(found, peers, "abc")


@pytest.mark.parametrize("seed", range(40 if FULL else 12))
def test_the_smallest_machine_is_as_small_as_brute_force_finds(seed):
    pytest.importorskip("pysat")
    rng = random.Random(seed)
    machine = random_machine(rng, "ab", 2, ending=0.1)
    traces = [play(rng, machine, "ab", 6) for _ in range(6)]
    found = fastrm.infer(traces, "smallest")
    outputs = sorted({output for trace in traces for _, output in pairs(trace)} | {naive.NOTHING})
    assert all(naive.explains(by_label(found, "ab"), pairs(trace)) for trace in traces)
    assert len(found.states) == naive.smallest([pairs(trace) for trace in traces], "ab", outputs, 2)


def needing_search():
    """Return traces that merging explains with more states than are needed."""
    for seed in range(1000):
        rng = random.Random(seed)
        machine = random_machine(rng, "ab", 4, ending=0)
        traces = [play(rng, machine, "ab", 8) for _ in range(8)]
        if len(fastrm.infer(traces).states) > len(fastrm.infer(traces, "smallest").states):
            return traces
    raise AssertionError("merging always found a smallest machine")


def test_the_solver_finds_machines_that_merging_misses_and_says_when_it_gives_up(monkeypatch):
    pytest.importorskip("pysat")
    traces = needing_search()
    merged = fastrm.infer(traces)
    monkeypatch.setattr(engines, "search", lambda tree, k: None)
    with pytest.warns(FastrmWarning, match="gave up after 1000 conflicts"):
        assert fastrm.infer(traces, "smallest").write() == merged.write()


def test_the_solver_is_an_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pysat.solvers", None)
    with pytest.raises(MissingExtra, match=r"needs python-sat; install fastrm\[sat\]"):
        fastrm.infer([Trace(["a", "a"], [0, 1])], "smallest")


def test_steps_that_read_and_pay_nothing_are_left_out_unless_they_count():
    seen = [Trace(["a", "", "b"], [0, 0, 1], "success"), Trace(["", "b"], [0, 0])]
    assert fastrm.infer(seen).write() == fastrm.infer([Trace(["a", "b"], [0, 1], "success"), Trace(["b"], [0])]).write()
    late = [Trace(["a", "a"], [0, 0]), Trace(["a", "", "a"], [0, 0, 1], "success")]
    with pytest.raises(MachineError, match="compress=False"):
        fastrm.infer(late)
    found = fastrm.infer(late, compress=False)
    assert "when !a" in found.write()
    assert fastrm.RewardMachine.parse(found.write()) == found


def test_labels_of_several_propositions_have_guards_that_exclude_each_other():
    traces = [Trace(["a b"], [1], "success"), Trace(["a", "b a"], [0, 1], "success"), Trace(["b"], [-2], "failure")]
    found = fastrm.infer(traces)
    assert "u0 -> done    when a & b   reward 1" in found.write()
    assert "u0 -> failed  when b & !a  reward -2" in found.write()


def test_labels_have_the_names_that_worlds_and_machines_give():
    world = fastrm.TableWorld([[1, 0], [1, 1]], {1: {"A", "x1", "a2", "_gold"}})
    found = fastrm.infer([Trace(["A x1 a2 _gold"], [1], "success")])
    assert fastrm.compile(world, fastrm.RewardMachine.parse(found.write())).shortest == (1,)


def test_a_machine_without_a_known_end_is_a_machine_still():
    found = fastrm.infer([Trace(["a", "a"], [0, 1])])
    assert fastrm.RewardMachine.parse(found.write()) == found and found.success == ("done",)
    grid = fastrm.GridMap.generate("1a", size=7, seed=1)
    with pytest.raises(MachineError, match="leads to a success state"):
        fastrm.compile(grid, found)


def test_traces_are_saved_and_read_again(tmp_path):
    path = tmp_path / "traces.jsonl"
    traces = [Trace(["a", "", "b"], [0, 0, 1], "success"), Trace(["b c"], [0.5])]
    save_traces(traces, path)
    assert [json.loads(line)["end"] for line in path.read_text().splitlines()] == ["success", None]
    assert fastrm.infer(load_traces(path)).write() == fastrm.infer(traces).write()


NAN = float("nan")


@pytest.mark.parametrize(
    ("traces", "settings", "message"),
    [
        ([Trace(["a"], [0]), Trace(["a"], [1])], {}, "trace 2, step 1: .* a pays 1, and in trace 1, step 1 pays 0"),
        ([Trace(["", "a"], [0, 0]), Trace(["a"], [0], "success")], {}, "1: .* in success, and in trace 1, step 2 pays"),
        ([Trace(["a"], [1], "success"), Trace(["a", "b"], [1, 0])], {}, "1: goes on where trace 1, step 1 ended"),
        ([Trace(["a", "b"], [0])], {}, "trace 1: 2 labels and 1 rewards"),
        ([Trace(["a"], [0]), Trace(["a", "b"], [0, NAN])], {}, "trace 2, step 2: reward nan: must be a finite number"),
        ([Trace(["a"], ["0"])], {}, "trace 1, step 1: reward '0'"),
        ([Trace(["a"], [10**400])], {}, "trace 1, step 1: reward 10+.*: must be a finite number"),
        ([Trace(["a"], np.array(3))], {}, "trace 1: rewards=.*: must be a list"),
        ([Trace(["a"], [0], np.array([1, 2]))], {}, "trace 1: end=.*: must be 'success', 'failure' or null"),
        ([Trace(["A!"], [0])], {}, "trace 1, step 1: label 'A!': a proposition is a letter or a name"),
        ([Trace(["when"], [0])], {}, "trace 1, step 1: label 'when': .*, and no word of machines such as when"),
        ([Trace([3], [0])], {}, "trace 1, step 1: label 3: must be a text"),
        ([Trace([], [], "success")], {}, "trace 1: ends in success without a move"),
        ([Trace(["a"], [0], "won")], {}, "trace 1: end='won': must be 'success', 'failure' or null"),
        ([{"labels": ["a"], "reward": [0]}], {}, "trace 1: 'reward' is unknown"),
        ([{"labels": ["a"]}], {}, "trace 1: has no rewards"),
        ([Trace("ab", [0, 0])], {}, "trace 1: labels='ab': must be a list"),
        ([7], {}, "trace 1: 7 must be a Trace"),
        ("traces.jsonl", {}, "must be a list of traces; load_traces reads a file"),
        ([], {"engine": "merg"}, r"engine='merg': must be one of merge, smallest \(did you mean merge\?\)"),
        ([], {"max_states": 0}, "max_states=0: must be a whole number"),
        ([Trace(["a", "a", "b"], [0, 1, 0]), Trace(["b"], [1])], {"max_states": 1}, "max_states=1: merging needs more"),
    ],
)  # fmt: skip
def test_traces_that_cannot_be_are_refused_in_one_line(traces, settings, message):
    with pytest.raises((ConfigError, MachineError), match=message) as problem:
        fastrm.infer(traces, **settings)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no traces"),
        ("{", ":1: not JSON"),
        ('{"labels": [], "rewards": []}\n[1]', r":2: \[1\]: must be a table"),
        ('{"labels": ["a"], "rewards": []}', ":1: 1 labels and 0 rewards"),
        ('{"labels": ["a"], "rewards": [NaN]}', ":1, step 1: reward nan"),
        ("[" * 100_000, ":1: not JSON"),
    ],
)
def test_files_that_hold_no_traces_are_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "traces.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_traces(path)
