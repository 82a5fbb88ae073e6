"""``draw``: a machine, a map, or what a learner makes of both, as a picture or as text."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fastrm.checks import check_number, check_whole
from fastrm.errors import ConfigError

from .console import print_path, writing
from .inputs import add_episodes, add_learning, add_settings, compile_problem, read_machine, read_map, train_learner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT_FORMS = ("svg", "dot", "mmd")
MAX_WIDTH, MAX_DPI = 40, 1200
MAX_SIDE, MAX_PIXELS = 1 << 16, 200_000_000
""".png: pixels of a side, which the format's library limits, and of the whole, 800 MB while it is drawn."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--machine", metavar="MACHINE", help="a machine file, or a task such as a-b-c (see --kind)")
    parser.add_argument("--map", metavar="MAP", help="a map file, or a setup such as 1a1b1c (see --size, --seed)")
    parser.add_argument(
        "--unrolled", action="store_true", help="a machine with clocks or counts: every state that it is unrolled into"
    )
    add_learning(parser, "with both: train, and draw what was learned")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE",
        help="picture.png, .pdf or .svg; for a machine also .dot, .mmd (Mermaid); with --learn also .gif, an episode",
    )  # fmt: skip
    parser.add_argument("--width", type=float, metavar="INCHES", help="width of a .png, .pdf or .svg")
    parser.add_argument("--dpi", type=int, metavar="N", help="dots per inch of a .png (default 200)")
    add_settings(parser)
    add_episodes(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw what was named."""
    form = arguments.out.suffix.removeprefix(".")
    if form not in ("png", "pdf", "gif", *TEXT_FORMS):
        raise ConfigError(f"--out {arguments.out}: must end in .png, .pdf, .svg, .gif, .dot or .mmd")
    _check_size(arguments, form)
    if form == "gif" and not arguments.learn:
        raise ConfigError(f"--out {arguments.out}: an animation shows a learned episode; add --learn")
    if arguments.unrolled and (arguments.map or not arguments.machine):
        raise ConfigError("--unrolled: is for --machine alone; leave it out")
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
    print_path(arguments.out)
    return 0


def _check_size(arguments: argparse.Namespace, form: str) -> None:
    """Raise ConfigError for a size that a picture cannot have."""
    if arguments.width is not None and form not in ("png", "pdf", "svg"):
        raise ConfigError(f"--width: is for .png, .pdf and .svg, not for {arguments.out}; leave it out")
    if arguments.dpi is not None and form != "png":
        raise ConfigError(f"--dpi: is for .png, not for {arguments.out}; leave it out")
    if arguments.width is not None:
        check_number("--width", arguments.width, 4 if arguments.learn else 1, MAX_WIDTH)
    if arguments.dpi is not None:
        check_whole("--dpi", arguments.dpi, 20, MAX_DPI)


def _save(figure: Figure, arguments: argparse.Namespace) -> None:
    """Write a figure, unless it would be larger than image viewers bear."""
    from fastrm.plots import DPI, save

    wide, high = (round(inches * (arguments.dpi or DPI)) for inches in figure.get_size_inches())
    if arguments.out.suffix == ".png" and (max(wide, high) >= MAX_SIDE or wide * high > MAX_PIXELS):
        cure = "take a smaller --width or --dpi, or a .pdf"
        raise ConfigError(f"--out {arguments.out}: would have {wide} x {high} pixels; {cure}")
    save(figure, arguments.out, arguments.dpi)


def _draw_machine(arguments: argparse.Namespace, form: str) -> None:
    from fastrm.plots import draw_machine, to_dot, to_mermaid, to_svg

    machine = read_machine(arguments)
    if form in TEXT_FORMS:
        if form == "svg":
            text = to_svg(machine, arguments.width, arguments.unrolled)
        else:
            text = {"dot": to_dot, "mmd": to_mermaid}[form](machine, arguments.unrolled)
        with writing(arguments.out):
            arguments.out.write_text(text)
    else:
        _save(draw_machine(machine, arguments.width, arguments.unrolled), arguments)


def _draw_on_map(arguments: argparse.Namespace, form: str) -> None:
    from fastrm.plots import draw_learning, draw_world, save_episode

    if form in ("dot", "mmd"):
        raise ConfigError(f"--out {arguments.out}: {form} is for machines; a map is drawn as png, pdf or svg")
    if not arguments.learn:
        _save(draw_world(read_map(arguments), Path(arguments.map).stem, arguments.width), arguments)
        return
    problem = compile_problem(arguments)
    run = train_learner(problem, arguments)
    if form == "gif":
        save_episode(problem, run.greedy_path, arguments.out, actions=run.path_actions(problem))
    else:
        _save(draw_learning(problem, run, width=arguments.width), arguments)
