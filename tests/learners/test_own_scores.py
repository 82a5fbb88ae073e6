"""Scores by own reward: per step where the best policy earns something, else totals between random steps and the best.

Rewards may then be costs. A score is (G - G_random) / (G_unit - G_random), G being the total of an episode.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from fastrm import (
    ConfigError,
    Experiment,
    FastrmError,
    GridMap,
    LearnerConfig,
    RewardMachine,
    compile,
    optimal_arps,
    run as fastrm_run,
    train,
    train_many,
)
from fastrm.bench.__main__ import main
from fastrm.exact import ScoreUnit, score_units
from fastrm.exact.tabular import solve_rewards
from fastrm.learners import Batch
from fastrm.plots import learning_curves

import naive
from compare import ANY_MACHINE
from machine_specs import machine_text
from random_problems import machines, maps
from sizes import either
from small_problems import corridor

COST = "score own\nstart u\nsuccess done\nu -> done when a reward -1\nu -> u otherwise reward -1\n"
pytestmark = pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")


def own_problem(text, specs, **how):
    try:
        return compile(GridMap.parse(text), [RewardMachine.parse(machine_text(spec)) for spec in specs], **how)
    except FastrmError:
        assume(False)


def test_totals_equal_the_oracle_s():
    compared = []

    @settings(max_examples=either(60, 25))
    @given(
        maps(fences=True), machines(guided=True), st.sampled_from([0.0, 0.3]), st.sampled_from([1, 7, 40]),
        st.sampled_from([0.0, 0.1, 0.5]),
    )  # fmt: skip
    def check(text, spec, slip, limit, epsilon):
        spec |= {"score": "own"}
        problem = own_problem(text, [spec], slip=slip)
        try:
            (unit,) = score_units(problem, 0.9, epsilon, limit)
        except ConfigError as refusal:
            assert "nothing to measure scores by" in str(refusal)
            return
        if not unit.by_total:
            assert unit == ScoreUnit(optimal_arps(problem, 0.9, epsilon)[0])
            return
        machine = naive.Machine(0, spec, naive.World(text), naive.CLEAN, 0.9)
        best = solve_rewards(problem, problem.tables.reward, 0.9).policy
        cells = [tuple(cell) for cell in problem.terrain.cells.tolist()]
        policy = {
            (cell, state): int(best[s, u]) for s, cell in enumerate(cells) for u, state in enumerate(machine.states)
        }
        assert unit.one == pytest.approx(naive.total(machine, policy, epsilon, slip, limit), rel=1e-9, abs=1e-9)
        assert unit.zero == pytest.approx(naive.total(machine, policy, 1.0, slip, limit), rel=1e-9, abs=1e-9)
        compared.append(1)

    check()
    assert len(compared) >= either(10, 3), f"only {len(compared)} of the machines are scored by totals"


@pytest.mark.parametrize("algo", ["qrm", "crm", "hrm"])
def test_kernels_equal_the_oracle_on_totals_and_rewards_per_step_in_turn(algo):
    @settings(max_examples=15)
    @given(maps(), st.lists(machines(), min_size=2, max_size=2), st.integers(0, 2**64 - 1))
    def check(text, specs, seed):
        specs = [spec | {"score": "own"} for spec in specs]
        problem = own_problem(text, specs)
        oracle = naive.LEARNERS[algo](
            text, specs, seed, limit=25, tick=37, window=5, optimum=[0.75, 12.5], base=[None, -20.3]
        )
        units = [0.75, ScoreUnit(one=12.5 - 20.3, zero=-20.3, by_total=True)]
        assume(units[1].one - units[1].zero == 12.5)
        batch = Batch(problem, algo, steps=370, seeds=[seed], episode_limit=25, tick=37, window=5, optimum=units)
        batch.advance(370)
        expected = [tick["score"] for tick in oracle.run(370).ticks]
        assert np.array_equal(batch.results()[0].score, expected, equal_nan=True)

    check()


@pytest.mark.parametrize("algo", [name for name in ANY_MACHINE if name != "sarsa"])  # its target is noise
def test_a_machine_that_costs_1_a_step_trains_and_a_perfect_learner_scores_1(algo):
    """In a corridor there is one best policy, so episodes cost what the unit says, up to noise."""
    problem = compile(corridor(6), RewardMachine.parse(COST))
    (unit,) = score_units(problem)
    assert unit.by_total and unit.zero < -30 < -8 < unit.one < -6
    run = train(problem, algo, steps=300_000, seed=1, tick=1000, episodes=True)
    assert run.unit == (unit.one,) and run.solved
    paid, length = run.episode_log
    late = paid[len(paid) // 2 :]
    assert np.array_equal(paid, -length)
    assert abs(late.mean() - unit.one) < 4 * late.std() / np.sqrt(len(late))
    assert abs(run.score[-30:].mean() - 1) < 0.01
    (blind,) = train_many(problem, algo, steps=300_000, seeds=[1], optimum=[unit], epsilon=1.0, tick=1000)
    assert abs(blind.score[50:].mean()) < 0.1  # random steps score 0


def test_episodes_that_hit_the_step_limit_count():
    problem = compile(corridor(6), RewardMachine.parse(COST))
    (unit,) = score_units(problem, horizon=10)
    assert -10 < unit.zero < -9.9 < -7 < unit.one
    run = train(problem, steps=100_000, epsilon=1.0, episode_limit=10, optimum=[unit], tick=1000)
    assert run.completions[-1] < 0.1 * run.episodes[-1] and abs(run.score[50:].mean()) < 0.01


def test_rewards_that_pay_per_step_keep_the_published_score():
    text = COST.replace("when a reward -1", "when a reward 100")
    problem = compile(corridor(6), RewardMachine.parse(text))
    assert score_units(problem) == (ScoreUnit(optimal_arps(problem)[0]),)
    both = [train(problem, "crm", steps=20_000, tick=1000, optimum=given) for given in (None, optimal_arps(problem))]
    assert both[0].score.tobytes() == both[1].score.tobytes() and both[0].unit == both[1].unit


def test_where_random_steps_are_as_good_there_is_no_score():
    problem = compile(corridor(6), RewardMachine.parse(COST))
    with pytest.raises(ConfigError, match=r"random steps .*, so there is nothing to measure scores by; give optimum"):
        train(problem, steps=1000, epsilon=1.0)
    assert train(problem, steps=1000, epsilon=1.0, optimum=[1.0]).q.size
    with pytest.raises(ConfigError, match="lower episode_limit"):
        dear = COST.replace("when a reward -1", "when a reward -100")  # better never to arrive
        score_units(compile(corridor(30), RewardMachine.parse(dear)), horizon=2**62)


def test_a_costly_machine_runs_in_experiments_and_is_drawn(tmp_path, capsys):
    path, out = tmp_path / "cost.rm", tmp_path / "x.h5"
    path.write_text(COST)
    experiment = Experiment(
        name="cost", setups=("1a1b",), size=9, machine_files=(str(path),), methods=("qrm", "crm", "hrm"), seeds=2,
        steps=60_000, learner=LearnerConfig(tick=2000),
    )  # fmt: skip
    results = fastrm_run(experiment, out)
    assert results.complete and np.isnan(results["ceiling"]).all() and (results["optimal_arps"] < 0).all()
    assert (np.abs(results["score"][:, -1] - 1) < 0.05).all() and not np.isnan(results["steps_to_90"]).any()
    (panel,) = learning_curves(results).axes
    assert len([line for line in panel.get_lines() if line.get_color() != "0.6"]) == 3
    assert main(["plot", str(out), "--text"]) == 0 and "1.0" in capsys.readouterr().out
