"""The four words of a verdict: each judgement on made-up results in which it holds, and with more and more maps turned.

Of twenty maps a setup, or pairs of them, none, five, ten or all are turned round.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from fastrm import load
from fastrm.bench.studies import Case, Claim, Share, agenda, format_p, worst
from fastrm.bench.studies.claim import ABOVE, HALF, NEARLY_ALL, VERDICTS
from fastrm.bench.studies.claims import CLAIMS, Evidence, kendall_w
from fastrm.bench.studies.findings import share_above
from fastrm.results import holm

import made_results

MAPS = 20
PLAN = made_results.make_plan(setups=("1a1b1c", "2a2b2c"), maps=MAPS, size=9, map_files=(), seeds=4)
FACTS = {}
TURNED = {"holds": 0, "holds on most maps": 5, "undecided": 10, "does not hold": MAPS}


def shuffle(run):
    """Give a method a place in an order of methods that no other map has."""
    order = np.random.default_rng(run["grid"]).permutation(len(made_results.METHODS))
    run["steps"] = 1000 + int(order[made_results.METHODS.index(run["label"])])


TURNS = {
    "6 slower with two objects": (6, {"setup": "1a1b1c"}, {"steps": 10}),
    "6 slower in one kind": (6, {"setup": "1a1b1c", "label": ("qrm-num", "crm-num")}, {"steps": 10}),
    "7 numeric slower on 2a2b2c": (
        7, {"setup": "2a2b2c", "label": ("qrm-num", "crm-num", "hrm-num")}, {"steps": 9e5}),
    "7 numeric-Boolean slower on 1a1b1c": (
        7, {"setup": "1a1b1c", "label": ("qrm-num-bool", "crm-num-bool")}, {"steps": 9e5}),
    "10 one new method slow in one task": (10, {"label": "hrm-num", "task": "a-b"}, {"steps": 9e5}),
    "10 hrm-bool fast": (10, {"label": "hrm-bool"}, {"steps": 10}),
    "11 HRM slower than QRM": (11, {"label": "hrm-num-bool", "task": "a-b-c"}, {"steps": 9e5}),
    "11 CRM never gets there": (11, {"label": "crm-num", "task": "a-b"}, {"steps": math.nan}),
    "12 one run apart": (12, {"seed": 0, "label": "qrm-num", "task": "a"}, {"score": 0.5}),
    "13 methods in an order of its own": (13, {}, shuffle),
    "14 one method settles lower": (14, {"label": "hrm-num", "task": "a"}, {"score": 0.8}),
    "15 HRM-Boolean slower": (15, {"label": "hrm-bool", "task": "a-b"}, {"full_from": 9}),
    "15 HRM-Boolean optimal": (15, {"label": "hrm-bool", "setup": "2a2b2c"}, {"found": True}),
}  # fmt: skip


def make_evidence(path, turn=lambda run: None):
    return Evidence(load(made_results.make_file(path, turn, PLAN)), FACTS)


@pytest.fixture(scope="module")
def as_claimed(tmp_path_factory):
    return make_evidence(tmp_path_factory.mktemp("words") / "x.h5")


@pytest.mark.parametrize("name", TURNS)
def test_a_claim_goes_through_all_four_words_as_maps_are_turned(name, as_claimed, tmp_path):
    number, wanted, change = TURNS[name]
    wanted = {key: value if isinstance(value, tuple) else (value,) for key, value in wanted.items()}

    def verdict(maps):
        def turn(run):
            if run["grid"] % MAPS < maps and all(run[key] in value for key, value in wanted.items()):
                change(run) if callable(change) else run.update(change)

        return CLAIMS[number](make_evidence(tmp_path / "x.h5", turn) if maps else as_claimed).verdict

    assert {word: verdict(maps) for word, maps in TURNED.items()} == {word: word for word in TURNED}


@pytest.mark.parametrize(
    ("held", "of", "word"),
    [
        (16, 16, "holds"), (15, 15, "holds on most maps"), (57, 60, "holds"), (56, 60, "holds on most maps"),
        (29, 30, "holds"), (28, 30, "holds on most maps"), (40, 60, "holds on most maps"), (37, 60, "undecided"),
        (23, 60, "undecided"), (22, 60, "does not hold"), (1, 1, "undecided"), (0, 4, "does not hold"),
    ],
)  # fmt: skip
def test_the_word_for_a_share_of_maps(held, of, word):
    assert Share(held, of).verdict == word


def test_a_sentence_of_several_parts_is_as_good_as_the_worst():
    assert [worst(VERDICTS[k:]) for k in range(4)] == list(VERDICTS)
    cases = tuple(Case(str(k), "", k < 15 or part == "sure", part) for k in range(20) for part in ("sure", "unsure"))
    claim = Claim(number=1, text="", parts=("sure", "unsure"), cases=cases)
    assert claim.verdict == "holds on most maps" and claim.p == Share(15, 20).p == pytest.approx(0.0207, abs=1e-4)


def test_p_values_are_exact_and_corrected_for_their_number():
    assert Share(0, 5).p == 1.0 and Share(5, 5).p == 1 / 32 and Share(3, 5).p == 0.5
    assert Share(2000, 2000).p == 2.0**-2000 == 0.0 or Share(2000, 2000).p < 1e-300
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == [0.03, 0.06, 0.06, 0.02]
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0] and holm([]).tolist() == []
    assert [format_p(p) for p in (None, 0.0002, 0.0521)] == ["-", "< 0.001", "0.052"]


def test_ranks_that_agree_by_chance_have_no_concordance_and_ties_are_corrected_for():
    random = np.random.default_rng(0)
    assert kendall_w(random.random((400, 8))) < 0.02
    assert kendall_w(np.array([[1, 1, 2, 3]] * 5)) == pytest.approx(1.0)
    assert math.isnan(kendall_w(np.full((3, 4), math.inf)))


def test_the_glossary_has_the_thresholds_of_the_code():
    glossary = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
    entry = re.search(r"## Verdict on a claim\n(.*?)\n## ", glossary, re.DOTALL)[1]
    assert all(f"*{word}*" in entry for word in VERDICTS)
    assert re.findall(r"(?<!a )\b(\d+) %", entry) == [f"{100 * x:.0f}" for x in (NEARLY_ALL, ABOVE, HALF, HALF)]


@pytest.mark.parametrize("word", TURNED)
def test_findings_and_the_study_of_agendas_use_the_same_words(word):
    turned, maps = TURNED[word], np.arange(MAPS).repeat(2)
    assert share_above(np.where(maps < turned, -1.0, 1.0), maps).verdict == word
    tours = [{"setup": "x", "grid": g, "solved": g >= turned} for g in range(MAPS)]
    assert agenda._share(tours, True)[0] == agenda._share([{**t, "solved": not t["solved"]} for t in tours], False)[0]
    assert agenda._share(tours, True)[0] == word
    slow = {4: lambda m: 200, 8: lambda m: 400 if m >= turned else 150}
    rows = [{"targets": n, "map": m, "algo": algo, "steps": 100 if algo == "coupled" else slow[n](m)}
            for n in slow for m in range(MAPS) for algo in ("crm", "coupled")]  # fmt: skip
    verdict, told = agenda._ratios(rows)
    assert verdict == word and f"fewer with 8: {MAPS} of {MAPS} maps" in told
