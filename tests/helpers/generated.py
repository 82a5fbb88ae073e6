"""Tables of the reference that are written from the code, between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""

import argparse
import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields

from fastrm import Experiment, LearnerConfig, Profile
from fastrm.bench.__main__ import COMMANDS, build_parser
from fastrm.config import PROFILES, FigureConfig
from fastrm.machines import KINDS
from fastrm.machines.language.expressions import FEATURES
from fastrm.machines.reward_kinds import _ROWS as KIND_ROWS
from fastrm.problems import METRICS
from fastrm.results.schema import COORDINATES, NUMBERS, VARIABLES

from pages import DOCS

PAGES = {
    name: DOCS / "reference" / f"{name}.md" for name in ("commands", "experiment-files", "result-file", "language")
}
_PART = re.compile(r"<!-- begin (?P<name>[\w -]+) -->\n.*?<!-- end (?P=name) -->\n", re.S)
_TYPES = {
    "str": "string",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple[str, ...]": "list of strings",
    "InitVar[tuple[str, ...]]": "list of strings",
    "Mapping[str, float | str]": "table",
    "Mapping[str, str]": "table",
    "Mapping[str, Any]": "table",
    "LearnerConfig | Mapping[str, Any]": "table",
    "Metric": " or ".join(f'`"{name}"`' for name in METRICS),
}
_NUMPY = {"i": "int", "u": "uint", "f": "float"}
_COORDINATE_MEANINGS = {
    "run": "number of the run in the experiment, from 0",
    "tick": "number of the tick, from 0",
    "step": "steps made at the tick",
    "setup": "the setup of a generated map, or the name of a map file",
    "grid": "which map of the setup",
    "task": "the task, or the name of a machine file",
    "algo": "the learner: `qrm`, `crm`, `hrm`, or another that was registered",
    "kind": "the kind of reward; empty for machine files",
    "shaping": "1 if the learner shaped the rewards",
    "label": "the method, such as `crm-rs-bool`",
    "seed": "which run of the same map, task and method, from 0",
}


def refreshed(name: str, text: str) -> str:
    """Return a page with its tables written anew; a command that has no section yet gets one at the end."""
    if name == "commands":
        for command in COMMANDS:
            if f"<!-- begin {command} -->" not in text:
                text = f"{text.rstrip()}\n\n## {command}\n\n<!-- begin {command} -->\n<!-- end {command} -->\n"
    return _PART.sub(
        lambda part: f"<!-- begin {part['name']} -->\n{_render(name, part['name'])}<!-- end {part['name']} -->\n", text
    )


def parts_of(text: str) -> list[str]:
    """Return the names of the parts of a page that are written from the code."""
    return [match["name"] for match in _PART.finditer(text)]


def _render(page: str, part: str) -> str:
    if page == "commands":
        return _command(part)
    made = {"experiment": _experiment, "learner": _learner, "figure": _figure, "profiles": _profiles,
            "coordinates": _coordinates, "variables": _variables, "features": _features, "kinds": _kinds}  # fmt: skip
    return made[part]()


def _command(name: str) -> str:
    if name not in COMMANDS:
        raise ValueError(f"docs/reference/commands.md: there is no command {name}; drop its section")
    parser = build_parser(name)
    (choices,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = COMMANDS[name]
    purpose = f"{about.purpose[0].upper()}{about.purpose[1:]}. {about.notes}".strip()
    examples = _table(
        ("example", "what it does"), [(f"`{words}`", meaning) for words, meaning in about.examples.items()]
    )
    rows = [_argument(action) for action in choices[name]._actions if not isinstance(action, argparse._HelpAction)]
    return f"{purpose}\n\n{examples.strip()}\n\n{_table(('argument', 'meaning'), rows).strip()}"


def _argument(action: argparse.Action) -> tuple[str, str]:
    """Return how an argument is written, and what it means."""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    if action.choices is not None and not action.metavar:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    value = " ".join(value) if isinstance(value, tuple) else str(value)
    repeated = {"+": "...", "*": "...", "?": "", None: ""}.get(action.nargs, "")
    shown = ", ".join(f"`{flag} {value}{repeated}`".replace(" `", "`") for flag in action.option_strings)
    meaning = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    if action.default not in (None, False, argparse.SUPPRESS, [], ()) and "default" not in meaning:
        meaning += f" (default {action.default})"
    if not action.option_strings:
        shown = f"`{value}{repeated}`" + (" (optional)" if action.nargs in ("?", "*") else "")
    return shown, meaning


def _field_docs(cls: type) -> dict[str, str]:
    """Return the docstring under every field of a dataclass."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    docs: dict[str, str] = {}
    for one, after in zip(tree.body, tree.body[1:], strict=False):
        is_doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(one, ast.AnnAssign) and is_doc:
            docs[one.target.id] = " ".join(str(after.value.value).split())
    return docs


def _keys(cls: type) -> str:
    docs, rows = _field_docs(cls), []
    for one in cls.__dataclass_fields__.values():
        made = one.default if one.default_factory is MISSING else one.default_factory()
        default = "(name of the file)" if one.name == "name" else _default(made)
        rows.append((f"`{one.name}`", _type(str(one.type)), default, docs.get(one.name, "").replace("``", "`")))
    return _table(("key", "type", "default", "meaning"), rows)


def _type(annotation: str) -> str:
    bare = annotation.removesuffix(" | None")
    literal = re.fullmatch(r"Literal\[(.*)\]", bare)
    return (
        " or ".join(f"`{word.strip()}`" for word in literal[1].replace("'", '"').split(","))
        if literal
        else _TYPES.get(bare, bare)
    )


def _default(value: object) -> str:
    if value is MISSING:
        return "(must be given)"
    if value is None:
        return "(none)"
    if isinstance(value, LearnerConfig | Mapping):
        return "`{}`"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _experiment() -> str:
    return _keys(Experiment)


def _learner() -> str:
    return _keys(LearnerConfig)


def _figure() -> str:
    return _keys(FigureConfig)


def _profiles() -> str:
    docs = _field_docs(Profile)
    rows = [
        (
            f"`{one.name}`",
            docs[one.name],
            *("yes" if getattr(profile, one.name) else "no" for profile in PROFILES.values()),
        )
        for one in fields(Profile)
    ]
    return _table(("switch", "meaning", *(f"`{name}`" for name in PROFILES)), rows)


def _numpy_type(code: str) -> str:
    return f"{_NUMPY[code[0]]}{8 * int(code[1:])}" if code[0] in _NUMPY else "text"


def _coordinates() -> str:
    rows = [(f"`{name}`", "tick" if name in ("tick", "step") else "run", _numpy_type(NUMBERS.get(name, "S1")),
             _COORDINATE_MEANINGS.get(name, "")) for name in ("run", "tick", "step", *COORDINATES)]  # fmt: skip
    return _table(("coordinate", "along", "type", "meaning"), rows)


def _variables() -> str:
    rows = [
        (f"`{v.name}`", "run" if v.per == "run" else "run, tick", _numpy_type(v.dtype), v.meaning,
         "empty" if v.missing == b"" else str(v.missing).replace("nan", "NaN"))
        for v in VARIABLES
    ]  # fmt: skip
    return _table(("variable", "along", "type", "meaning", "if missing"), rows)


def _features() -> str:
    rows = [(f"`{row.written}`", "truth" if row.is_truth else "number", row.meaning) for row in FEATURES.values()]
    return _table(("feature", "gives", "meaning"), rows)


def _kinds() -> str:
    rows = [
        (f"`{row.name}`", f"`{row.short}`", row.meaning, "yes" if row.in_paper else "no")
        for row in map(KIND_ROWS.__getitem__, KINDS)
    ]
    return _table(("kind", "in names of methods", "what it pays", "in the paper"), rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table; a bar inside a cell is written so that it ends no cell and shows no backslash."""
    names = tuple(head)
    lines = [names, ("---",) * len(names), *(tuple(map(_cell, row)) for row in rows)]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def _cell(text: str) -> str:
    coded = re.sub(r"`([^`]*\|[^`]*)`", lambda code: f"<code>{re.sub('[|*_]', _entity, code[1])}</code>", text)
    return coded.replace("|", "&#124;")


def _entity(sign: re.Match[str]) -> str:
    return f"&#{ord(sign[0])};"
