"""What a message asks with "did you mean" is right: whoever follows it is not refused at the same place again."""

import re

import pytest

import fastrm
from fastrm import Experiment, FastrmError, GridMap, RewardMachine, TableWorld, WaterWorld, compile, task
from fastrm.bench.__main__ import main
from fastrm.experiments import Method
from fastrm.machines import find_kind
from fastrm.plots import sweep_points

from small_problems import of_each_kind
from tiny_experiment import experiment

PROBLEMS = of_each_kind()
GRID = GridMap.parse("XXXXXXX\nXA aXbX\nX  c XX\nXXXXXXX")
MACHINE = "start u0\nstates u0 u1\nsuccess done\n"
U0 = "u0 -> u1 when a\nu0 -> u0 otherwise\n"
EDGES = f"{U0}u1 -> done when c\nu1 -> u1 otherwise\n"
TOML = 'setups = ["1a1b"]\nsize = 7\ntasks = ["a"]\nmethods = ["crm-bool"]\nsteps = 500\n'
HOME = TableWorld([[1, 0], [0, 1]], {1: "home"})
WATER = '{"M0": {"agent": [20, 20], "balls": [], "%s": 3}}'
SIZES = {"name": "x", "setups": ("1a1b",), "size": 7, "steps": 500}
RESULTS = {}


def to_reach(guard):
    return RewardMachine.parse(f"start u\nsuccess v\nu -> v when {guard}\nu -> u otherwise")


def train(kind, algo="", **settings):
    problem, usual = PROBLEMS[kind]
    return fastrm.train(problem, algo or usual, steps=10, **settings)


def made(**settings):
    usual = {"tasks": ("a",)} | ({} if "learners" in settings else {"methods": ("crm-bool",)})
    return Experiment(**SIZES | usual | settings)


def warm(pairs, methods=("crm-bool", "crm-num", "hrm-num")):
    return made(methods=methods, warm_start=pairs)


def load(tmp_path, text, name="x.toml"):
    (tmp_path / name).write_text(text)
    return Experiment.load(tmp_path / name)


def over(tmp_path, base, text=""):
    (tmp_path / "over.toml").write_text(f'base = "{base}"\n{text}')
    return Experiment.load(tmp_path / "over.toml")


def results(tmp_path):
    if not RESULTS:
        RESULTS["all"] = fastrm.run(experiment(), tmp_path / "x.h5")
    return RESULTS["all"]


RIGHT = {
    "kind": ("numerc", lambda word, _: find_kind(word)),
    "learner": ("crn", lambda word, _: train("grid", word)),
    "learner of Water world": ("qrn", lambda word, _: train("water", word)),
    "learner of an agenda": ("couple", lambda word, _: train("agenda", word)),
    "setting": ("gama", lambda word, _: train("grid", **{word: 0.5})),
    "argument of train": ("episode", lambda word, _: train("grid", **{word: True})),
    "method": ("crm-bol", lambda word, _: made(methods=(word,))),
    "method, long": ("crm-numeic", lambda word, _: made(methods=(word,))),
    "method with a start": ("cmr-bool@0.5", lambda word, _: made(methods=(word,))),
    "method of files": ("crn", lambda word, _: made(methods=(word,), tasks=(), machine_files=("x.rm",))),
    "learner of a product": ("crn", lambda word, _: made(learners=(word,), kinds=("bool",))),
    "kind of a product": ("bolean", lambda word, _: made(learners=("crm",), kinds=(word,))),
    "source of a warm start": ("crm-boo", lambda word, _: warm({"crm-num": word})),
    "method that starts warm": ("crm-nu", lambda word, _: warm({word: "crm-bool"})),
    "setting of a file": ("alpa", lambda word, _: made(learner={word: 0.5})),
    "key of a file": ("seed", lambda word, tmp: load(tmp, f"{TOML}{word} = 2\n")),
    "key that is a list": ("learner_", lambda word, tmp: load(tmp, f'{TOML}kinds = ["num"]\n{word} = ["crm"]\n')),
    "key that is a table": ("lerners", lambda word, tmp: load(tmp, f"{TOML}[{word}]\ntick = 100\n")),
    "setting of figures": ("xscal", lambda word, _: made(figure={word: "linear"})),
    "suite": ("qiuck", lambda word, _: Experiment.named(word)),
    "suite as a base": ("qiuck", lambda word, tmp: over(tmp, word)),
    "profile": ("claen", lambda word, _: compile(GRID, task("a"), profile=word)),
    "switch": ("prun", lambda word, _: compile(GRID, task("a"), profile=f"clean + {word}")),
    "layout": ("roms", lambda word, _: GridMap.generate("1a", size=15, layout=word)),
    "layout beside walls": ("oepn", lambda word, _: GridMap.generate("1a", size=15, walls=0.1, layout=word)),
    "obstacles": ("maz", lambda word, _: made(setups=(f"1a {word}",))),
    "walls": ("wals", lambda word, _: made(setups=(f"1a {word} 0.2",))),
    "object": ("aa", lambda word, _: compile(GRID, to_reach(word))),
    "label": ("hom", lambda word, _: compile(HOME, to_reach(word))),
    "colour": ("aa", lambda word, _: compile(WaterWorld.generate(3), to_reach(word))),
    "statement": ("potental", lambda word, _: RewardMachine.parse(f"{MACHINE}{word} 1\n{EDGES}")),
    "function": ("closr", lambda word, _: to_reach(f"a & {word}(a)")),
    "source of an edge": ("u11", lambda word, _: RewardMachine.parse(f"{MACHINE}{EDGES}{word} -> u0 when b\n")),
    "target of an edge": ("don", lambda word, _: RewardMachine.parse(f"{MACHINE}{EDGES}u1 -> {word} when b\n")),
    "value of a coordinate": ("crm-rs-bol", lambda word, tmp: results(tmp).select(method=word)),
    "coordinate": ("tas", lambda word, tmp: results(tmp).select(**{word: "a"})),
    "column": ("scor", lambda word, tmp: results(tmp)[word]),
    "curve": ("rewrd", lambda word, tmp: results(tmp).curves(word)),
    "number": ("setled", lambda word, tmp: results(tmp).compare("crm-rs-bool", "qrm-bool", word)),
    "rank": ("wrst", lambda word, tmp: results(tmp).replay(word)),
    "payment": ("scal", lambda word, _: task("a", kind="potential", **{word: 0.02})),
    "isolation": ("thraed", lambda word, tmp: fastrm.run(experiment(), tmp / "y.h5", isolation=word)),
}  # fmt: skip
"""A word that is nearly right, and where it is given."""


def suggestion(call, word, tmp_path):
    """Return what is suggested in place of a word, None if nothing is; the word must be refused."""
    with pytest.raises(FastrmError) as refused:
        call(word, tmp_path)
    found = re.search(r" \(did you mean (.+?)\?\)", str(refused.value))
    return found and found[1]


@pytest.mark.parametrize("where", RIGHT)
def test_whoever_follows_a_suggestion_is_not_refused(where, tmp_path):
    word, call = RIGHT[where]
    better = suggestion(call, word, tmp_path)
    assert better
    call(better, tmp_path)


WRONG = {
    "a terminal that an edge leaves": ("doe", RIGHT["source of an edge"][1]),
    "a method that cannot learn the kind": ("coupled-nm", lambda word, _: made(methods=(word,))),
    "a method that cannot be shaped": ("couple-rs-bool", lambda word, _: made(methods=(word,))),
    "a method that is there": ("crm-bol", lambda word, _: made(methods=("crm-bool", word))),
    "a method with a kind, of files": ("crn-bool", RIGHT["method of files"][1]),
    "a shaped method with a start": ("crm-rss-bool@0.5", lambda word, _: made(methods=(word,))),
    "the method itself": ("crm-nu", lambda word, _: warm({"crm-num": word}, ("crm-num", "hrm-bool"))),
    "a method of other values": ("hrm-nu", lambda word, _: warm({"crm-num": word})),
    "a circle": ("crm-nu", lambda word, _: warm({"crm-num": "crm-bool", "crm-bool": word})),
    "a setting that is given": ("alpa", lambda word, _: train("grid", **{"alpha": 0.5, word: 0.1})),
    "a setting of a file that is given": ("alpa", lambda word, _: made(learner={"alpha": 0.5, word: 0.1})),
    "a setting of figures that is given": ("xscal", lambda word, _: made(figure={"xscale": "log", word: "linear"})),
    "several ticks": ("tik", lambda word, _: made(learner={word: [10, 20]})),
    "a key that is given": ("step", lambda word, tmp: load(tmp, f"{TOML}{word} = 2\n")),
    "a list for a number": ("seeed", lambda word, tmp: load(tmp, f"{TOML}{word} = [2]\n")),
    "a series beside other keys": ("serie", lambda word, tmp: load(tmp, f'{TOML}{word} = ["quick"]\n')),
    "a series as an experiment": ("water-stdy", lambda word, _: Experiment.named(word)),
    "a series as a base": ("water-stdy", lambda word, tmp: over(tmp, word)),
    "coupled for another task": ("couple", lambda word, _: train("grid", word)),
    "rooms beside walls": ("roms", lambda word, _: GridMap.generate("1a", size=15, walls=0.1, layout=word)),
    "walls without a number": ("wals", lambda word, _: made(setups=(f"1a {word}",))),
    "a maze and a number": ("maz", lambda word, _: made(setups=(f"1a {word} 0.2",))),
    "an object behind walls": ("bb", RIGHT["object"][1]),
    "a feature that guards cannot read": ("pht", RIGHT["function"][1]),
    "a statement that is there": ("stat", RIGHT["statement"][1]),
    "a key of a world that is there": ("agnt", lambda word, _: WaterWorld.parse(WATER % word)),
    "a coordinate that others rule out": ("b", lambda word, tmp: results(tmp).select(task="a").select(task=word)),
    "what nobody sweeps": ("nothing is swept", lambda word, tmp: list(sweep_points(results(tmp), word))),
}  # fmt: skip
"""A word that is near to something that would be refused there."""


@pytest.mark.parametrize("where", WRONG)
def test_what_would_be_refused_is_not_suggested(where, tmp_path):
    word, call = WRONG[where]
    better = suggestion(call, word, tmp_path)
    if better:  # something else that is near
        call(better, tmp_path)


@pytest.mark.parametrize(("states", "edges"), [
    ("start u0\nsuccess done", "u0 -> don when a\nu0 -> u0 otherwise\n"),
    ("start u0\nsuccess done", f"{U0}ul -> done when c\nu1 -> done when a\nul -> ul otherwise\n"),
    ("start u0\nsuccess done", f"{U0}ul -> done when c\nu1 -> u1 otherwise\n"),
    ("start don\nsuccess done", "u0 -> done when a\nu0 -> u0 otherwise\n"),
    ("start u0\nsuccess done doe", "u0 -> done when a\nu0 -> u0 otherwise\n"),
])  # fmt: skip
def test_a_state_is_called_what_would_do(states, edges):
    text = f"{states}\n{edges}"
    with pytest.raises(FastrmError) as refused:
        RewardMachine.parse(text)
    if found := re.search(r"state (\w+).* \(did you mean (\w+)\?\)", str(refused.value)):
        RewardMachine.parse(re.sub(rf"\b{found[1]}\b", found[2], text))


def test_commands_suggest_commands_and_flags(capsys):
    for words, better in ((["inf", "x.h5"], "info"), (["run", "quick", "--quite"], "--quiet")):
        with pytest.raises(SystemExit):
            main(words)
        assert f"(did you mean {better}?)" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "explain", "play"])
def test_commands_suggest_no_learner_of_agendas_for_other_tasks(command, capsys, tmp_path):
    out = ["--out", str(tmp_path / "x.html")] if command == "explain" else []
    assert main([command, "1a1b", "a-b", "--size", "7", "--learn", "couple", *out]) == 2
    said = capsys.readouterr().err
    assert "--learn='couple': must be one of qrm, " in said and "did you mean" not in said


def test_methods_alone_may_be_asked_for():
    with pytest.raises(FastrmError, match=r"did you mean crm-bool\?"):
        Method.parse("crm-bol")
