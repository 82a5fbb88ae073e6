"""What `advise` prints, and what it refuses."""

import pytest

import fastrm
from fastrm import ConfigError, GridMap, MachineError, RewardMachine, TableWorld, advise, compile, task

README = GridMap.generate("1a1b1c", size=15, seed=1)
TWO_A = GridMap.generate("2a1b", size=15, seed=5)
AROUND = "XXXXX\nXAXaX\nXbX X\nX X X\nX X X\nX   X\nXXXXX\n"
RECURRING = """
start u
success done
u -> v when b
u -> u otherwise
v -> u when b
v -> done when a reward 1
v -> v otherwise
"""


def row_of(advice, name):
    return next(row for row in advice.kinds if row.name == name)


def test_a_machine_that_pays_otherwise_has_a_row_of_its_own_with_the_limits_of_its_kind():
    advice = advise(compile(README, task("a-b-c", kind="numeric", terminal_reward=100)))
    yours, numeric = advice.kinds[0], row_of(advice, "numeric")
    assert (yours.name, yours.verdict, yours.is_safe, yours.q_init) == ("yours", "never finishes", False, None)
    assert yours.theorem_reward == numeric.theorem_reward > numeric.critical_reward == yours.critical_reward
    assert (
        advise(README, "a-b-c").kinds
        == advise(compile(README, task("a-b-c", kind="potential"))).kinds
        == advice.kinds[1:]
    )


def test_steps_towards_any_object_have_the_smaller_limit():
    for text, step, theorem in (("a-b", 99.9, "T1b"), ("a-b", 100.1, ""), ("a", 100.1, "")):
        machine = task(text, kind="numeric-boolean", closer="any", step_reward=step)
        yours = advise(TWO_A, machine).kinds[0]
        assert (yours.name, yours.theorem, yours.theorem_step_reward) == ("yours", theorem, pytest.approx(100))


def test_the_screen_is_one_screen_and_ends_with_a_machine_that_is_safe_by_theorem():
    for grid, text, kind in (
        (README, "a-b-c", "offset"),
        (TWO_A, "a-b", "local-potential"),
        (README, "{a,b,c}", "local-potential"),
    ):
        advice = advise(grid, text)
        lines = str(advice).splitlines()
        assert max(map(len, lines)) <= 100 and len(lines) <= 50
        assert f"Recommended: {kind}. It is safe on every map" in str(advice) and advice.recommended.name == kind
        if not lines[-1].startswith("..."):
            machine = RewardMachine.parse(str(advice).partition("such as safe.rm:\n")[2])
            assert machine == advice.recommended.machine
            assert fastrm.guarantee(compile(grid, machine)).is_shortest


def test_the_python_that_the_screen_shows_makes_the_recommended_machine():
    for grid, text in ((README, "a-b-c"), (TWO_A, "a-b")):
        advice = advise(grid, text)
        (call,) = [line for line in str(advice).splitlines() if line.startswith("In Python: ")]
        call = call.removeprefix("In Python: fastrm.task(").partition(")")[0]
        words = [word.partition("=")[2].strip("'") or word.strip("'") for word in call.split(", ")]
        assert words[:2] == [text, advice.recommended.name]
        settings = {"offset": words[2]} if len(words) > 2 else {}
        assert task(words[0], kind=words[1], **settings) == advice.recommended.machine


def test_a_star_marks_kinds_that_need_more_than_the_default_initial_value():
    screen = str(advise(TWO_A, "a-b")).splitlines()
    starred = [line.split()[0] for line in screen if line.endswith("*")]
    assert starred == ["numeric-boolean", "numeric"]
    assert "give q_init=" in str(advise(GridMap.generate("2a1b", size=41, seed=1), "a-b-a-b"))


def test_printed_limits_are_rounded_to_the_safe_side():
    advice = advise(README, "a-b")
    row = row_of(advice, "numeric-boolean")
    (line,) = [line for line in str(advice).splitlines() if line.startswith("numeric-boolean")]
    least, bound, _, most, bound_most = (float(word.strip("[]*").replace(",", "")) for word in line.split()[6:11])
    assert row.critical_reward <= least == 0.4737 and row.theorem_reward <= bound
    assert row.critical_step_reward >= most == 211.1 and row.theorem_step_reward >= bound_most


def test_walls_that_make_distances_wrong_are_named_with_the_cure():
    grid = GridMap.parse(AROUND)
    wrong, right = (advise(grid, "b-a", metric=metric) for metric in ("manhattan", "geodesic"))
    assert "With the metric geodesic, distances go around walls" in " ".join(str(wrong).split())
    assert "With the metric" not in str(right)
    assert (wrong.recommended.name, right.recommended.name) == ("local-potential", "offset")
    assert row_of(wrong, "offset").theorem == "" and row_of(right, "offset").theorem == "T2"


def test_a_task_whose_states_recur_is_advised_in_the_kinds_that_need_not_count_visits():
    advice = advise(TWO_A, RewardMachine.parse(RECURRING))
    assert row_of(advice, "numeric").verdict == row_of(advice, "local-potential").verdict == "refused"
    assert "a state can come again" in row_of(advice, "numeric").reason
    assert advice.recommended.name == "potential" and row_of(advice, "numeric-boolean").theorem == ""


def test_a_missed_deadline_is_a_failure_and_theorems_heed_it():
    shortest = int(compile(TWO_A, task("a-b")).shortest[0])
    advice = advise(TWO_A, f"a-b within {shortest + 3}")
    assert all(row.verdict == "shortest" for row in advice.kinds if row.theorem)
    assert row_of(advice, "distance-to-go").theorem_reward == 0 and row_of(advice, "offset").verdict == "refused"
    numeric = row_of(advice, "numeric")
    assert numeric.theorem == "T4" and 0 < numeric.critical_reward <= numeric.theorem_reward


def test_no_theorem_is_claimed_for_two_targets_in_a_cell_nor_for_distances_of_a_table():
    a, elsewhere = README.objects["a"][0], (1, 1)
    for cell, theorem in ((elsewhere, "T2"), (a, "")):
        problem = compile(README, task("coffee-a"), labels={"coffee": [cell]})
        assert row_of(advise(problem), "offset").theorem == theorem
    ring = TableWorld([[(s + 1) % 9, (s - 1) % 9] for s in range(9)], {2: "a", 7: "b"})
    advice = advise(compile(ring, task("a-b")))
    assert [row.theorem for row in advice.kinds if row.theorem] == ["T3", "T4", "T3", "T3", "T2"]
    assert all(row.verdict == "shortest" for row in advice.kinds if row.theorem) and not advice.walls_matter


def test_one_machine_of_several_is_advised_on():
    problem = compile(README, [task("a"), task("c-b")])
    assert [advise(problem, machine=i).task for i in range(2)] == ["a", "c-b"]
    assert advise(problem, machine=1).kinds == advise(README, "c-b").kinds


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: advise(README), "advise\\(grid\\): needs a task beside the map"),
        (lambda: advise(compile(README, task("a")), "a-b"), "task='a-b': goes with a map"),
        (lambda: advise(compile(README, task("a")), metric="geodesic"), "metric='geodesic': goes with a map"),
        (lambda: advise(README, "a", gamma=1), "gamma=1: advice needs a gamma above 0 and below 1"),
        (lambda: advise(README, "a", gamma=0), "gamma=0: "),
        (lambda: advise(compile(README, task("a"), slip=0.1)), "slip=0.1: advice"),
        (lambda: advise("a-b", "a"), "problem='a-b': must be a Problem"),
        (lambda: advise(compile(README, task("a")), machine=1), "machine=1"),
        (lambda: advise(README, "a", machine=1), "machine=1: must be a whole number from 0 to 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_advised_on_is_refused_in_one_line(ask, said):
    with pytest.raises(ConfigError, match=said):
        ask()


def test_a_machine_that_moves_by_distances_is_refused():
    machine = RewardMachine.parse("start u\nsuccess done\nu -> done when d(a) < 3 reward 1\nu -> u otherwise\n")
    with pytest.raises(MachineError, match="distances, or several labels at once, change its state"):
        advise(README, machine)
