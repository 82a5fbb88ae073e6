"""Reading the small text files people write by hand: maps and machines."""

from __future__ import annotations

from pathlib import Path

from fastrm.errors import FastrmError

MAX_BYTES = 128 * 1024 * 1024  # a 10 000 x 10 000 map still fits


def read_text(path: str | Path, error: type[FastrmError]) -> str:
    """Return the text of a file, or raise `error` with one line that names the file and the cure."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise error(f"{path}: cannot be read: {reason}") from None
    except (TypeError, ValueError) as problem:  # no path at all, or a NUL byte in it
        raise error(f"{path!r}: not a file name: {problem}") from None
    return decode_text(data, str(path), error)


def decode_text(data: bytes, source: str, error: type[FastrmError]) -> str:
    """Decode UTF-8 text; refuse what is too large or binary."""
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
