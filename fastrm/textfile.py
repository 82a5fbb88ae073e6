"""Reading the small text files that people write (maps, machines, experiments), and writing files whole."""

from __future__ import annotations

import contextlib
import os
import stat
import tomllib
from pathlib import Path
from typing import Any, BinaryIO

from fastrm.errors import ConfigError, FastrmError, printable, shown

MAX_BYTES = 128 * 1024 * 1024  # a 10 000 x 10 000 map still fits

MAX_PATH, MAX_NAME = 4096, 255  # bytes, as most systems have it


def read_text(path: str | Path, error: type[FastrmError], at_most: int = MAX_BYTES) -> str:
    """Return the text of a file, or raise `error` with one line that names the file and the cure."""
    name = printable(check_path(path, error))
    try:
        with open_regular(path, error, "a text file") as file:
            data = file.read(at_most + 1)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise error(f"{name}: cannot be read: {reason}") from None
    if len(data) > at_most:
        raise error(f"{name}: larger than {at_most // 2**20} MiB; give a text file")
    return decode_text(data, name, error)


def read_toml(path: str | Path, at_most: int = MAX_BYTES) -> dict[str, Any]:
    """Return the contents of a TOML file; raise ConfigError with one line that names the file and the place."""
    text, name = read_text(path, ConfigError, at_most), printable(str(path))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: too deeply nested") from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{name}: not TOML: {problem}") from None
    except ValueError:  # the one that tomllib lets through
        raise ConfigError(f"{name}: a number has more digits than Python reads; write a smaller one") from None


def check_path(path: object, error: type[FastrmError]) -> str:
    """Return a path as text; raise `error` if no file can have it."""
    if not isinstance(path, str | Path):
        raise error(f"{shown(path)}: not a file name; give a text or a Path")
    if "\0" in str(path) or not str(path):
        raise error(f"{shown(str(path))}: not a file name; it is empty or holds a NUL")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        raise error(f"{shown(str(path))}: not a file name; it holds characters that no file name can") from None
    if length > MAX_PATH:
        raise error(f"{shown(str(path))}: not a file name; it is longer than {MAX_PATH} bytes")
    if any(len(os.fsencode(part)) > MAX_NAME for part in Path(path).parts):
        raise error(f"{shown(str(path))}: not a file name; a name in it is longer than {MAX_NAME} bytes")
    return str(path)


def exists(path: str | Path) -> bool:
    """Return whether a file exists; False for names that no file can have."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def open_regular(path: str | Path, error: type[FastrmError], wanted: str) -> BinaryIO:
    """Open a regular file for reading; a pipe would make the reader wait, and a device never ends."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise error(f"{printable(str(path))}: a folder, pipe or device; give {wanted}")
    return os.fdopen(number, "rb")


def decode_text(data: bytes, source: str, error: type[FastrmError]) -> str:
    """Decode UTF-8 text; raise `error` if it is too large or binary."""
    if len(data) > MAX_BYTES:
        raise error(f"{source}: larger than {MAX_BYTES // 2**20} MiB; give a text file")
    if b"\0" in data:
        raise error(f"{source}: a binary file (it holds NUL bytes); give a text file")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{source}:{line}: not UTF-8 text; save the file as UTF-8") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def replace_file(path: str | Path, data: bytes, error: type[FastrmError]) -> None:
    """Write a file whole or not at all, replacing one of the same name; raise `error` when that cannot be done."""
    target = Path(check_path(path, error))
    beside = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as problem:
        with contextlib.suppress(OSError):
            beside.unlink()
        reason = problem.strerror or problem
        raise error(f"{printable(str(path))}: cannot be written: {reason}; choose another file") from None
