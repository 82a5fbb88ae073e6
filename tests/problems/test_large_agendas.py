"""An agenda of more machine states than can be listed answers truly, or refuses in one line; only coupled learns it."""

import dataclasses

import numpy as np
import pytest

import fastrm
from fastrm import ConfigError, GridMap, compile, env, pages, plots, problems, task, train
from fastrm.exact import score_ceiling
from fastrm.learners import hrm_fixed_point, option_pairs

LETTERS = "abcdefghijklmnopqr"
REFUSAL = (
    r"^this problem is an agenda of 12 stages with more than 1024 machine states, which are not listed, and "
    r"this needs them; fastrm.train\(problem, 'coupled'\) and the method coupled-bool of experiments learn it$"
)
TRUE = {
    "actions", "agenda", "at", "borrow", "columns", "defaults", "describe", "draw_start", "facts", "gamma", "grid",
    "is_certain", "is_quickly_solved", "kind", "known_shortest", "layout", "likely", "longest_episode", "machines",
    "n_actions", "names", "nbytes", "number_of", "number_of_any", "place_of", "profile", "refusal", "room", "shortest",
    "sizes", "slip", "source", "stages", "start", "start_cells", "start_numbers", "starts", "terrain", "thresholds",
    "tour", "done_at", "episode",
}  # fmt: skip
WITHOUT_STATES = {"states", "tables"}
"""What is listed by machine state, of which there are none."""
PATH = [(7, 7), (7, 8)]
ELSEWHERE = {
    "solve": fastrm.solve, "guarantee": fastrm.guarantee, "check": fastrm.check, "optimal_arps": fastrm.optimal_arps,
    "hrm_fixed_point": hrm_fixed_point, "option_pairs": option_pairs, "score_ceiling": score_ceiling,
    "retrace": lambda problem: list(problems.retrace(problem, PATH)),
    "find_actions": lambda problem: problems.find_actions(problem, PATH),
    "env": env.RewardMachineEnv, "vector env": lambda problem: env.RewardMachineVectorEnv(2, problem),
    "explain": pages.explain_page,
    "draw": lambda problem: plots.draw_learning(problem, train(problem, "coupled", steps=10)),
    "visits": lambda problem: plots.visits(problem, np.zeros((169, 12, 4)), 0.1, 100),
    "episode": lambda problem: plots.save_episode(problem, PATH, "x.gif"),
}  # fmt: skip


def agenda(n, **settings):
    grid = GridMap.generate("".join(f"1{x}" for x in LETTERS[:n]), size=15, seed=3)
    return compile(grid, task("{" + ",".join(LETTERS[:n]) + "}"), **settings)


@pytest.fixture(scope="module")
def problem():
    return agenda(12)


def test_every_member_is_known_to_be_true(problem):
    members = {name for name in dir(problem) if not name.startswith("_")}
    members |= {field.name for field in dataclasses.fields(problem)}
    assert members == TRUE | WITHOUT_STATES


@pytest.mark.parametrize("question", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_needs_machine_states_is_refused_in_one_line(problem, question):
    with pytest.raises(ConfigError, match=REFUSAL):
        question(problem)


def test_an_episode_takes_stages_off_the_agenda_as_their_objects_are_reached(problem):
    episode, tour = problem.episode(), train(problem, "coupled", steps=300_000).greedy_actions[0]
    for action in tour:
        left, waited_for = episode.left, episode.state.split()
        assert waited_for == [letter for i, letter in enumerate(LETTERS[:12]) if left >> i & 1]
        episode.step(action)
        assert episode.left == left & ~sum(1 << LETTERS.index(letter) for letter in episode.labels)
    assert episode.success and episode.reward == 1.0 and episode.state == "(terminal)" and episode.end == "done"


@pytest.mark.parametrize("algo", ["qrm", "hrm", "dyna"])
def test_a_learner_of_machine_states_is_refused_with_the_one_that_learns_it(problem, algo):
    with pytest.raises(ConfigError, match=rf"^algo on agendas of .* states='{algo}': must be one of coupled$"):
        train(problem, algo, steps=10)


def test_no_array_has_a_machine_state_or_a_success(problem):
    tables = problem.tables
    assert tables.n_u == 0 and not tables.outcome.any() and not tables.reward.any() and not tables.event.any()
    assert problem.states == () and problem.stages == tuple(LETTERS[:12]) and problem.columns == 12


def test_what_it_says_of_itself_is_true(problem):
    name = "{a,b,c,d,e,f,g,h,i,j,k,l} boolean on <1a1b1c1d1e1f1g1h1i1j1k1l size 15 seed 3>"
    assert repr(problem) == f"<Problem {name}: 169 cells, 12 stages, more than 1024 machine states>"
    assert repr(agenda(12, slip=0.25)).endswith("more than 1024 machine states, slip 0.25>")
    assert problem.at(0.5) is problem and problem.starts == ((7, 7),)
    assert isinstance(problem, problems.AgendaProblem) and not isinstance(problem, problems.TabularProblem)
    card = problem._repr_html_()
    assert "more than 1024" in card and "<td" in card and "events" not in card
    assert f"{problem.shortest[0]} steps" in card


def test_a_shortest_path_is_claimed_up_to_16_stages_only(problem, tmp_path):
    assert problem.shortest == (problem.tour.length,) and problem.tour.is_shortest
    run = train(problem, "coupled", steps=100, seed=0)
    assert run.shortest == problem.shortest and run.states == ()
    long = agenda(18)
    message = rf"no shortest path of an agenda of 18 stages is known; problem.tour is a way of {long.tour.length} steps"
    with pytest.raises(ConfigError, match=message):
        long.shortest  # noqa: B018
    run = train(long, "coupled", steps=100_000, seed=0)
    assert np.isnan(run.shortest[0]) and not run.solved and run.unit == (1 / long.tour.length,)
    assert f"<Run coupled seed 0: greedy {run.greedy_length}, shortest not known, score" in repr(run)
    assert "not known" in long._repr_html_() and "not known" in run._repr_html_()
    experiment = fastrm.Experiment(
        name="long", setups=("".join(f"1{x}" for x in LETTERS),), size=15, tasks=("{" + ",".join(LETTERS) + "}",),
        methods=("coupled-bool",), seeds=1, steps=1000, maps=1, learner=fastrm.LearnerConfig(tick=500),
    )  # fmt: skip
    results = fastrm.run(experiment, tmp_path / "long.h5")
    assert results["shortest"].tolist() == [0] and results["solved"].tolist() == [0]  # 0 means missing


def test_a_warm_start_asks_for_the_same_stages(problem):
    run = train(problem, "coupled", steps=5000, seed=0)
    again = train(problem, "coupled", steps=10, seed=1, warm_start=run, alpha=0.0)
    assert np.array_equal(again.q, run.q)
    grid = GridMap.generate("".join(f"1{x}" for x in LETTERS[:13]), size=15, seed=3)
    other = [compile(grid, task("{" + ",".join(letters) + "}")) for letters in (LETTERS[:12], LETTERS[1:13])]
    with pytest.raises(ConfigError, match=r"the run has values of the stages a, b, .*, and the problem has b, c, "):
        train(other[1], "coupled", steps=10, warm_start=train(other[0], "coupled", steps=10))
