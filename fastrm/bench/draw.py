"""``draw``: a machine, a map, or what a learner makes of both, as a picture or as text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastrm.bench.inputs import add_settings, read_machine, read_map
from fastrm.errors import ConfigError, printable
from fastrm.learners import registry

TEXT_FORMS = ("svg", "dot", "mmd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c (see --kind)")
    parser.add_argument("--map", metavar="MAP", help="a map file, or a setup such as 1a1b1c (see --size, --seed)")
    parser.add_argument(
        "--learn", choices=registry.names(), help="with both: train, then draw policy, values and visits"
    )
    parser.add_argument(
        "--steps", type=int, default=2_000_000, metavar="N", help="steps of --learn (default 2 million)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE",
        help="picture.png, .pdf or .svg; for a machine also .dot, .mmd (Mermaid); with --learn also .gif, an episode",
    )  # fmt: skip
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw what was named."""
    form = arguments.out.suffix.removeprefix(".")
    if form not in ("png", "pdf", "gif", *TEXT_FORMS):
        raise ConfigError(f"--out {arguments.out}: must end in .png, .pdf, .svg, .gif, .dot or .mmd")
    if form == "gif" and not arguments.learn:
        raise ConfigError(f"--out {arguments.out}: an animation shows a learned episode; add --learn")
    if arguments.learn and not (arguments.map and arguments.machine):
        raise ConfigError("--learn needs --map and --machine")
    if arguments.map and arguments.machine and not arguments.learn:
        raise ConfigError("--map and --machine together need --learn; or draw one at a time")
    if arguments.machine and not arguments.map:
        _draw_machine(arguments, form)
    elif arguments.map:
        _draw_on_map(arguments, form)
    else:
        raise ConfigError("name --machine, --map, or both with --learn")
    sys.stdout.write(f"{printable(str(arguments.out))}\n")
    return 0


def _draw_machine(arguments: argparse.Namespace, form: str) -> None:
    from fastrm.pictures import draw_machine, save, to_dot, to_mermaid, to_svg

    machine = read_machine(arguments)
    if form in TEXT_FORMS:
        text = {"svg": to_svg, "dot": to_dot, "mmd": to_mermaid}[form](machine)
        try:
            arguments.out.write_text(text)
        except OSError as problem:
            raise ConfigError(f"{arguments.out}: cannot be written: {problem.strerror or problem}") from None
        return
    save(draw_machine(machine), arguments.out)


def _draw_on_map(arguments: argparse.Namespace, form: str) -> None:
    from fastrm.pictures import draw_learning, draw_maps, save, save_episode

    if form in ("dot", "mmd"):
        raise ConfigError(f"--out {arguments.out}: {form} is for machines; a map is drawn as png, pdf or svg")
    grid = read_map(arguments)
    if not arguments.learn:
        save(draw_maps([(Path(arguments.map).stem, grid)]), arguments.out)
        return
    from fastrm.learners import train
    from fastrm.problems import compile

    problem = compile(grid, read_machine(arguments), arguments.profile, arguments.metric)
    trained = train(problem, arguments.learn, steps=arguments.steps)
    if form == "gif":
        save_episode(problem, trained.greedy_path, arguments.out)
    else:
        save(draw_learning(problem, trained), arguments.out)
