"""The page of a result file, looked at in a real browser: it says what Python says, and nothing in it acts."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, experiments, load
from fastrm.bench.__main__ import main
from fastrm.bench.studies import judge
from fastrm.bench.studies.findings import findings_tables
from fastrm.pages import report_page
from fastrm.pages.report import comparisons, methods_data
from fastrm.plots import groups_of
from fastrm.results import band, holm

from made_results import make_file, make_plan
from tiny_experiment import experiment

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\"'"


def replay(results, row):
    """Learn a run again, as the file's plan says."""
    plan = results.plan
    place = plan.coordinates(int(results["run"][row]))
    grid, task, method, _, seed = place
    how = plan.methods[method]
    return fastrm.train(
        plan.problem(grid, task, method), how.algo, steps=plan.steps, seed=plan.stream(grid, seed),
        shaping=how.shaping, config=plan.config(place),
    )  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A file of real runs."""
    return fastrm.run(experiment(), out=tmp_path_factory.mktemp("tiny") / "tiny.h5")


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """A file in which the claims of the paper hold."""
    return load(make_file(tmp_path_factory.mktemp("paper") / "made.h5"))


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page; it must be silent and ask the network for nothing."""

    def open_page(page, **how):
        (tmp_path / "r.html").write_text(page)
        browser.open(tmp_path / "r.html", **how)
        assert browser.console == []
        assert [url for url in browser.requests if not url.startswith("data:")] == [(tmp_path / "r.html").as_uri()]

    return open_page


def words(browser, where):
    return browser.ask(f"document.querySelector({where!r}).textContent")


def click(browser, where, text):
    """Click the first element that has a text."""
    browser.ask(f"[...document.querySelectorAll({where!r})].find((one) => one.textContent.includes({text!r})).click()")


def test_curves_are_those_of_the_file(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    groups = [(key, rows) for key, rows in tiny.groups("setup", "task", "label") if len(rows)]
    assert browser.ask("fastrm.data.groups") == [list(key) for key, _ in groups]
    drawn = np.array(browser.ask("fastrm.bands"))
    wanted = np.array([band(tiny["score"][rows]) for _, rows in groups])
    assert np.abs(drawn - wanted).max() <= 0.51 * wanted.max() / 2000
    assert browser.ask("document.querySelectorAll('.chart').length") == len({key[:2] for key, _ in groups}) + 2


def test_statistics_over_all_tasks_are_those_of_python(paper, browser, opened):
    opened(report_page(paper, replays=0))
    rows = list(csv.DictReader(io.StringIO(browser.ask("fastrm.overall.csv()"))))
    wanted = paper.overall()
    for name, key in (("inter-quartile mean", "iqm"), ("optimality gap low", "gap_low")):
        assert [float(row[name]) for row in rows] == pytest.approx([row[key] for row in wanted])
    test = paper.log_rank(rows[3]["method"], first_label(paper))
    assert float(rows[3][f"rate ratio to {first_label(paper)}"]) == pytest.approx(test.ratio)
    shares = np.array(browser.ask("fastrm.overall.curves.survival"))[:, 1]
    for share, curve in zip(shares, paper.survival().values(), strict=True):
        ticks = np.searchsorted(curve.steps, paper["step"], side="right") - 1
        assert share == pytest.approx(curve.share[ticks], abs=0.001)
    shares = np.array(browser.ask("fastrm.overall.curves.profiles"))
    for ends, profile in zip(shares, paper.profiles().values(), strict=True):
        assert ends == pytest.approx(np.array([profile.low, profile.share, profile.high]), abs=0.001)


def test_the_table_is_sorted_and_copied_as_csv(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    click(browser, ".sortable th button", "settled score")
    rows = list(csv.DictReader(io.StringIO(browser.ask("fastrm.csv()"))))
    wanted = sorted(tiny.summary(), key=lambda row: -row["settled_50"])
    assert [float(row["settled_50"]) for row in rows] == pytest.approx([row["settled_50"] for row in wanted])
    assert float(rows[0]["iqm_low"]) == pytest.approx(wanted[0]["iqm_low"])
    assert words(browser, "[aria-label='summary of all methods'] tbody button") == wanted[0]["method"]


def test_claims_have_chips_and_comparisons_are_those_of_python(paper, browser, opened):
    opened(report_page(paper, claims=[claim.to_dict() for claim in judge(paper)], replays=0))
    chips = browser.ask("[...document.querySelectorAll('.claims .chip')].map((chip) => chip.textContent)")
    assert chips == [claim.verdict for claim in judge(paper)]
    first = browser.ask("fastrm.data.comparisons[0]")
    pair = paper.compare(first["method"], first_label(paper), setup=first["setup"], task=first["task"])
    assert first["probability"] == pytest.approx(pair.probability) and first["low"] == pytest.approx(pair.low)
    assert first["probabilityEnds"] == pytest.approx([pair.probability_low, pair.probability_high])
    rows = browser.ask("fastrm.data.comparisons")
    assert [row["holm"] for row in rows] == pytest.approx(holm([row["p"] for row in rows]).tolist())


def first_label(results):
    return results.plan.methods[0].label


def test_methods_and_axes_can_be_switched(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    lines = "document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length"
    before, points = browser.ask(lines), browser.ask("document.querySelector('.chart .curve').getAttribute('points')")
    browser.ask("document.querySelector('.methods input').click()")
    assert browser.ask(lines) == before - 1
    browser.ask("document.querySelector('.methods input').click()")
    for name in ("steps", "score"):
        browser.ask(f"document.querySelectorAll('[name={name}]')[1].click()")
        changed = browser.ask("document.querySelector('.chart .curve').getAttribute('points')")
        assert changed != points
        points = changed
    browser.ask("document.querySelectorAll('[name=band]')[1].click()")
    browser.ask("document.querySelector('.chart').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert re.match(r"1\s?000 steps", words(browser, ".tip"))


def test_up_to_eight_methods_have_a_colour_each_and_kinds_are_dashes(paper):
    found = methods_data(groups_of(paper))
    assert len({method["colour"] for method in found}) == len(found) == 8
    dashes = {(method["label"].rpartition("-")[2], method["dashes"]) for method in found}
    assert len(dashes) <= 3 and len({dash for _, dash in dashes}) == 3


def test_a_click_on_a_curve_shows_it_alone_and_another_shows_all(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    lines = "document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length"
    before, grip = browser.ask(lines), "document.querySelector('.chart .grip').dispatchEvent(new MouseEvent('click'))"
    browser.ask(grip)
    assert browser.ask(lines) == 1 < before
    browser.ask(grip)
    assert browser.ask(lines) == before


def test_all_panels_show_the_tick_that_is_read_in_one(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    browser.ask("document.querySelector('.chart').focus()")
    browser.press("ArrowRight")
    shown = "[...document.querySelectorAll('.chart .hair')].map((hair) => hair.getAttribute('visibility'))"
    panels = len({key[:2] for key, _ in tiny.groups("setup", "task", "label")})
    assert browser.ask(shown)[:panels] == ["visible"] * panels


def test_names_at_the_ends_of_curves_do_not_overlap(tiny, browser, opened):
    opened(report_page(tiny, replays=0))
    texts = "[...document.querySelector('.chart').querySelectorAll('text')]"
    names = f"{texts}.filter((one) => one.textContent.includes('-bool'))"
    heights = browser.ask(f"{names}.map((one) => Number(one.getAttribute('y')))")
    assert len(heights) > 1 and min(np.diff(sorted(heights))) > 10.9


def test_scores_below_a_logarithmic_axis_are_left_out(paper, browser, opened):
    column = np.where(np.arange(len(paper["step"])) < 3, 0.001, paper["score"])
    opened(report_page(replace(paper, loaded={**paper.columns, "score": column}), replays=0))
    browser.ask("document.querySelectorAll('[name=score]')[1].click()")
    points = (
        "[...document.querySelectorAll('.chart .curve')].map((one) => one.getAttribute('points').split(' ').length)"
    )
    groups = len(browser.ask("fastrm.data.groups"))
    assert browser.ask(points)[:groups] == [len(paper["step"]) - 3] * groups


def test_bars_of_comparisons_have_colours_where_the_interval_excludes_0(paper, browser, opened):
    opened(report_page(paper, replays=0))
    rows = browser.ask("fastrm.data.comparisons")
    sure = [row["low"] > 0 or row["high"] < 0 for row in rows]
    bars = browser.ask(
        "[...document.querySelectorAll('.bar rect:nth-child(2)')].map((bar) => bar.getAttribute('class'))"
    )
    assert [name != "bar-unsure" for name in bars] == sure and True in sure and False in sure


def test_claims_of_the_paper_are_folded_below_other_studies(paper, browser, opened):
    judged = [claim.to_dict() for claim in judge(paper)]
    opened(report_page(paper, claims=judged, replays=0))
    assert browser.ask("document.querySelector('.claims').closest('details').open") == browser.ask(
        "fastrm.data.isPaper"
    )


@pytest.mark.parametrize("everything", [False, True])
def test_a_click_on_a_method_opens_its_runs_best_first(everything, tiny, browser, opened):
    opened(report_page(tiny, replays=0, all_runs=everything))
    browser.ask("document.querySelector('.methods button').click()")
    test = "run.group[1] === 'a-b' && run.group[2] === 'qrm-bool'"
    scores = browser.ask(f"fastrm.data.runs.filter((run) => {test}).map((run) => run.settled)")
    assert scores == sorted(scores, reverse=True) and len(scores) == (6 if everything else 3)
    browser.ask("document.querySelector('dialog tbody tr').click()")
    row = browser.ask("fastrm.data.runs.find((run) => run.group[2] === 'qrm-bool').row")
    assert words(browser, "dialog .command") == f"fastrm replay tiny.h5 --run {row} --out run-{row}.html"


def test_a_run_is_walked_on_the_page(tiny, browser, opened, monkeypatch):
    monkeypatch.setattr(experiments, "replay", replay, raising=False)
    opened(report_page(tiny, replays=4))
    assert browser.ask("Object.keys(fastrm.data.replays).length") == 4
    row = int(browser.ask("Object.keys(fastrm.data.replays)[0]"))
    setup, task, label = (str(tiny[name][row]) for name in ("setup", "task", "label"))
    browser.ask(f"fastrm.openRuns({setup!r}, {task!r}, {label!r})")
    click(browser, "dialog tbody tr", "on this page")
    browser.ask("new Promise((done) => setTimeout(done, 300))")
    run = replay(tiny, row)
    said = words(browser, "dialog .tracks tbody tr td:nth-child(4)")
    assert said == (f"{run.greedy_length}\u00a0steps" if run.greedy_length else "never finishes")
    assert browser.console == []


def test_findings_are_shown_where_initial_values_are_swept(tmp_path, browser, opened):
    swept = experiment(methods=("crm-bool@0", "crm-bool@1"), seeds=2)
    results = fastrm.run(swept, out=tmp_path / "s.h5")
    opened(report_page(results, findings=list(findings_tables(results)), replays=0))
    heads = browser.ask("[...document.querySelectorAll('h2')].map((head) => head.textContent)")
    assert "Findings" in heads and "Claims of the paper" not in heads
    assert browser.ask("document.querySelectorAll('[name=\"initial values\"]').length") == 2


def test_failed_runs_are_told(tmp_path, browser, opened):
    path = make_file(tmp_path / "f.h5", turn=lambda run: run.update(failed=run["seed"] == 0 and run["grid"] == 0))
    opened(report_page(load(path), replays=0))
    assert "24 runs failed and are left out; the first: broke" in words(browser, ".note")


@pytest.mark.parametrize("width", [1400, 800, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_window(width, dark, tiny, browser, opened):
    opened(report_page(tiny, replays=0), width=width, dark=dark, phone=width == 400)
    assert browser.ask("document.documentElement.scrollWidth") <= width


def test_nothing_in_a_page_acts(tmp_path, browser, opened):
    name = "<img src=x onerror=alert(3)>"
    (tmp_path / f"{name}.map").write_text("XXXXX\nXA aX\nX  bX\nXXXXX\n")
    plan = make_plan(name=name, map_files=(str(tmp_path / f"{name}.map"),), tasks=("a", "a-b"), maps=1)
    path = tmp_path / f"{name}&'.h5"

    def turn(run):
        run["length"] = 3
        run["failed"] = run["seed"] == 2

    make_file(path, turn, plan, command=NASTY, git_commit=NASTY, machine=json.dumps({NASTY: NASTY}))
    page = report_page(load(path), replays=0)
    assert "<script>alert" not in page and "<img" not in page
    opened(page)
    assert name in words(browser, "h1") and "<script>alert(1)</script>" in words(browser, "code")
    assert name in browser.ask("document.querySelector('.plots').textContent")
    browser.ask("document.querySelector('.methods button').click()")
    browser.ask("document.querySelector('dialog tbody tr').click()")
    assert words(browser, "dialog .command").startswith("fastrm replay '<img src=x onerror=alert(3)>&'\"'\"'.h5' --run")
    assert browser.ask("document.querySelectorAll('img, iframe, object, embed').length") == 0 and browser.console == []


def test_without_scripts_the_curves_are_there(tiny):
    page = report_page(tiny, replays=0)
    still = page[page.index("<noscript>") : page.index("</noscript>")]
    assert still.count("<polyline") == 3 + 6 and "style=" not in page.replace("style-src", "")


def test_the_same_file_gives_the_same_bytes(tiny):
    assert report_page(tiny, replays=0) == report_page(load(tiny.path), replays=0)


def test_bad_requests_are_one_line(tiny, tmp_path, capsys):
    file, out = str(tiny.path), str(tmp_path / "r.html")
    for arguments, cure in (
        (["report", str(tmp_path / "none.h5"), "--out", out], "none.h5"),
        (["report", file, "--out", str(tmp_path / "no" / "r.html")], "choose another --out"),
        (["report", file, "--out", str(tmp_path / "r.pdf")], "ends in .html"),
        (["report", file, "--out", out, "--against", "qrm-bol"], "did you mean qrm-bool?"),
        (["report", file, "--out", out, "--replays", "-1"], "from 0 to 100"),
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and cure in said
    with pytest.raises(ConfigError, match="no curves"):
        report_page(replace(tiny, loaded={name: column[:0] for name, column in tiny.columns.items()}))


def test_the_command_writes_the_page(tiny, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert main(["report", str(tiny.path), "-o", str(out), "--replays", "0", "--all-runs"]) == 0
    assert str(out) in capsys.readouterr().out and out.read_text().startswith("<!DOCTYPE html>")


def test_comparisons_may_be_by_another_coordinate(tiny):
    groups = groups_of(tiny)
    rows = comparisons(tiny, groups, "a", "task")
    assert {(row["setup"], row["task"], row["method"]) for row in rows} == {key for key in groups if key[1] == "a-b"}
    for row in rows:
        pair = tiny.compare("a-b", "a", by="task", setup=row["setup"], method=row["method"])
        assert (row["difference"], row["probability"]) == (pair.difference, pair.probability)
    assert '"against":"task a-b"' in report_page(tiny, against="a-b", by="task", replays=0).replace('": ', '":')
    with pytest.raises(ConfigError, match=r"by='taks': must be one of .* \(did you mean task\?\)"):
        report_page(tiny, by="taks")
    with pytest.raises(ConfigError, match="task='b' selects nothing"):
        report_page(tiny, against="b", by="task")
