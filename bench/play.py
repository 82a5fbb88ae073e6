"""``play``: walk a map with the keyboard and see label, machine state and reward."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from fastrm.checks import check_choice
from fastrm.errors import ConfigError
from fastrm.learners import registry
from fastrm.problems import Problem, WaterProblem
from fastrm.worlds import DOWN, LEFT, RIGHT, UP, GridMap, layout_of

from .inputs import add_problem, compile_problem, train_learner
from .water_world import play_water

if TYPE_CHECKING:
    from fastrm.learners import Run

KEYS = {
    key: action
    for action, keys in ((UP, "wk"), (RIGHT, "dl"), (DOWN, "sj"), (LEFT, "ah"))
    for key in (*keys, f"\x1b[{'ACBD'[action]}")
}
"""Letters, and the arrow keys as terminals send them."""
HELP = "arrow keys (or w a s d, or h j k l) move; r begins again; q leaves"
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
    if arguments.learn and isinstance(problem, WaterProblem):
        raise ConfigError("--learn: learned moves cannot be played on Water world; `draw` shows the learned path")
    if arguments.learn:
        check_choice("--learn", arguments.learn, registry.names())
        check_acts_by_state(arguments.learn)
    trained = train_learner(problem, arguments) if arguments.learn else None
    with keyboard() as read:
        clear = CLEAR if sys.stdout.isatty() else ""
        if isinstance(problem, WaterProblem):
            play_water(problem, read, sys.stdout.write, clear)
        else:
            play(problem, read, sys.stdout.write, trained, clear)
    return 0


def play(
    problem: Problem,
    read: Callable[[], str],
    write: Callable[[str], object],
    trained: Run | None = None,
    clear: str = "",
) -> None:
    """Show the episode, take a key, move; an empty key ends it. Slips and starts are drawn from one generator."""
    from fastrm.plots import show
    from fastrm.problems import Episode, slide

    random, (keys, instructions) = np.random.default_rng(0), keys_of(problem)
    grid = layout_of(problem.terrain.world)

    def begin() -> Episode:
        starts = problem.tables.starts
        return Episode(problem, start=int(starts[random.integers(starts.size)] if starts.size > 1 else starts[0]))

    episode, total = begin(), 0.0
    while True:
        write(clear + (show(grid, *episode.cell) if grid else f"cell {episode.cell}\n"))
        state = episode.end or episode.state
        figures = f"reward {episode.reward:g}   sum {total:g}   step {episode.steps}"
        write(f"state {state}   label {episode.label or '-'}   {figures}\n")
        over = f"the episode is over: {'success' if episode.success else 'failure'}; r begins again; q leaves\n"
        write(over if episode.terminated else f"{instructions}{HELP_LEARNED if trained else ''}\n")
        key = read()
        if key in ("", "q", "\x03", "\x04"):
            return
        if key == "r":
            episode, total = begin(), 0.0
        elif (key in keys or (key == "g" and trained)) and not episode.terminated:
            action = keys[key] if key in keys or trained is None else trained.next_action(problem, episode.s, episode.u)
            episode.step(int(slide(problem, np.array(action), random)))
            total += episode.reward


def keys_of(problem: Problem) -> tuple[dict[str, int], str]:
    """Return the action of each key, and instructions: arrows on a map, in other worlds a key per action."""
    if isinstance(problem.terrain.world, GridMap):
        return KEYS, HELP
    names = problem.terrain.actions
    keys = dict(zip(NUMBERED, range(len(names)), strict=False))
    moves = ", ".join(key if names[a] == f"action {a}" else f"{key} {names[a]}" for key, a in keys.items())
    return keys, f"keys make moves: {moves}; r begins again; q leaves"


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """Read single keys from a terminal, or characters from a pipe."""
    if not sys.stdin.isatty():
        yield read_piped_key
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin.fileno())
        yield read_key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def read_piped_key() -> str:
    """Read one key from a pipe; line ends between keys mean nothing."""
    key = read_key()
    while key == "\n":
        key = read_key()
    return key


def read_key() -> str:
    """Read one key; an arrow is three characters."""
    key = sys.stdin.read(1)
    return key + sys.stdin.read(2) if key == "\x1b" else key
