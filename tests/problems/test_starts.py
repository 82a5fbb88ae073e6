"""Several starts: lengths, units, ceilings and verdicts over all of them, and for each."""

import numpy as np
import pytest

import fastrm
from fastrm.exact import score_ceiling

import naive
from machine_specs import sequence_spec

TEXT = "XXXXXXXXX\nXA  a   X\nX XXXX  X\nXA     AX\nX   b   X\nXXXXXXXXX\n"


def problem_of(kind="boolean", **settings):
    return fastrm.compile(fastrm.GridMap.parse(TEXT), fastrm.task("a-b", kind=kind), **settings)


@pytest.mark.parametrize("slip", [0.0, 0.2])
def test_units_ceilings_and_values_of_several_starts_are_means(slip):
    problem = problem_of(slip=slip)
    each = [problem.from_start(cell) for cell in problem.starts]
    assert problem.starts == ((1, 1), (3, 1), (3, 7))
    assert problem.shortest[0] == np.mean([one.shortest[0] for one in each])
    for measure in (fastrm.optimal_arps, score_ceiling):
        assert measure(problem)[0] == pytest.approx(np.mean([measure(one)[0] for one in each]), rel=1e-12)
    spec = sequence_spec("a-b", "boolean")
    machine = naive.Machine(0, spec, naive.World(TEXT), naive.CLEAN, 0.9)
    assert score_ceiling(problem, horizon=60)[0] == pytest.approx(naive.ceiling(machine, 0.1, slip, 60), rel=1e-12)
    best = fastrm.solve(problem)
    assert best.success_probability() == pytest.approx(1.0)
    assert best.expected_length() == pytest.approx(
        np.mean([best.from_start(c).expected_length() for c in problem.starts])
    )


def test_a_verdict_is_the_worst_over_the_starts_and_r_star_the_largest():
    grid = fastrm.GridMap.generate("2a1b", size=11, seed=0)

    def at(reward):
        return fastrm.compile(grid, fastrm.task("a-b", kind="numeric", terminal_reward=reward), start="anywhere")

    whole, problem = fastrm.guarantee(at(20.0)), at(20.0)
    each = [fastrm.guarantee(problem.from_start(cell)) for cell in problem.starts[::5]]
    assert {one.verdict for one in each} == {"shortest", "detour (+2 steps)"}
    assert whole.verdict == "detour (+2 steps)" and whole.witness.path[0] in problem.starts
    assert whole.critical_reward >= max(one.critical_reward for one in each)
    assert fastrm.guarantee(at(whole.critical_reward * 1.001)).is_shortest
    assert not fastrm.guarantee(at(whole.critical_reward * 0.999)).is_shortest


def test_runs_are_solved_only_if_every_start_is():
    problem = problem_of()
    run = fastrm.train(problem, "crm", steps=60_000)
    assert run.solved and run.greedy_length == problem.shortest[0] == fastrm.solve(problem).length
    assert fastrm.train(problem, "crm", steps=60_000).q.tobytes() == run.q.tobytes()
    assert fastrm.hrm_fixed_point(problem).length >= problem.shortest[0]


def test_episodes_begin_in_every_start_equally_often_and_anywhere_means_cells_without_objects():
    gymnasium = pytest.importorskip("gymnasium")
    problem = problem_of(start="anywhere")
    assert len(problem.starts) == len(problem.terrain.cells) - 2
    env = gymnasium.make("fastrm.env:fastrm/Craft-v0", problem=problem_of())
    env.reset(seed=0)
    cells = [env.reset()[1]["cell"] for _ in range(300)]
    assert set(cells) == {(1, 1), (3, 1), (3, 7)} and min(map(cells.count, set(cells))) > 60
    assert env.reset(options={"start": (4, 2)})[1]["cell"] == (4, 2)
    many = fastrm.env.RewardMachineVectorEnv(64, problem_of())
    observed, _ = many.reset(seed=0)
    assert set(observed[:, 0]) == set(problem_of().tables.starts)
    assert set(many.reset(options={"start": (4, 2)})[0][:, 0]) == {problem_of().number_of((4, 2))}
    for options, message in (
        ({"begin": 1}, "begin"),
        ({"start": (0, 0)}, r"start=\(0, 0\): no cell that the agent can"),
    ):
        for made in (env, many):
            with pytest.raises(fastrm.ConfigError, match=message):
                made.reset(options=options)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("nowhere", "start='nowhere': must be 'anywhere', a cell such as"),
        ((0, 0), r"start=\(0, 0\): is no floor cell"),
        ([(1, 1), (9, 9)], r"start=\(9, 9\): is no floor cell"),
        ([], "start="),
        (3, "start=3: must be 'anywhere'"),
    ],
)
def test_bad_starts_are_refused_in_one_line(start, message):
    with pytest.raises(fastrm.ConfigError, match=message) as caught:
        problem_of(start=start)
    assert "\n" not in str(caught.value)


def test_a_start_from_which_the_task_cannot_be_done_is_named():
    grid = fastrm.GridMap.parse("XXXXXXX\nXA XA X\nX aX  X\nXXXXXXX\n")
    with pytest.raises(fastrm.MachineError, match=r"cannot be completed from \(1, 4\), one of the 2 starts"):
        fastrm.compile(grid, fastrm.task("a"))


def test_pictures_mark_all_starts_of_a_problem_and_say_so_where_there_are_too_many(capsys, tmp_path):
    from fastrm import pages, plots
    from fastrm.bench.__main__ import main

    problem, anywhere = problem_of(), problem_of(start="anywhere")
    assert problem.grid._repr_svg_().count("<path") == 3
    assert (
        pages.problem_card(problem_of(start=(1, 3))).count('<path d="M')
        == pages.problem_card(problem_of(start=[(1, 1), (3, 2)])).count('<path d="M') - 1
    )
    assert "starts, not marked" in pages.problem_card(anywhere)
    run = fastrm.train(problem, "crm", steps=60_000)
    figure = plots.draw_learning(problem, run)
    title = f"in the mean of 3 starts, shortest {run.shortest[0]:.6g}; path from (1, 1)"
    assert any(title in text.get_text() for text in figure.texts) or title in figure.get_suptitle()
    assert [len(line.get_xdata()) for line in figure.axes[0].lines if line.get_marker() == "x"] == [3, 3]
    (tmp_path / "three.map").write_text(TEXT)
    assert main(["check", str(tmp_path / "three.map"), "a-b"]) == 0
    said = capsys.readouterr().out
    assert "the verdict is that of the start (" in said and said.count("A") == 5  # three, ARpS, and the legend
    assert main(["check", str(tmp_path / "three.map"), "a-b", "--start", "anywhere"]) == 0
    assert f"{len(anywhere.starts)} starts, not marked" in capsys.readouterr().out
