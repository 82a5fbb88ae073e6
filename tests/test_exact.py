"""Exact answers: published optima, brute force, closed forms, long paths."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from problems import machines, maps

from fastrm import (
    ConfigError,
    FastrmError,
    GridMap,
    MachineError,
    RewardMachine,
    compile,
    guarantee,
    hrm_fixed_point,
    lint,
    optimal_arps,
    solve,
    train,
)
from fastrm.exact.rational import as_written
from fastrm.exact.solve import solve_rewards
from fastrm.kernels.contracts import LIVE, SUCCESS
from fastrm.machines.language.formats import read
from fastrm.machines.reward_kinds import PAPER_KINDS

from specs import machine_text

ROOT = Path(__file__).parent.parent


# --- published numbers -----------------------------------------------------------------------------------------------


def lassos(tables, u, limit):
    """Yield the rewards of every path from the start that ends or returns to a pair it visited, and how it ends."""
    count = 0
    stack = [((tables.start, u), [], [])]
    while stack:
        (s, v), trail, paid = stack.pop()
        for s_next, e in {(int(tables.next_s[s, a]), int(tables.event[s, a])) for a in range(4)}:
            count += 1
            if limit is not None:
                assume(count < limit)
            rewards = [*paid, as_written(tables.reward[e, v])]
            there = s_next, int(tables.delta[e, v])
            visited = [*trail, (s, v)]
            if tables.outcome[e, v] != LIVE:
                yield rewards, None, bool(tables.outcome[e, v] == SUCCESS)
            elif there in visited:
                yield rewards, visited.index(there), False
            else:
                stack.append((there, visited, rewards))


def discounted(rewards, loop, gamma):
    powers = [gamma**k for k in range(len(rewards))]
    if loop is None:
        return sum(p * r for p, r in zip(powers, rewards, strict=True))
    around = sum(gamma**k * r for k, r in enumerate(rewards[loop:]))
    before = sum(p * r for p, r in zip(powers[:loop], rewards[:loop], strict=True))
    return before + gamma**loop * around / (1 - gamma ** (len(rewards) - loop))


def brute_force(problem, gamma, limit=200_000):
    """Return the optimum and the verdict by looking at every path."""
    exact = as_written(gamma)
    found = {}
    for rewards, loop, succeeds in lassos(problem.tables, int(problem.tables.first_u[0]), limit):
        key = discounted(rewards, loop, exact)
        found.setdefault(key, set()).add(len(rewards) if succeeds else "loop" if loop is not None else "failure")
    optimum, goal = max(found), problem.shortest[0]
    lengths = found[optimum]
    finishing = [length for length in lengths if isinstance(length, int)]
    if lengths == {goal}:
        return optimum, "shortest"
    if not finishing:
        return optimum, "never finishes" if "loop" in lengths else "ends in failure"
    if min(finishing) == goal:
        return optimum, "shortest for some optimal policies only"
    extra = min(finishing) - goal
    return optimum, f"detour (+{extra} step{'s' if extra > 1 else ''})"


tiny_maps = st.builds(
    lambda height, width, order, extra: tiny_map(height, width, order, extra),
    st.integers(1, 2), st.integers(3, 4), st.permutations(range(8)), st.integers(0, 2),
)  # fmt: skip


def tiny_map(height, width, order, extra):
    cells = [cell for cell in order if cell < height * width]
    tiles = dict(zip(cells, ["A", "a", "b", "a", "b"][: 3 + extra], strict=False))
    rows = ["".join(tiles.get(r * width + c, " ") for c in range(width)) for r in range(height)]
    return "\n".join(["X" * (width + 2), *(f"X{row}X" for row in rows), "X" * (width + 2)])


def test_verdicts_and_optima_agree_with_brute_force_on_200_random_problems():
    verdicts = []

    @settings(max_examples=260)
    @given(
        tiny_maps,
        st.sampled_from(["a", "a-b", "b-a"]),
        st.sampled_from(PAPER_KINDS),
        st.sampled_from([-3, 0, 0.1, 0.5, 1, 2, 5, 40, 1000]),
        st.sampled_from([0.3, 0.5, 0.9, 0.97, 0.9995]),
        st.sampled_from(["nearest", "any"]),
    )
    @example("XXXXXX\nXAaabX\nXXXXXX", "a", "numeric-boolean", 0, 0.5, "nearest")  # a tie of paths
    def check(text, task, kind, terminal, gamma, closer):
        machine = RewardMachine.sequence(task, kind=kind, terminal_reward=terminal, closer=closer)
        try:
            problem = compile(GridMap.parse(text), machine)
        except FastrmError:
            assume(False)
        optimum, verdict = brute_force(problem, gamma)
        ours = guarantee(problem, gamma)
        assert ours.verdict == verdict
        assert ours.is_shortest == (verdict == "shortest")
        value = ours.solution.value[problem.tables.start, problem.tables.first_u[0]]
        bound = ours.solution.error[problem.tables.start, problem.tables.first_u[0]]
        assert abs(Fraction(float(value)) - optimum) <= bound + 1e-15 * abs(optimum)
        assert bound <= (1e-11 if gamma <= 0.97 else 1e-8) * (1 + abs(optimum))  # bounds grow with 1 / (1 - gamma)
        verdicts.append(verdict.split(" (")[0])

    check()
    assert len(verdicts) >= 200
    assert {"shortest", "never finishes", "shortest for some optimal policies only"} <= set(verdicts)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_verdicts_agree_with_brute_force_on_machines_with_everything():
    verdicts = []

    @settings(max_examples=150)
    @given(tiny_maps, machines(), st.sampled_from([0.5, 0.9]))
    def check(text, spec, gamma):
        try:
            problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec).replace("(c)", "(a)")))
        except FastrmError:
            assume(False)
        assert guarantee(problem, gamma).verdict == brute_force(problem, gamma)[1]
        verdicts.append(1)

    check()
    assert len(verdicts) >= 50


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@settings(max_examples=60)
@given(maps(), machines(), st.sampled_from([0.5, 0.9, 0.99]))
def test_values_satisfy_bellman_s_equation_within_their_bounds(text, spec, gamma):
    try:
        problem = compile(GridMap.parse(text), RewardMachine.parse(machine_text(spec)))
    except FastrmError:
        assume(False)
    best, tables = solve(problem, gamma), problem.tables
    padded = np.zeros((len(best.value), tables.reward.shape[1]))
    padded[:, : tables.n_u] = best.value
    for s, u in itertools.product(range(len(best.value)), range(tables.n_u)):
        events = tables.event[s]
        q = [
            tables.reward[e, u] + gamma * padded[tables.next_s[s, a], tables.delta[e, u]] for a, e in enumerate(events)
        ]
        assert abs(max(q) - best.value[s, u]) <= 2 * best.error[s, u] + 1e-15
        assert q[best.policy[s, u]] >= max(q) - 4 * best.error.max() - 1e-15


# --- thresholds ------------------------------------------------------------------------------------------------------


def with_terminal_reward(grid, task, kind, reward, **settings):
    return compile(grid, RewardMachine.sequence(task, kind=kind, terminal_reward=reward, **settings))


@pytest.mark.parametrize("kind", ["numeric-boolean", "numeric"])
def test_the_critical_reward_parts_shortest_from_not_shortest(kind):
    for seed, (setup, task, gamma) in enumerate(
        itertools.product(["1a1b1c", "2a2b2c"], ["a", "a-b", "a-b-c"], [0.6, 0.9, 0.95])
    ):
        grid = GridMap.generate(setup, size=13, seed=seed)
        critical = guarantee(with_terminal_reward(grid, task, kind, 1.0, closer="any"), gamma).critical_reward
        margin = 1e-4 * abs(critical)
        above = guarantee(with_terminal_reward(grid, task, kind, critical + margin, closer="any"), gamma)
        below = guarantee(with_terminal_reward(grid, task, kind, critical - margin, closer="any"), gamma)
        assert (above.is_shortest, below.is_shortest) == (True, False), (setup, task, gamma, critical)


def all_small_grids(targets):
    """Yield every open grid up to 4 x 4 with the start anywhere and the targets at the given cells."""
    for height, width in itertools.product(range(1, 5), repeat=2):
        for cells in targets(height, width):
            for start in itertools.product(range(height), range(width)):
                if start in cells:
                    continue
                rows = [["X"] * (width + 2) for _ in range(height + 2)]
                for r, c in itertools.product(range(height), range(width)):
                    rows[r + 1][c + 1] = "A" if (r, c) == start else "a" if (r, c) in cells else " "
                yield GridMap.parse("\n".join("".join(row) for row in rows)), height, width


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_the_closed_form_for_one_target_holds_on_all_small_grids(gamma):
    """r* = R (1 - gamma^2) / gamma: beside the target, stepping away and back pays gamma r / (1 - gamma^2) in all."""
    terminal, checked = 7.0, 0
    for grid, height, width in all_small_grids(lambda h, w: [{cell} for cell in itertools.product(range(h), range(w))]):
        ours = guarantee(with_terminal_reward(grid, "a", "numeric-boolean", terminal), gamma).critical_step_reward
        ((row, column),) = grid.objects["a"]
        room = max(row - 1, height - row) + max(column - 1, width - column)
        if height == 1:  # the target blocks the way to the other side
            room = column - 1 if grid.start[1] < column else width - column
        elif width == 1:
            room = row - 1 if grid.start[0] < row else height - row
        if room == 1:  # nowhere to step back to
            assert ours == float("inf")
        else:
            assert ours == pytest.approx(terminal * (1 - gamma**2) / gamma, rel=1e-6)
            checked += 1
    assert checked > 750


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_the_closed_form_for_two_corner_targets_holds_on_all_small_grids(gamma):
    """r* = R (1 - gamma): with targets in opposite corners every move comes closer to one of them."""
    terminal, checked = 7.0, 0
    for grid, height, width in all_small_grids(lambda h, w: [{(0, 0), (h - 1, w - 1)}] if h * w > 2 else []):
        machine = RewardMachine.sequence("a", kind="numeric-boolean", terminal_reward=terminal, closer="any")
        ours = guarantee(compile(grid, machine), gamma).critical_step_reward
        if (height, width) in [(1, 3), (3, 1), (2, 2)]:  # no two free cells side by side: a move finishes or bumps
            assert ours == float("inf")
        else:
            assert ours == pytest.approx(terminal * (1 - gamma), rel=1e-6)
            checked += 1
    assert checked > 60


def test_the_gamma_interval_ends_where_the_verdict_changes():
    machine = RewardMachine.sequence("a-b", kind="numeric", terminal_reward=100.0)
    problem = compile(GridMap.generate("1a1b", size=11, seed=4), machine)
    low, high = guarantee(problem, 0.9).gamma_interval
    assert 0 < low < high <= 1
    assert guarantee(problem, low + 1e-5).is_shortest and not guarantee(problem, low - 1e-5).is_shortest


# --- long paths ------------------------------------------------------------------------------------------------------


def corridor(length):
    return GridMap.parse(f"{'X' * (length + 3)}\nXA{' ' * (length - 1)}aX\n{'X' * (length + 3)}")


def test_a_boolean_path_of_400_steps_is_judged_right():
    verdict = guarantee(compile(corridor(400), RewardMachine.sequence("a")), 0.9)
    assert verdict.verdict == "shortest"
    assert verdict.witness.optimal_return == pytest.approx(0.9**399, rel=1e-12)


@pytest.mark.parametrize(("factor", "verdict"), [(0.999, "shortest"), (1.001, "never finishes")])
def test_a_tiny_reward_far_below_machine_precision_decides(factor, verdict):
    """Bumping into the wall pays x a step, finishing 1 after 400: shortest just when x / (1 - gamma) < gamma^399."""
    bump = factor * 0.1 * 0.9**399
    text = (
        "start u\nsuccess done\nu -> done when a reward 1\n"
        f"u -> u when !a & d(a) == 400 reward {bump!r}\nu -> u otherwise\n"
    )
    assert guarantee(compile(corridor(400), RewardMachine.parse(text)), 0.9).verdict == verdict


def test_cancelling_rewards_that_floats_cannot_tell_apart_are_judged_right():
    """On the way 1e9 is paid and taken back; what decides is a reward of 1e-12 for the longer way."""
    grid = GridMap.parse("XXXXXX\nXA  aX\nXb   X\nXXXXXX\n")

    def verdict(extra):
        text = (
            "start u\nsuccess done\n"
            f"u -> w when b reward {extra!r}\nu -> done when a reward 1000000000\nu -> u otherwise\n"
            "w -> done when a reward 1000000000\nw -> w otherwise\n"
        )
        return guarantee(compile(grid, RewardMachine.parse(text)), 0.5).verdict

    loss = 1e9 * (0.25 - 0.0625)  # what two more steps cost
    assert verdict(loss) == "shortest for some optimal policies only"
    assert verdict(float(np.nextafter(loss, 0))) == "shortest"
    assert verdict(float(np.nextafter(loss, 1e10))) == "detour (+2 steps)"


def test_ties_too_many_for_rational_arithmetic_are_said_to_be_undecided(monkeypatch):
    import fastrm.exact.ties as module

    monkeypatch.setattr(module, "EXACT_LIMIT", 3)
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX     X\nXXXXXXX\n")
    machine = RewardMachine.sequence("a", terminal_reward=0.0)  # nothing pays: every move is optimal
    verdict = guarantee(compile(grid, machine), 0.9)
    assert verdict.verdict == "undecided" and "cannot tell apart" in verdict.reason
    monkeypatch.setattr(module, "EXACT_LIMIT", 3000)
    assert guarantee(compile(grid, machine), 0.9).verdict == "shortest for some optimal policies only"


# --- what HRM settles on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PAPER_KINDS)
def test_hrm_takes_27_and_40_on_the_appendix_map_where_26_and_32_are_optimal(kind):
    grid = GridMap.load(ROOT / "bench" / "appendix.map")
    for task, ours, optimum in [("a", 20, 20), ("a-b", 27, 26), ("a-b-c", 40, 32)]:
        problem = compile(grid, RewardMachine.sequence(task, kind=kind, closer="any"))
        fixed = hrm_fixed_point(problem)
        assert (fixed.length, fixed.optimal_length, fixed.shortest) == (ours, optimum, optimum)
        assert fixed.regret >= 0 and fixed.extra_steps == ours - optimum
        assert len(fixed.path) == ours + 1


def test_trained_hrm_settles_where_the_fixed_point_says():
    grid = GridMap.load(ROOT / "bench" / "appendix.map")
    problem = compile(grid, RewardMachine.sequence("a-b-c", kind="numeric-boolean", closer="any"))
    assert train(problem, algo="hrm", steps=2_000_000, seed=1).greedy_length == hrm_fixed_point(problem).length == 40
    assert train(problem, algo="crm", steps=2_000_000, seed=1).greedy_length == 32


def test_hrm_s_fixed_point_is_optimal_where_the_machine_has_one_option_and_one_target_a_stage():
    for seed in range(5):
        problem = compile(GridMap.generate("1a1b1c", size=11, seed=seed), RewardMachine.sequence("a-b-c"))
        assert hrm_fixed_point(problem).regret == pytest.approx(0, abs=1e-12)


# --- score -----------------------------------------------------------------------------------------------------------


def test_arps_of_a_corridor_is_the_sum_over_arrival_times():
    problem = compile(corridor(2), RewardMachine.sequence("a"))
    best = solve(problem)
    assert best.arps(epsilon=0.0) == 0.5
    # right with 0.925; from the start any other action stays put, from the middle left (0.025) goes back
    mass, total = np.array([1.0, 0.0]), 0.0
    for t in range(1, 200):
        total += mass[1] * 0.925 / t
        mass = np.array([mass[0] * 0.075 + mass[1] * 0.025, mass[0] * 0.925 + mass[1] * 0.05])
    assert best.arps(epsilon=0.1) == pytest.approx(total, rel=1e-12)
    assert best.arps(epsilon=0.1, horizon=2) == pytest.approx(0.925**2 / 2, rel=1e-12)


def test_all_kinds_of_machine_for_one_task_share_one_unit():
    grid = GridMap.generate("1a1b1c", size=15, seed=2)
    units = {optimal_arps(compile(grid, RewardMachine.sequence("a-b-c", kind=kind))) for kind in PAPER_KINDS}
    assert len(units) == 1


def test_scores_of_a_perfect_learner_come_close_to_one():
    problem = compile(GridMap.generate("1a1b", size=11, seed=2), RewardMachine.sequence("a-b"))
    run = train(problem, algo="crm", steps=500_000, seed=0)
    assert abs(np.mean(run.score[-20:]) - 1) < 0.03


# --- bad input and lint ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, -0.5, 1.01, float("nan"), "much"])
def test_a_gamma_out_of_range_is_refused(gamma):
    problem = compile(corridor(3), RewardMachine.sequence("a"))
    for function in (solve, guarantee, hrm_fixed_point):
        with pytest.raises(ConfigError, match="gamma="):
            function(problem, gamma)


def test_gamma_one_is_solved_unless_a_loop_pays_for_ever():
    assert solve(compile(corridor(3), RewardMachine.sequence("a", kind="numeric")), 1.0).length == 3
    with pytest.raises(ConfigError, match=r"gamma=1: a loop pays for ever.*use a gamma below 1"):
        solve(compile(corridor(3), RewardMachine.sequence("a", kind="numeric-boolean")), 1.0)


def test_a_machine_of_a_multi_task_problem_is_chosen_by_number():
    tasks = [RewardMachine.sequence("a"), RewardMachine.sequence("a-b")]
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), tasks)
    assert [solve(problem, machine=i).length for i in range(2)] == list(problem.shortest)
    with pytest.raises(ConfigError, match="machine=2"):
        solve(problem, machine=2)


def test_lint_reports_everything_that_is_wrong_not_only_the_first_thing():
    text = "start u0\nsuccess end\nu0 -> end when a\nu0 -> u1 when b\nu1 -> u1 otherwise\nu7 -> end when a\n"
    findings = lint(read(text, "x.rm"))
    assert [finding.kind for finding in findings] == ["structure", "structure"]
    assert "u7 cannot be reached" in findings[0].message and "u1 is a dead end" in findings[1].message


def test_lint_reports_overlaps_and_gaps_of_every_state():
    text = (
        "start u0\nsuccess end\n"
        "u0 -> u1 when a\nu0 -> u1 when d(a) <= 1\nu0 -> u0 otherwise\n"
        "u1 -> end when b\nu1 -> u1 when a\n"
    )
    findings = lint(RewardMachine.parse(text), GridMap.generate("1a1b", size=7))
    assert [(f.kind, f.state) for f in findings] == [("edges", "u0"), ("edges", "u1")]
    assert "both open" in findings[0].message and "opens no edge" in findings[1].message


def test_lint_reports_farming_and_procrastination_with_their_state():
    grid = GridMap.generate("1a1b", size=15, seed=1)
    farm = RewardMachine.sequence("a-b", kind="numeric-boolean", terminal_reward=0.01)
    kinds = {finding.kind: finding for finding in lint(farm, grid)}
    assert set(kinds) == {"farming", "procrastination"}
    assert "earns 0.1 every 2 steps" in kinds["farming"].message
    assert not any(finding.is_error for finding in kinds.values())
    assert lint(RewardMachine.sequence("a-b"), grid) == []


def test_lint_reports_a_task_that_cannot_be_completed():
    (finding,) = lint(RewardMachine.sequence("a-z"), GridMap.generate("1a1b", size=7))
    assert finding.kind == "task" and "this map offers a, b" in finding.message


def test_a_machine_without_terminal_is_refused():
    with pytest.raises(MachineError, match="no success state"):
        RewardMachine.parse("start u\nu -> u otherwise\n")


def test_the_boolean_twin_ignores_what_the_machine_pays():
    problem = compile(GridMap.generate("1a", size=7, seed=1), RewardMachine.sequence("a", kind="numeric"))
    twin = (problem.tables.outcome == SUCCESS).astype(float)
    assert solve_rewards(problem, twin, 0.9).length == problem.shortest[0]


# --- what a review found ---------------------------------------------------------------------------------------------


def test_a_loop_that_pays_by_less_than_the_rounding_of_many_steps_is_not_called_shortest():
    """gamma 0.999: gaps below the rounding of one step add up over a thousand; only rationals can tell."""
    grid = GridMap.parse("XXXXXX\nXp AcX\nXXXXXX")
    text = (
        "start u\nsuccess done\nu -> done when c reward 1000.0000000011\n"
        "u -> u when d(p) == 0 & d_before(p) == 1 reward 1\n"
        "u -> u when d(p) == 1 & d_before(p) == 0 reward 1.0000000000033\n"
        "u -> u when d(p) == 1 & d_before(p) == 1 reward 1\nu -> u when d(p) == 1 & d_before(p) == 2 reward 1\n"
        "u -> u otherwise\n"
    )
    problem = compile(grid, RewardMachine.parse(text))
    assert guarantee(problem, 0.999).verdict == brute_force(problem, 0.999, limit=None)[1] == "never finishes"


def test_a_state_that_cannot_finish_does_not_hang_the_score():
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX  b  X\nXXXXXXX")
    text = (
        "start u0\nsuccess done\nu0 -> done when a\nu0 -> trap when b\nu0 -> u0 otherwise\n"
        "trap -> done when d(a) > 1000\ntrap -> trap otherwise\n"
    )
    (unit,) = optimal_arps(compile(grid, RewardMachine.parse(text)))
    assert 0.15 < unit < 0.25
    assert train(compile(grid, RewardMachine.parse(text)), steps=1000).episodes.size == 0


def test_a_machine_that_hovers_by_its_own_score_is_refused_not_waited_for():
    grid = GridMap.parse("XXXXXXX\nXA   aX\nX     X\nXXXXXXX")
    text = "start u\nsuccess done\nscore own\nu -> done when a reward -1\nu -> u otherwise reward -0.01\n"
    with pytest.raises(ConfigError, match=r"hardly ever ends an episode|earns no reward per step"):
        train(compile(grid, RewardMachine.parse(text)), steps=1000)
    assert train(compile(grid, RewardMachine.parse(text)), steps=1000, optimum=[1.0]).q.size


def test_gamma_one_follows_a_path_that_earns_its_value():
    problem = compile(GridMap.generate("1a1b", size=9, seed=1), RewardMachine.sequence("a-b"))
    best = solve(problem, 1.0)
    assert best.length is not None and best.value[problem.tables.start, 0] == 1.0


def test_shaping_with_gamma_one_and_a_loop_that_pays_is_refused():
    problem = compile(GridMap.generate("1a", size=7), RewardMachine.sequence("a", kind="numeric-boolean"))
    with pytest.raises(ConfigError, match="pays for ever, so shaping needs a gamma below 1"):
        train(problem, steps=100, gamma=1.0, shaping=True)


def test_a_machine_whose_optimum_fails_is_said_to():
    text = (
        "start u\nsuccess done\nfailure lost\nu -> lost when b reward 10\n"
        "u -> done when !b & d(b) == 3\nu -> u otherwise\n"
    )
    grid = GridMap.parse("XXXXXXX\nX  A bX\nXXXXXXX")
    problem = compile(grid, RewardMachine.parse(text))
    verdict = guarantee(problem)
    assert verdict.verdict == "ends in failure" and verdict.length is None and not verdict.witness.loop
    assert [finding.kind for finding in lint(problem.machines[0], grid)] == ["failure"]


def test_products_of_distances_do_not_overflow():
    grid = GridMap.generate("1a", size=41, seed=1)
    text = "start u\nsuccess done\nu -> done when a\nu -> u otherwise reward 10 - d(a)*d(a)*d(a)*d(a)*d(a)*d(a)\n"
    assert compile(grid, RewardMachine.parse(text)).tables.reward.max() <= 10


def test_the_scale_of_rewards_is_not_invented_where_the_terminal_reward_is_not_positive():
    grid = GridMap.generate("1a", size=9, seed=1)
    assert guarantee(with_terminal_reward(grid, "a", "boolean", -1.0)).critical_scale is None
    assert guarantee(with_terminal_reward(grid, "a", "numeric-boolean", -5.0)).critical_scale == 0
    assert guarantee(with_terminal_reward(grid, "a", "boolean", 1.0)).critical_scale == float("inf")


def test_a_loop_whose_rewards_cancel_is_not_farming():
    grid = GridMap.parse("XXXXXX\nXA  aX\nXXXXXX")
    text = (
        "start u\nsuccess done\nu -> done when a reward 1\nu -> u when d(a) == 3 & d_before(a) == 2 reward 0.1\n"
        "u -> u when d(a) == 3 & d_before(a) == 3 reward 0.2\nu -> u when d(a) == 2 & d_before(a) == 3 reward -0.3\n"
        "u -> u otherwise\n"
    )
    assert all("e-1" not in finding.message for finding in lint(RewardMachine.parse(text), grid))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: lint(p.machines[0], p.grid, gamma=1.0), "gamma=1"),
        (lambda p: hrm_fixed_point(p, machine=3), "machine=3"),
        (lambda p: optimal_arps(p, gamma=5), "gamma=5"),
        (lambda p: optimal_arps(p, gamma="x"), "gamma='x'"),
        (lambda p: train(p, q_init=10**400), "q_init=1000"),
        (lambda p: train(p, alpha=np.complex128(0.5)), "alpha="),
        (lambda p: train(p, config={"alpha": 1}), "config="),
        (lambda p: train(p, optimum=["x"]), "optimum="),
        (lambda p: RewardMachine.sequence("a", terminal_reward=10**400), "terminal_reward=1000"),
        (lambda p: compile(p.grid, "a-b"), "must be a RewardMachine"),
        (lambda p: compile("XXX", p.machines[0]), "must be a GridMap"),
        (lambda p: compile(p.grid, p.machines[0], profile=None), "profile=None"),
    ],
)
def test_wrong_arguments_give_a_fastrm_error(call, message):
    with pytest.raises(FastrmError, match=message):
        call(compile(corridor(3), RewardMachine.sequence("a")))
