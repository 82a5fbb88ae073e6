"""Clocks and counts: read, written, unrolled; equal to machines unrolled by hand and to play by the definition."""

import itertools
import random
import re

import numpy as np
import pytest
from clocked import Player, clocked_text, random_spec, unrolled

from fastrm import (
    ConfigError,
    FastrmError,
    GridMap,
    MachineError,
    RewardMachine,
    compile,
    guarantee,
    lint,
    load_run,
    solve,
    task,
    train,
)
from fastrm.learners import Batch
from fastrm.machines import fold
from fastrm.machines.language import constant, parse_guard, parse_reward, read, write

import naive
from compare import PROFILES, assert_equal
from machine_specs import machine_text
from sample_files import DEADLINE
from sizes import either

HEAD = "start u0\nsuccess done\n"
ROOM = GridMap.generate("2a1b", size=7, seed=1)


def deadline(k, top=None):
    return RewardMachine.parse(DEADLINE.format(k=k, top=top or k))


def sound_specs(count, **options):
    """Yield random specs that are sound machines, with the machines."""
    made = 0
    for seed in itertools.count():
        spec = random_spec(random.Random(seed), **options)
        try:
            yield spec, RewardMachine.parse(clocked_text(spec))
        except FastrmError as problem:
            assert "\n" not in str(problem)
            continue
        made += 1
        if made == count:
            return


def same_tables(one, other):
    for name in one.tables._fields:
        mine, yours = getattr(one.tables, name), getattr(other.tables, name)
        assert np.asarray(mine).tobytes() == np.asarray(yours).tobytes(), name


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_a_machine_with_clocks_and_counts_has_the_tables_of_the_machine_unrolled_by_hand():
    compared = 0
    for spec, machine in sound_specs(either(2000, 150)):
        by_hand = RewardMachine.parse(machine_text(unrolled(spec)))
        assert len(machine.states) == len(by_hand.states)
        try:
            other = compile(ROOM, by_hand)
        except FastrmError:
            with pytest.raises(FastrmError):
                compile(ROOM, machine)
            continue
        same_tables(compile(ROOM, machine), other)
        compared += 1
    assert compared >= either(1000, 80)


def test_a_deadline_has_the_tables_of_the_machine_that_a_person_would_write():
    lines = ["states w " + " ".join(f"r{i}" for i in range(1, 6)), "start w", "success done", "failure late"]
    lines += ["w -> r1 when a", "w -> w otherwise"]
    for i in range(1, 5):
        lines += [f"r{i} -> done when b reward 1", f"r{i} -> r{i + 1} otherwise"]
    lines += ["r5 -> done when b reward 1", "r5 -> late when !b"]
    same_tables(compile(ROOM, deadline(5)), compile(ROOM, RewardMachine.parse("\n".join(lines))))
    assert deadline(5).states == ("w[t=0]", *(f"r[t={i}]" for i in range(1, 6)))


def test_a_task_with_a_deadline_has_the_tables_of_the_statement():
    for k in (4, 5, 12):
        same_tables(compile(ROOM, task(f"a-b within {k}")), compile(ROOM, deadline(k)))


def test_a_missed_deadline_pays_what_failing_pays_in_every_kind():
    paid = {"boolean": 0.0, "numeric-boolean": 0.0, "numeric": -10_000.0, "potential": 0.0, "local-potential": 0.0}
    for kind, reward in paid.items():
        late = [edge for edge in task("a-b within 3", kind=kind).edges if edge.target == "failed"]
        assert [constant(edge.reward) for edge in late] == [reward]
    waits = [write(edge.reward) for edge in task("a-b within 3", kind="numeric").edges if edge.source == "u1"]
    assert waits == ["10000", "-d(b)"]
    with pytest.raises(MachineError, match="the kind offset is for different targets in turn"):
        task("a-b within 3", kind="offset")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a-b within", "column 11: expected a number of moves, as in 'b within 10', found the end"),
        ("a-b within 0", "column 12: within 0: from 1 to 1024 moves"),
        ("a within 2000", "column 10: within 2000: from 1 to 1024 moves"),
        ("a within 1.5", "column 11: unexpected '.'"),
        ("2*a within 1", "column 1: nothing completes the task"),
        ("{a,b,c,d,e,f,g,h,i,j,k} within 5", "column 32: agendas have no deadlines; at most 10 targets in any order"),
        ("{a,b,c,d,e,f,g,h,i} within 500", "column 28: the task needs more than 1024 machine states"),
    ],
)  # fmt: skip
def test_deadlines_that_no_task_can_have_are_refused_in_one_line(text, message):
    with pytest.raises(MachineError, match=re.escape(message)) as caught:
        task(text)
    assert "\n" not in str(caught.value)


def test_coupled_refuses_an_agenda_with_a_deadline_in_one_line():
    with pytest.raises(ConfigError, match=r"^coupled: {a,b} within 30 boolean is not known to be an agenda[^\n]*$"):
        train(compile(ROOM, task("{a,b} within 30")), "coupled", steps=10)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
def test_play_follows_the_definition_move_by_move():
    played, text = 0, ROOM.render()
    for seed, (spec, machine) in enumerate(sound_specs(either(2000, 150), distances=True)):
        try:
            problem = compile(ROOM, machine)
        except FastrmError:
            continue
        draw = random.Random(seed)
        for _ in range(3):
            episode, player = problem.episode(), Player(spec, naive.World(text))
            for _ in range(60):
                action = draw.randrange(4)
                episode.step(action)
                paid = player.step(action)
                assert (episode.reward, episode.cell) == (paid, player.cell)
                assert episode.terminated == (player.state in ("done", "failed"))
                if episode.terminated:
                    assert episode.success == (player.state == "done")
                    break
            played += 1
    assert played >= either(3000, 200)


@pytest.mark.filterwarnings("ignore::fastrm.FastrmWarning")
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("algo", ["qrm", "crm"])
def test_learning_equals_the_oracle_on_the_machine_unrolled_by_hand(algo, profile):
    compared, text = 0, ROOM.render()
    for seed, (spec, machine) in enumerate(sound_specs(either(150, 12), distances=False)):
        try:
            problem = compile(ROOM, machine, profile=profile)
        except FastrmError:
            continue
        by_hand = unrolled(spec)
        settings = {"tick": 37, "window": 5, "optimum": [0.5]}
        oracle = naive.LEARNERS[algo](text, [by_hand], seed, profile=PROFILES[profile], limit=25, **settings)
        batch = Batch(problem, algo, steps=300, seeds=[seed], episode_limit=25, episodes=True, **settings)
        batch.advance(300)
        assert_equal(oracle.run(300), batch)
        compared += 1
    assert compared >= either(75, 6)


UP_AND_DOWN = {
    "states": ["u0"], "start": "u0", "success": ["done"], "failure": [], "score": "task",
    "variables": [("count", "n", 0, 14, True)],
    "edges": [
        ("u0", ("and", ("prop", "a"), ("<", ("num", 13), ("val", "n"))), "done", ("num", 1), []),
        ("u0", ("and", ("prop", "a"), ("<=", ("val", "n"), ("num", 13))), "u0", ("val", "n"), [("n", "+=", 1)]),
        ("u0", ("prop", "b"), "u0", ("num", 5), [("n", "-=", 1)]),
        ("u0", "otherwise", "u0", ("num", 0), []),
    ],
}  # fmt: skip
TIMED = {
    "states": ["w", "r"], "start": "w", "success": ["done"], "failure": ["late"], "score": "task",
    "variables": [("clock", "t", 0, 22, True)],
    "edges": [
        ("w", ("prop", "a"), "r", ("num", 0), [("t", "=", 0)]), ("w", "otherwise", "w", ("num", 0), []),
        ("r", ("and", ("prop", "b"), ("<=", ("val", "t"), ("num", 21))), "done", ("-", ("num", 30), ("val", "t")), []),
        ("r", ("<", ("num", 21), ("val", "t")), "late", ("num", 0), []), ("r", "otherwise", "r", ("num", 0), []),
    ],
}  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("algo", ["crm", "hrm"])
@pytest.mark.parametrize("spec", [UP_AND_DOWN, TIMED], ids=["shifted down", "shifted up"])
def test_columns_that_are_swept_in_blocks_equal_the_oracle(spec, algo, profile):
    """In a corner room, where walls keep the agent on a and b: a column then reads what its own sweep has updated."""
    text, machine = "XXXXX\nXAa X\nXb  X\nXXXXX\n", RewardMachine.parse(clocked_text(spec))
    problem, by_hand = compile(GridMap.parse(text), machine, profile=profile), unrolled(spec)
    names = dict(zip(by_hand["states"], machine.states, strict=True)) | {"done": "done", "late": "late"}
    edges = [(names[source], guard, names[target], reward) for source, guard, target, reward in by_hand["edges"]]
    by_hand |= {"states": list(machine.states), "start": machine.start, "edges": edges}
    settings = {"tick": 100, "window": 5, "optimum": [0.5], "epsilon": 0.6}
    oracle = naive.LEARNERS[algo](text, [by_hand], 3, profile=PROFILES[profile], limit=60, **settings)
    batch = Batch(problem, algo, steps=800, seeds=[3], episode_limit=60, episodes=True, **settings)
    batch.advance(800)
    assert_equal(oracle.run(800), batch)


def test_generated_machines_survive_writing():
    for _, machine in sound_specs(either(10_000, 300), distances=True):
        again = RewardMachine.parse(machine.write())
        assert again == machine and again.states == machine.states
        assert read(machine.write(), "m.rm").variables == machine.written.variables


@pytest.mark.parametrize("seed", range(either(100, 12)))
def test_a_deadline_is_possible_exactly_from_the_distance_on(seed):
    grid = GridMap.generate("1a1b", size=11, seed=seed)
    (a,), (b,) = grid.objects["a"], grid.objects["b"]
    apart = abs(a[0] - b[0]) + abs(a[1] - b[1])
    first = abs(grid.start[0] - a[0]) + abs(grid.start[1] - a[1])
    if apart > 1:
        with pytest.raises(
            MachineError, match=r"none of the \d+ pairs of a cell and a machine state .* leads to a success"
        ):
            compile(grid, deadline(apart - 1))
    problem = compile(grid, deadline(apart))
    assert problem.shortest == (first + apart,) and len(problem.states) == 1 + apart
    assert solve(problem).length == first + apart and guarantee(problem).verdict == "shortest"


def test_order_within_a_move_guards_read_old_values_and_clocks_tick_last():
    text = "start u0\nsuccess done\nclock t 0..9\ncount n 0..9\nu0 -> u1 when a & n == 0 reward t do n += 1, t = 4\n"
    text += "u0 -> u0 when !(a & n == 0) reward n\nu1 -> done when true reward 10 * t + n\n"
    machine = RewardMachine.parse(text)
    assert machine.states[0] == "u0[t=0,n=0]" and machine.states[1] == "u1[t=5,n=1]"
    episode = compile(GridMap.parse("XXXXX\nXA aX\nXXXXX\n"), machine).episode()
    paid = []
    for action in (1, 1, 1):
        episode.step(action)
        paid.append(episode.reward)
    assert paid == [0.0, 1.0, 51.0] and episode.success


def test_a_clock_stays_at_its_top_and_a_count_that_saturates_at_its_ends():
    stuck = HEAD + "clock t 0..2\ncount n -1..1 saturate\nu0 -> done when a & t == 2 & n == -1\n"
    stuck += "u0 -> u0 when !(a & t == 2 & n == -1) do n -= 1\n"
    assert RewardMachine.parse(stuck).states == ("u0[t=0,n=0]", "u0[t=1,n=-1]", "u0[t=2,n=-1]")


def test_a_clock_that_a_state_does_not_read_costs_nothing_there():
    assert len(deadline(1000).states) == 1001
    idle = "start u0\nsuccess done\nclock t 0..1023\ncount n 0..1 saturate\nu0 -> done when a\nu0 -> u0 otherwise\n"
    assert RewardMachine.parse(idle).states == ("u0[t=0,n=0]",)
    numeric = idle.replace("otherwise", "otherwise reward -d(a)")
    assert len(RewardMachine.parse(numeric).states) == 1


def test_rewards_and_potentials_read_values_as_if_they_were_written():
    text = HEAD + "count n 0..3\nu0 -> u0 when b & n < 3 reward 0.1 * n do n += 1\n"
    text += "u0 -> done when a reward 10 / (n + 1)\nu0 -> u0 when !a & !(b & n < 3)\npotential u0 = 0.5 * n - d(a)\n"
    machine = RewardMachine.parse(text)
    by_hand = ["start n0", "success done", *(f"potential n{n} = {0.5 * n} - d(a)" for n in range(4))]
    for n in range(4):
        more = [f"n{n} -> n{n + 1} when b reward 0.1 * {n}"] if n < 3 else []
        by_hand += [
            *more,
            f"n{n} -> done when a reward 10 / {n + 1}",
            f"n{n} -> n{n} when !a{' & !b' if n < 3 else ''}",
        ]
    grid = GridMap.generate("1a2b", size=7, seed=2)
    one, other = compile(grid, machine), compile(grid, RewardMachine.parse("\n".join(by_hand)))
    same_tables(one, other)
    assert one.potential.tobytes() == other.potential.tobytes()
    assert guarantee(one).critical_reward == guarantee(other).critical_reward


WHOLE = r"a range joins two whole numbers, as in 0\.\.20"
DECLARED = [
    ("clock t 5..3", r"column 7: clock t 5\.\.3: an empty range; write the smaller number first"),
    ("clock t 0..1024", r"column 7: clock t 0\.\.1024: 1025 values; at most 1024 are supported"),
    ("count n -5..5000000000", f"column 9: count n -5..5000000000: {WHOLE}"),
    ("clock t 0..2.5", f"column 9: clock t 0..2.5: {WHOLE}"),
    ("count n 0.5..3", f"column 9: count n 0.5..3: {WHOLE}"),
    ("clock otherwise 0..9", "column 7: clock otherwise: is a word of the language; choose another name"),
    ("count min 0..9", "column 7: count min: is a word of the language"),
    ("clock closer 0..9", "column 7: clock closer: is a word of the language"),
    ("clock a1 0..9", "column 7: clock a1: is the name of a single object; choose another name"),
    ("clock 2x 0..9", "column 7: clock name '2x': use at most 40 letters"),
    ("clock t 1..9", r"column 7: clock t 1\.\.9: a clock begins at 0; write 0\.\.9"),
    ("count n 2..9", r"column 7: count n 2\.\.9: a count begins at 0, which its range must hold"),
    ("clock t", r"column 1: expected a name and a range, such as 'clock t 0\.\.20'"),
    ("count", r"column 1: expected a name and a range, such as 'count n 0\.\.20'"),
    ("clock t 0..9 saturate", "column 14: unexpected 'saturate'; a clock always stays at its top"),
    ("count n 0..9 saturates", "column 14: unexpected 'saturates'; only a count may be followed by saturate"),
]  # fmt: skip
EDGES = [
    ("", "done when a & m <= 3", "column 21: expected a number, found a truth value 'm' .*must be declared"),
    ("", "done when a do m += 1", r"column 22: do: 'm' is no clock or count; declare it, as in 'count n 0\.\.8'"),
    ("count load 0..3", "done when a do lod += 1", r"column 22: do: 'lod' is no clock .*\(did you mean load\?\)"),
    ("clock t 0..9", "done when a & t <= 2.5", "column 26: t shows whole numbers; compare it with one of them"),
    ("count n 0..9", "done when a do n += 0.5", r"column 27: do: '0\.5' is no whole number"),
    ("clock t 0..9", "done when a do t += 1", "column 22: do: clock t advances by itself; set it, as in t = 0"),
    ("clock a 0..9", "done when a & a <= 3", "column 17: .* found the clock or count 'a'; compare it, as in a <= 3"),
    ("clock a 0..9", "done when d(a) < 3", "column 19: 'a' is a clock or count; rename it if the object is meant"),
    ("count n 0..3", "done when a do n += 1, n = 2", "column 30: do: n is changed twice; keep one action"),
    ("count n 0..3", "done when a do", r"column 21: do: expected an action such as .*, found ''"),
    ("count n 0..3", "done when a do n += 1,", "column 29: do: expected an action"),
    ("count n 0..3", "done when a do n = 7", r"column 22: do: count n 0\.\.3 cannot be set to 7"),
    ("count n 0..3", "done when a do n += 1 reward 2", "column 21: do: expected an action"),
    ("clock t 0..9", "done agenda a b", "column 12: agenda: has no deadlines; in a machine with clocks or counts"),
    ("", "done agenda a b do n += 1", "column 12: agenda: has no deadlines"),
    ("clock t 0..9", "done when a & t > 3", r"state u0\[t=0\] has no edge that can open; add an 'otherwise' edge"),
]  # fmt: skip
WHOLE_TEXTS = [
    ("clock t 0..9\ncount t 0..9", "4: column 1: t is declared twice; keep one line"),
    ("count n 0..3\nu0 -> u0 when a do n += 1\nu0 -> done when b", r"4: edge u0 -> u0 \(when a\) takes n to 4 in state "
     r"u0\[n=3\], beyond count n 0\.\.3; compare it in the guard, or declare it 'saturate'"),
    ("clock t 0..9\nu0 -> u1 when t > 9\nu0 -> done otherwise\nu1 -> done when true",
     "6: state u1 cannot be reached, whatever t shows; change guards or ranges"),
    ("clock t 0..9\nu0 -> done when a & t <= 3\nu0 -> u0 otherwise", r"5: state u0\[t=4\] is a dead end"),
]  # fmt: skip


def test_constants_are_folded_unless_that_hides_what_is_written():
    shown = [("0.1 * n", "0.1 * 3"), ("0.5 * n", "1.5"), ("-n", "-3"), ("6 / n", "2"), ("1 / (n - 3)", "1 / 0")]
    for text, folded in shown:
        assert write(fold(parse_reward(text, values=["n"]), {"n": 3})) == folded
    guards = [("a & n > 2", "a"), ("a | n > 2", "true"), ("!(n == 3)", "false"), ("d(a) < n", "d(a) < 3")]
    for text, folded in guards:
        assert write(fold(parse_guard(text, values=["n"]), {"n": 3})) == folded


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        *((line, f"3: {message}") for line, message in DECLARED),
        *((f"{line}\nu0 -> {edge}", f"4: .*{message}") for line, edge, message in EDGES),
        *WHOLE_TEXTS,
    ],
)
def test_what_is_wrong_is_said_in_one_line(lines, message):
    with pytest.raises(MachineError, match=message) as caught:
        RewardMachine.parse(HEAD + lines, "m.rm")
    assert str(caught.value).startswith("m.rm:") and "\n" not in str(caught.value)


def test_too_many_states_name_the_variable_that_costs_most():
    edges = "u0 -> done when a\nu0 -> u0 when b reward t do n += 1\nu0 -> u0 otherwise reward t\n"
    unrolled_to = (
        r":4: unrolled, the machine has 3994 states; at most 1024 .* clock t 0\.\.999 costs most; shorten its range"
    )
    with pytest.raises(MachineError, match=unrolled_to):
        RewardMachine.parse(
            HEAD + "count n 0..3 saturate\nclock t 0..999\n" + edges.replace("done when a", "done when a & n < 3")
        )
    with pytest.raises(MachineError, match=r":4: .* more than 32768 pairs of a state and values.* costs most"):
        RewardMachine.parse(HEAD + "count n 0..300 saturate\nclock t 0..900\n" + edges)


def test_the_linter_reads_drafts_and_names_comparisons_that_always_hold():
    faulty = read(HEAD + "count n 0..3\nu0 -> u0 when a do n += 1\nu0 -> done when b\n", "m.rm")
    (finding,) = lint(faulty)
    assert finding.kind == "structure" and "takes n to 4" in finding.message
    grid = GridMap.parse("XXXXXX\nXA abX\nXXXXXX\n")
    (finding,) = [one for one in lint(deadline(5), grid) if one.kind == "clock"]
    assert "t <= 5 always holds: clock t 0..5 stays at 5, which is '5 or more'" in finding.message
    assert not [one for one in lint(deadline(5, top=6), grid) if one.kind == "clock"]


def test_machines_made_by_programs_are_checked_too():
    draft = read(DEADLINE.format(k=3, top=3), "m.rm")
    with pytest.raises(MachineError, match="not unrolled; make the machine with from_draft"):
        RewardMachine(**{name: getattr(draft, name) for name in draft.__dataclass_fields__})
    assert RewardMachine.from_draft(draft) == deadline(3)


def test_a_run_on_a_machine_with_clocks_survives_its_file(tmp_path):
    problem = compile(GridMap.parse("XXXXXX\nXA abX\nXXXXXX\n"), deadline(3))
    run = train(problem, "crm", steps=2000)
    run.save(tmp_path / "run.npz")
    again = load_run(tmp_path / "run.npz")
    assert again.states == run.states and run.greedy_length == 3
