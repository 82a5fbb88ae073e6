"""Exact answers on worlds given by tables: up to sixteen actions, labels of moves, several starts."""

import math

import numpy as np
import pytest

import fastrm
from fastrm.exact.values import action_mask, highest_action

GOLD = "start u\nsuccess done\nu -> done when gold reward 1\nu -> u otherwise reward 0\n"


def table(next_s, labels, text=GOLD, start=0):
    return fastrm.compile(fastrm.TableWorld(next_s, labels, start), fastrm.RewardMachine.parse(text))


def ring(n_actions, start):
    """Return a ring of five cells on which only the last action leads on; gold lies on the last cell."""
    return table([[s] * (n_actions - 1) + [(s + 1) % 5] for s in range(5)], {4: "gold"}, start=start)


def test_every_action_of_sixteen_has_its_own_bit():
    policy = np.arange(16, dtype=np.int8)
    assert action_mask(policy).tolist() == [2**a for a in range(16)]
    assert highest_action(action_mask(policy)).tolist() == policy.tolist()


@pytest.mark.parametrize("n_actions", range(7, 17))
def test_the_last_of_many_actions_leads_to_the_goal(n_actions):
    """Four steps from cell 0, three from cell 1."""
    best = fastrm.solve(ring(n_actions, [0, 1]))
    assert best.length == best.shortest == best.expected_length() == 3.5
    assert best.success_probability() == 1
    assert fastrm.optimal_arps(ring(n_actions, 0), epsilon=0.0) == (0.25,)


def test_a_policy_of_nine_actions_that_never_finishes_has_no_length():
    """Action 7 stays and pays for ever, action 8 finishes."""
    text = "start u\nsuccess done\nu -> done when gold reward 1\nu -> u when toll & !gold reward 1\n"
    labels = {(s, a): name for s in range(2) for a, name in ((7, "toll"), (8, "gold"))}
    best = fastrm.solve(table([[s] * 9 for s in range(2)], labels, text + "u -> u otherwise", start=[0, 1]))
    assert best.policy.tolist() == [[7], [7]]
    assert best.length is None and best.success_probability() == 0


def test_learners_that_never_explore_take_nine_actions():
    assert fastrm.train(ring(9, 0), "qrm", steps=5000, epsilon=0.0).greedy_length == 4


def test_the_witness_at_gamma_1_follows_the_ninth_action():
    """Without a discount, waiting keeps the value; the policy heads for the end by the last action."""
    answer = fastrm.guarantee(ring(9, 0), 1.0)
    assert answer.witness.path == (0, 1, 2, 3, 4) and not answer.witness.loop


@pytest.mark.parametrize(
    ("reward", "verdict"),
    [(5, "ends in failure"), (6.9, "ends in failure"), (7.1, "shortest"), (-2, "ends in failure")],
)
def test_the_critical_reward_tells_apart_moves_between_the_same_cells(reward, verdict):
    """Both actions stay in the cell and end the episode: action 0 finds gold, action 1 gives up and is paid 7."""
    text = f"start u\nsuccess done\nfailure lost\nu -> done when gold reward {reward}\nu -> lost otherwise reward 7\n"
    answer = fastrm.guarantee(table([[0, 0]], {(0, 0): "gold"}, text))
    assert (answer.verdict, answer.critical_reward) == (verdict, 7)


def test_the_critical_reward_of_a_toll_on_one_of_two_moves_that_stay():
    """Action 0 stays for nothing, action 1 is paid 3 for ever, which returns 30 at gamma 0.9; action 2 finds gold."""
    text = "start u\nsuccess done\nu -> done when gold reward 10\nu -> u when toll & !gold reward 3\nu -> u otherwise\n"
    answer = fastrm.guarantee(table([[0, 0, 1], [1, 1, 1]], {(0, 1): "toll", (0, 2): "gold"}, text))
    assert (answer.verdict, answer.critical_reward) == ("never finishes", 30)


def test_no_step_reward_is_the_largest_where_successes_pay_differently():
    """The far success pays 1000 and the near one 40: the optimum takes no shortest path, however little a step pays."""
    text = (
        "start u\nsuccess done\nu -> done when near reward 40\nu -> done when far reward 1000\nu -> u otherwise reward"
    )
    for paid in ("0.001", "1"):
        answer = fastrm.guarantee(table([[0, 1], [1, 2], [2, 2]], {(0, 0): "near", (1, 1): "far"}, f"{text} {paid}"))
        assert answer.verdict == "detour (+1 step)"
        assert answer.critical_reward > 0 and answer.critical_scale is answer.critical_step_reward is None


WAIT = "score own\nstart u\nsuccess done\nu -> done when gold reward 0\nu -> u otherwise reward 1"


def test_the_reward_per_step_of_episodes_that_go_on_after_100_000_steps_is_refused():
    """The policy waits and is paid 1 a step; an episode ends with probability 3e-5 a step, so 5 % go on for longer."""
    best = fastrm.solve(table([[0, 0]], {(0, 1): "gold"}, WAIT))
    with pytest.raises(fastrm.ConfigError, match=r"hardly ever ends an episode \(0\.05 of all last 100000 steps\)"):
        best.arps(6e-5)
    p = 0.05 / 2  # what an end at step T is worth is (T - 1) / T, and the mean of 1 / T is p ln(1 / p) / (1 - p)
    assert best.arps(0.05) == pytest.approx(1 + p * math.log(p) / (1 - p), rel=1e-9)


def test_expected_lengths_are_known_to_many_digits():
    """Success comes with probability epsilon / 2 a step, so after 2 / epsilon steps in the mean."""
    best = fastrm.solve(table([[0, 0]], {(0, 1): "gold"}, WAIT))
    assert best.expected_length(0.01) == pytest.approx(200, rel=1e-12)
    assert best.success_probability(0.01) == pytest.approx(1, abs=1e-12)


def test_findings_name_the_cells_of_a_world_without_a_layout_by_their_numbers():
    """From cell 0 there is nothing but gold; from cell 1 a toll can be collected for ever."""
    text = "start u\nsuccess done\nu -> done when gold reward 1\nu -> u when toll reward 2\nu -> u otherwise"
    labels = {(0, 0): "gold", (0, 1): "gold", (1, 0): "toll", (1, 1): "gold", (2, 0): "gold"}
    problem = table([[0, 0], [2, 1], [2, 1]], labels, text, start=[0, 1])
    (farming, hovering) = fastrm.check(problem).findings
    assert farming.message == "state u can be farmed for ever: the loop 1 2 1 earns 2 every 2 steps"
    assert hovering.kind == "procrastination" and "hovers for ever (1 2 1): that returns 10.5263" in hovering.message
