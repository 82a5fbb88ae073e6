"""A short, deterministic run of ``tests/fuzz.py``, and that it notices what goes wrong."""

from random import Random

import fuzz


def test_a_short_run_of_all_parts_finds_nothing():
    counts, failures = fuzz.fuzz(fuzz.numbered(fuzz.PARTS, seed=3, most=25), report=lambda text: None)
    assert not failures
    assert counts == dict.fromkeys(fuzz.PARTS, 25)


def test_tracebacks_and_hangs_are_noticed(monkeypatch):
    def first(change):
        return next(k for k in range(99) if Random(f"broken {k}").choice(range(4)) == change)

    monkeypatch.setattr(fuzz, "MOST_SECONDS", 1.0)
    _, failures = fuzz.fuzz(iter([("broken", first(0)), ("broken", first(1))]), report=lambda text: None)
    assert "TypeError: noticed" in failures[0][2] and failures[1][2] == "longer than 1 s"
