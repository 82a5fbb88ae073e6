"""Learners from Python files that somebody names on the command line.

Such a file is run, so only a person may name it: no result file and no experiment file does. Worker processes load the
same file, and refuse one whose content is another.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from fastrm.errors import ConfigError, FastrmError, place, printable
from fastrm.learners import registry
from fastrm.textfile import check_path

_loaded: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {}
"""Content, as a hash, of every file, and its learners with the file and class of each."""


def load_file(path: str | Path) -> tuple[str, ...]:
    """Run a Python file that registers learners; return their names. A file is run once, however often it is named.

    Modules beside the file can be imported by it.

    Raises
    ------
    ConfigError
        When it cannot be read, raises something (with its line), or registers nothing.
    """
    file = Path(check_path(path, ConfigError))
    shown_as = printable(str(path))
    if file.suffix != ".py":
        raise ConfigError(f"{shown_as}: must be a Python file, such as my_learner.py")
    try:
        file, content = file.resolve(), hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError as problem:
        raise ConfigError(f"{shown_as}: cannot be read: {problem.strerror or problem}") from None
    known = _loaded.get(str(file))
    if known is not None and set(known[1]) <= set(registry.names()):
        if known[0] != content:
            raise ConfigError(f"{shown_as}: has changed since this process loaded it; start the process again")
        return tuple(known[1])
    before = registry.known()
    _run(file, shown_as)
    names = tuple(name for name, learner in registry.known().items() if before.get(name) is not learner)
    if not names:
        raise ConfigError(f"{shown_as}: registers no learner; let it call fastrm.register(MyLearner())")
    _loaded[str(file)] = content, {name: registry.origin(registry.known()[name]) for name in names}
    return names


def loaded_files() -> tuple[tuple[str, str], ...]:
    """Return the path of every file whose learners are in use, and a hash of its content, for `load_again`."""
    known = registry.known()
    return tuple(
        (path, content)
        for path, (content, homes) in _loaded.items()
        if all(name in known and registry.origin(known[name]) == home for name, home in homes.items())
    )


def load_again(files: Iterable[tuple[str, str]]) -> None:
    """Load files that another process has loaded.

    Raises
    ------
    ConfigError
        When a file is not there, or not the same.
    """
    for path, content in files:
        try:
            load_file(path)
        except ConfigError as problem:
            raise ConfigError(f"a worker cannot load the learner: {problem}") from None
        if _loaded[path][0] != content:
            raise ConfigError(f"a worker cannot load the learner: {path} is another file there, or has changed")


def _run(file: Path, shown_as: str) -> None:
    name = f"{registry.FROM_FILE}{len(_loaded)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{shown_as}: cannot be loaded as a Python file")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as for any module, while it is run
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # last, so that it hides no module of ours
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # whatever a foreign file raises, or that it leaves
        del sys.modules[name]
        line = _line_of(problem, file)
        reason = str(problem) if isinstance(problem, FastrmError) else f"{type(problem).__name__}: {_message(problem)}"
        raise ConfigError(f"{place(shown_as, line)}{' '.join(printable(reason).split())[:300]}") from None


def _message(problem: BaseException) -> str:
    return problem.msg if isinstance(problem, SyntaxError) else str(problem)


def _line_of(problem: BaseException, file: Path) -> int | None:
    """Return the line of a file at which something was raised, None where it was elsewhere."""
    if isinstance(problem, SyntaxError) and problem.filename == str(file):
        return problem.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None
