"""``draw``: a machine, a map, or what a learner makes of both, as a picture or as text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastrm.bench.inputs import add_settings, read_machine, read_map
from fastrm.errors import ConfigError

TEXT_FORMS = ("svg", "dot", "mmd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c (see --kind)")
    parser.add_argument("--map", metavar="MAP", help="a map file, or a setup such as 1a1b1c (see --size, --seed)")
    parser.add_argument("--learn", choices=("qrm", "crm"), help="with both: train, then draw policy, values and visits")
    parser.add_argument(
        "--steps", type=int, default=2_000_000, metavar="N", help="steps of --learn (default 2 million)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE",
        help="picture.png, .pdf or .svg; for a machine also .dot, .mmd (Mermaid); with --learn also .gif, an episode",
    )  # fmt: skip
    add_settings(parser)


def run(options: argparse.Namespace) -> int:
    """Draw what was named."""
    form = options.out.suffix.removeprefix(".")
    if form not in ("png", "pdf", "gif", *TEXT_FORMS):
        raise ConfigError(f"--out {options.out}: must end in .png, .pdf, .svg, .gif, .dot or .mmd")
    if form == "gif" and not options.learn:
        raise ConfigError(f"--out {options.out}: an animation shows a learned episode; add --learn")
    if options.learn and not (options.map and options.machine):
        raise ConfigError("--learn needs --map and --machine")
    if options.map and options.machine and not options.learn:
        raise ConfigError("--map and --machine together need --learn; or draw one at a time")
    if options.machine and not options.map:
        _draw_machine(options, form)
    elif options.map:
        _draw_on_map(options, form)
    else:
        raise ConfigError("name --machine, --map, or both with --learn")
    sys.stdout.write(f"{options.out}\n")
    return 0


def _draw_machine(options: argparse.Namespace, form: str) -> None:
    from fastrm.pictures import graph, plots

    machine = read_machine(options)
    if form in TEXT_FORMS:
        text = {"svg": graph.to_svg, "dot": graph.to_dot, "mmd": graph.to_mermaid}[form](machine)
        try:
            options.out.write_text(text)
        except OSError as problem:
            raise ConfigError(f"{options.out}: cannot be written: {problem.strerror or problem}") from None
        return
    plots.save(plots.draw_machine(machine), options.out)


def _draw_on_map(options: argparse.Namespace, form: str) -> None:
    from fastrm.pictures import plots

    if form in ("dot", "mmd"):
        raise ConfigError(f"--out {options.out}: {form} is for machines; a map is drawn as png, pdf or svg")
    grid = read_map(options)
    if not options.learn:
        plots.save(plots.draw_maps([(Path(options.map).stem, grid)]), options.out)
        return
    from fastrm.learners import train
    from fastrm.pictures.animation import save_episode
    from fastrm.pictures.policies import draw_learning
    from fastrm.problems import compile

    problem = compile(grid, read_machine(options), options.profile, options.metric)
    trained = train(problem, options.learn, steps=options.steps)
    if form == "gif":
        save_episode(problem, trained.greedy_path, options.out)
    else:
        plots.save(draw_learning(problem, trained), options.out)
