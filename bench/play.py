"""``play``: walk a map with the keyboard and see label, machine state and reward."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fastrm.learners import registry
from fastrm.problems import Problem, check_tabular, slide

from .inputs import add_problem, compile_problem, train_learner

if TYPE_CHECKING:
    from fastrm.learners import Run

KEYS = {
    key: name
    for name, keys in (("up", "wk\x1b[A"), ("right", "dl\x1b[C"), ("down", "sj\x1b[B"), ("left", "ah\x1b[D"))
    for key in (keys[0], keys[1], keys[2:])
}
"""Letters, and the arrow keys as terminals send them, by the name of the action."""
HELP = "arrow keys (or w a s d, or h j k l) move{}; r begins again; q leaves"
NUMBERED = "0123456789bcefij"
"""Keys of up to 16 actions that are no moves on a grid, by number; g, q and r mean something else."""
HELP_LEARNED = "; g makes the learned move"
CLEAR = "\x1b[2J\x1b[H"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_problem(parser, "train first; key g then makes the learned move")


def run(arguments: argparse.Namespace) -> int:
    """Play until the user leaves or the input ends."""
    from fastrm.learners import check_acts_by_state

    problem = compile_problem(arguments)
    if arguments.learn:
        registry.check_name("--learn", arguments.learn)
        check_acts_by_state(arguments.learn)
        check_tabular(problem)  # elsewhere a learned move needs more than a cell and a state
    trained = train_learner(problem, arguments) if arguments.learn else None
    with keyboard():
        play(problem, read_key, sys.stdout.write, trained, CLEAR if sys.stdout.isatty() else "")
    return 0


def play(
    problem: Problem,
    read: Callable[[], str],
    write: Callable[[str], object],
    trained: Run | None = None,
    clear: str = "",
) -> None:
    """Show the episode, take a key, move; an empty key ends it. Slips and starts are drawn from one generator."""
    from fastrm.plots import show_episode

    random, (keys, usage) = np.random.default_rng(0), keys_of(problem)
    episode, total = problem.episode(start=problem.draw_start(random)), 0.0
    while True:
        write(clear + show_episode(episode))
        label, state = episode.label or "-", episode.end or episode.state
        write(f"state {state}   label {label}   reward {episode.reward:g}   sum {total:g}   step {episode.steps}\n")
        is_over = episode.terminated or episode.steps >= problem.longest_episode
        outcome = "cut off" if not episode.terminated else "success" if episode.success else "failure"
        over = f"the episode is over: {outcome}; r begins again; q leaves\n"
        write(over if is_over else f"{usage}{HELP_LEARNED if trained else ''}\n")
        key = read()
        if key in ("", "q", "\x03", "\x04"):
            return
        if key == "r":
            episode, total = problem.episode(start=problem.draw_start(random)), 0.0
        elif (key in keys or (key == "g" and trained)) and not is_over:
            action = keys[key] if key in keys or trained is None else trained.act(episode)
            episode.step(int(slide(problem, episode.place[0], np.array(action), random)))
            total += episode.reward


def keys_of(problem: Problem) -> tuple[dict[str, int], str]:
    """Return the action of every key, and how to say so: arrows where there are directions, else a key per action."""
    names = problem.actions
    if {"up", "right", "down", "left"} <= set(names):
        keys = {key: names.index(name) for key, name in KEYS.items()}
        waits = {key: names.index("none") for key in " ." if "none" in names}
        return keys | waits, HELP.format("; space waits" if waits else "")
    keys = dict(zip(NUMBERED, range(len(names)), strict=False))
    listed = ", ".join(key if names[a] == f"action {a}" else f"{key} {names[a]}" for key, a in keys.items())
    return keys, f"keys make moves: {listed}; r begins again; q leaves"


@contextmanager
def keyboard() -> Iterator[None]:
    """Let a terminal send every key at once, without a line end."""
    if not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin.fileno())
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def read_key() -> str:
    """Read one key from a terminal or a pipe, in which line ends mean nothing; an arrow is three characters."""
    key = sys.stdin.read(1)
    while key == "\n" and not sys.stdin.isatty():
        key = sys.stdin.read(1)
    return key + sys.stdin.read(2) if key == "\x1b" else key
