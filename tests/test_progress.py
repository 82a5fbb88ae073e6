"""The bar: what it says, that its time counts down, and that nobody sees it where nobody looks."""

import io
import os
import signal
import sys
from concurrent.futures import wait

import pytest
from rich.console import Console

import fastrm
from fastrm import progress
from fastrm.experiments import Progress, execution
from fastrm.progress import Bar, is_watched, watching

from small_problems import of_each_kind
from tiny_experiment import contents, experiment

M = 1_000_000


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_the_time_counts_down_between_updates(clock):
    bar = Bar(clock=clock)
    assert bar.line == "loading kernels"
    bar.update(0, 100 * M, "0 of 10 runs")
    assert bar.line == "  0%, 0 of 10 runs, loading kernels"
    clock.now = 5.0
    bar.update(20 * M, 100 * M, "2 of 10 runs")
    said = []
    for clock.now in (5.0, 6.0, 15.0, 24.0, 30.0):
        said.append(bar.line.rpartition(", ")[2])
    assert said == [f"about {left} s left" for left in (20, 19, 10, 1, 1)]
    bar.update(20 * M, 100 * M, "2 of 10 runs, 1 failed")  # nothing new: the time does not jump back
    assert bar.line == " 20%, 2 of 10 runs, 1 failed, 4.0 M steps/s, about 1 s left"
    bar.update(100 * M, 100 * M, "10 of 10 runs")
    assert bar.line == "100%, 10 of 10 runs, 3.2 M steps/s, finishing"


def test_loading_kernels_does_not_count_once_there_is_something_to_measure(clock):
    bar = Bar(clock=clock)
    for clock.now, done in ((60.0, 10 * M), (60.5, 20 * M), (62.0, 30 * M)):
        bar.update(done, 100 * M, "x")
    assert bar.line == " 30%, x, 10 M steps/s, about 7 s left"


def test_what_an_earlier_start_did_is_no_speed(clock):
    bar = Bar(clock=clock)
    bar.update(50 * M, 100 * M, "5 of 10 runs", before=50 * M)
    assert bar.line == " 50%, 5 of 10 runs, loading kernels"
    clock.now = 10.0
    bar.update(60 * M, 100 * M, "6 of 10 runs", before=50 * M)
    assert bar.line == " 60%, 6 of 10 runs, 1.0 M steps/s, about 40 s left"


def test_workers_that_are_lost_take_the_bar_back(clock):
    bar = Bar(clock=clock)
    clock.now = 10.0
    bar.update(60 * M, 100 * M, "6 of 10 runs")
    bar.update(50 * M, 100 * M, "5 of 10 runs")
    assert bar.line == " 50%, 5 of 10 runs, 6.0 M steps/s, about 8 s left"


def shown(bar, out):
    """Show a bar now, and return what it has written when it is over."""
    with bar:
        bar._timer.join()
        bar.update(20 * M, 100 * M, "2 of [red]10 runs")
    return out.getvalue()


def test_the_bar_is_drawn_and_taken_away(clock):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=90, color_system=None)
    clock.now = 0.0
    bar = Bar(console=console, clock=clock)
    clock.now = 2.0
    text = shown(bar, out)
    assert " 20%, 2 of [red]10 runs, 10 M steps/s, about 8 s left" in text
    assert text.endswith("\x1b[1A\x1b[2K")  # one line up, and erased


def test_a_second_bar_is_not_drawn_over_the_first(clock):
    first, second = io.StringIO(), io.StringIO()
    consoles = [Console(file=out, force_terminal=True, width=90) for out in (first, second)]
    with Bar(console=consoles[0], clock=clock) as bar:
        bar._timer.join()
        assert shown(Bar(console=consoles[1], clock=clock), second) == ""
    assert first.getvalue() and shown(Bar(console=consoles[1], clock=clock), second)


def test_a_bar_whose_time_has_not_come_writes_nothing_and_leaves_no_thread(clock):
    out = io.StringIO()
    with Bar(1000.0, console=Console(file=out, force_terminal=True), clock=clock) as bar:
        bar.update(20 * M, 100 * M, "x")
    bar._timer.join()
    assert out.getvalue() == "" and not bar._timer.is_alive()


def test_nothing_is_watched_but_terminals_and_notebooks_with_widgets(monkeypatch):
    for stream in (None, io.StringIO(), closed := io.StringIO()):
        closed.close()
        monkeypatch.setattr(sys, "stderr", stream)
        assert not is_watched()
        with watching(True, 0.0) as bar:
            assert bar is None
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    for there in (None, object()):
        monkeypatch.setattr(progress, "find_spec", lambda _, found=there: found)
        assert is_watched() == (there is not None)
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert is_watched()
    with watching(False, 0.0) as bar:
        assert bar is None


@pytest.fixture
def bars(monkeypatch):
    """Return the bars that are opened in what looks like a terminal, and never shown."""
    opened = []

    class Noted(Bar):
        def __init__(self, delay):
            super().__init__(10_000.0)
            self.delay, self.updates = delay, []
            opened.append(self)

        def update(self, *given):
            super().update(*given)
            self.updates.append(given)

    monkeypatch.setattr(progress, "Bar", Noted)
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    return opened


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_the_bar_of_an_experiment_moves_before_a_batch_is_saved(bars, isolation, tmp_path, monkeypatch):
    seen = []
    results = fastrm.run(experiment(), tmp_path / "x.h5", workers=1, isolation=isolation, report=seen.append)
    (bar,) = bars
    count, steps = results.runs, results.plan.steps
    assert bar.delay == 0.5 and {update[1] for update in bar.updates} == {count * steps}
    assert [update[0] for update in bar.updates] == [one.made for one in seen]
    assert bar.updates[0][0] == 0 and bar.updates[-1][:3] == (count * steps, count * steps, f"{count} of {count} runs")
    assert all(one.runs_done <= one.computed <= count for one in seen) and seen[-1].runs_done == count


def test_a_resumed_experiment_begins_where_it_was(bars, tmp_path):
    fastrm.run(experiment(), tmp_path / "x.h5", shard=(1, 3), progress=False)
    assert not bars
    results = fastrm.run(experiment(), tmp_path / "x.h5")
    before, steps = bars[0].updates[0][3], results.plan.steps
    assert before == bars[0].updates[0][0] == results.runs // 3 * steps and bars[0].updates[-1][0] == 3 * before


def test_reports_are_told_of_runs_before_they_are_saved(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("fastrm.experiments.execution.await_any", late_by_one())
    fastrm.run(experiment(), tmp_path / "x.h5", workers=1, report=seen.append)
    assert [one.runs_done for one in seen[:2]] == [0, 0] and seen[1].computed > 0
    assert seen == sorted(seen, key=lambda one: one.computed) and not any(one.failed for one in seen)


def late_by_one():
    """Return a wait that hands over batches only when it is asked a second time after they are computed."""
    asked = []

    def await_any(futures):
        asked.append(wait(futures))
        return set() if len(asked) == 1 else set(futures)

    return await_any


def test_what_a_report_raises_ends_the_experiment_and_keeps_what_is_saved(tmp_path):
    def report(now):
        if now.runs_done:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        fastrm.run(experiment(), tmp_path / "x.h5", workers=1, report=report)
    seen = []
    fastrm.run(experiment(), tmp_path / "x.h5", report=seen.append)
    fastrm.run(experiment(), tmp_path / "y.h5")
    assert not seen or seen[0].before
    assert contents(tmp_path / "x.h5") == contents(tmp_path / "y.h5")


def test_a_second_signal_gives_a_terminal_its_cursor_back(monkeypatch):
    done = []
    monkeypatch.setattr(os, "isatty", lambda number: number == 2)
    monkeypatch.setattr(os, "write", lambda *given: done.append(given))
    monkeypatch.setattr(os, "_exit", lambda code: done.append(code))
    with execution._signals() as signalled:
        signal.raise_signal(signal.SIGINT)
        assert signalled() and not done
        signal.raise_signal(signal.SIGINT)
    assert done == [(2, b"\x1b[?25h"), 130]


def test_the_bar_of_training_counts_steps_of_all_seeds(bars, monkeypatch):
    monkeypatch.setattr("fastrm.learners.training.PIECE_STEPS", 1000)
    problem, algo = of_each_kind()["grid"]
    fastrm.train_many(problem, algo, steps=2000, seeds=[0, 1])
    assert bars[0].delay == 2.0
    assert [update[:2] for update in bars[0].updates] == [(done, 4000) for done in (1000, 2000, 3000, 4000)]
    assert bars[0].updates[0][2] == "0.0 of 0.0 M steps"
    fastrm.train(problem, algo, steps=100, progress=False)
    assert len(bars) == 1


def test_progress_is_a_truth_value(tmp_path):
    problem, algo = of_each_kind()["table"]
    with pytest.raises(fastrm.ConfigError, match=r"^progress='no': must be True or False$"):
        fastrm.train(problem, algo, progress="no")
    with pytest.raises(fastrm.ConfigError, match=r"^progress=1: must be True or False$"):
        fastrm.run(experiment(), tmp_path / "x.h5", progress=1)


def test_progress_can_be_kept():
    with pytest.raises(AttributeError):
        Progress(runs=1, before=0, steps=1).runs = 2


def test_progress_moves_within_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr("fastrm.learners.training.PIECE_STEPS", 5000)
    monkeypatch.setattr("fastrm.experiments.execution.await_any", lambda futures: set(wait(futures, 0.001).done))
    seen = []
    one = experiment(maps=1, tasks=("a",), methods=("crm-rs-bool",), seeds=1, steps=3_000_000)
    fastrm.run(one, tmp_path / "x.h5", workers=1, report=seen.append)
    assert any(0 < now.made < now.steps and now.computed == 0 and now.seconds_left > 0 for now in seen)
    assert seen[-1].made == seen[-1].steps and seen == sorted(seen, key=lambda now: now.made)
