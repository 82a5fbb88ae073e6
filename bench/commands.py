"""The commands of the shell: what each is for, and examples of its use."""

from __future__ import annotations

from typing import NamedTuple

MODULE, SCRIPT = "python -m fastrm.bench", "fastrm"
"""The two ways to start the program."""
EXIT_CODES = """\
exit codes:
  0 done   1 runs failed, or check --fail   2 bad arguments or input
  3 interrupted, finished runs are saved   130 killed by a second Ctrl-C
"""


class Command(NamedTuple):
    """What help says of a command; the module of the same name adds the arguments and runs."""

    group: str
    purpose: str
    examples: tuple[tuple[str, str], ...]
    """Words after the program's name, and what they do."""
    notes: str = ""
    """What else there is to know before the first use."""


_RUN, _READ, _LOOK, _COMPARE = "run experiments", "read results", "study one map and one task", "compare and measure"

COMMANDS = {
    "reproduce": Command(
        _RUN,
        "run the paper's experiment, draw its figures and judge its claims",
        (
            ("reproduce", "all of it; results in results/paper.h5"),
            ("reproduce --maps 3 --out small.h5", "a smaller version"),
            ("reproduce --dry-run", "how many runs, how long, how large"),
        ),
        "This is 'run paper --report'. Started again, it goes on where it stopped.",
    ),
    "run": Command(
        _RUN,
        "run an experiment, or go on with one that was interrupted",
        (
            ("run --list", "the suites that come with fastrm"),
            ("run quick --report", "results in results/quick.h5, report in results/quick/"),
            ("run my.toml -j 4 --out my.h5", "your own experiment, with four workers"),
            ("run my.toml --learner mine.py", "with a learner of your own, which mine.py registers"),
            ("run quick --shard 2/8", "one part of eight; join the parts with 'merge'"),
        ),
        "Runs that the result file already holds are not computed again.",
    ),
    "merge": Command(
        _RUN,
        "join the result files of shards into one",
        (("merge part-1.h5 part-2.h5 --out whole.h5", "runs that occur twice must be identical"),),
    ),
    "info": Command(
        _READ,
        "show what a result file holds and where it came from",
        (("info results/quick.h5", "as a table"), ("info results/quick.h5 --json", "everything, for programs")),
    ),
    "claims": Command(
        _READ,
        "judge the paper's claims by a result file, and say why",
        (
            ("claims results/paper.h5", "one file, in detail"),
            ("claims results/paper.h5 results/paper-clean.h5", "verdicts side by side"),
        ),
    ),
    "findings": Command(
        _READ,
        "tell how often and how fast kinds of reward lead to shortest paths",
        (("findings results/beyond.h5", "tables in Markdown"),),
    ),
    "plot": Command(
        _READ,
        "draw the figures of a result file, and write a summary as CSV",
        (("plot results/quick.h5", "files in results/quick/"), ("plot results/quick.h5 --text", "curves as text")),
    ),
    "report": Command(
        _READ,
        "show claims, curves, tables and runs of a file on a web page",
        (("report results/quick.h5 --out quick.html", "one file that needs no network"),),
    ),
    "replay": Command(
        _READ,
        "make a run of a result file again and show what it learned",
        (
            ("replay results/quick.h5 --worst crm-num a --out x.png", "a picture of the worst run"),
            ("replay results/quick.h5 --run 12 --out run.gif", "a film; also .npz (tables) and .html (a page)"),
        ),
    ),
    "check": Command(
        _LOOK,
        "decide exactly whether optimal policies take shortest paths",
        (
            ("check 1a1b1c a-b-c --kind numeric --seed 8", "a generated map and a task"),
            ("check my.map my.rm --gamma 0.99", "a map and a machine from files"),
            ("check my.map my.rm --fail || echo misleading", "for scripts"),
        ),
        "Only --learn trains. With --fail, any verdict but 'shortest' gives code 1.",
    ),
    "explain": Command(
        _LOOK,
        "show a map, a machine and what is learned on a web page",
        (
            ("explain 1a1b1c a-b-c --size 15 --out page.html", "the optimal policy, to be looked at in a browser"),
            ("explain my.map my.rm --learn crm --out page.html", "what CRM learned, beside the optimum"),
        ),
        "The page is one file and needs no network.",
    ),
    "draw": Command(
        _LOOK,
        "draw a machine, a map, or a learned policy",
        (
            ("draw --machine a-b-c --kind numeric --out machine.svg", "a machine as a graph"),
            ("draw --map 2a2b2c --seed 3 --out map.png", "a map"),
            ("draw --map 1a1b --machine a-b --learn crm --out x.gif", "an episode after learning"),
        ),
    ),
    "play": Command(
        _LOOK,
        "walk a map with the arrow keys; see label, machine state and reward",
        (("play 1a1b a-b --size 9 --kind numeric", "arrow keys move, r begins again, q leaves"),),
    ),
    "parity": Command(
        _COMPARE,
        "compare curves and optima with the reference implementation's",
        (("parity --reference DIR", "DIR holds the published data"),),
        "The exit code is 1 where a comparison rejects equality.",
    ),
    "speed": Command(
        _COMPARE,
        "measure steps per second of every kernel, beside C and plain Python",
        (("speed", "under two minutes"), ("speed --out speed.json", "also write the figures")),
    ),
}


def examples(name: str, program: str) -> str:
    """Return the end of a command's help."""
    command = COMMANDS[name]
    lines = [f"  {program} {words}\n      {meaning}" for words, meaning in command.examples]
    return "\n".join([*([command.notes, ""] if command.notes else []), "examples:", *lines])


def overview(program: str) -> str:
    """Return the help of the whole program."""
    groups: dict[str, str] = {}
    for name, command in COMMANDS.items():
        groups[command.group] = groups.get(command.group, "") + f"  {name:10} {command.purpose}\n"
    listed = "".join(f"\n{group}:\n{lines}" for group, lines in groups.items())
    alone = "runs 'reproduce'" if program == MODULE else "shows this help"
    return (
        f"usage: {program} COMMAND [options]\n\n"
        f"Reward machines: exact answers about rewards, and fast learning on all cores.\n{listed}"
        f"\noptions:\n  -h, --help  show this help\n  --version   show the version\n\n"
        f"start with:\n  {program} run quick --report\n      a small experiment, done in seconds\n"
        f"  {program} reproduce\n      the paper's experiment\n\n"
        f"'{program} COMMAND --help' explains a command.\n'{program}' alone {alone}.\n\n{EXIT_CODES}"
    )
