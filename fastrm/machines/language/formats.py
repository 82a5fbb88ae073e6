"""Text formats of reward machines, told apart by content: our own and the reference implementation's."""

from __future__ import annotations

from fastrm.errors import MachineError
from fastrm.machines.language import reference_format, rm_format
from fastrm.machines.language.draft import Draft
from fastrm.machines.language.tokens import statements
from fastrm.textfile import decode_text

MAX_TEXT = 8 * 2**20
MAX_STATEMENTS = 100_000
MAX_LINE = 10_000


def read(text: str, source: str) -> Draft:
    """Read a machine in whichever format the text is written, told apart by its content."""
    if "\0" in text:
        decode_text(b"\0", source, MachineError)
    if len(text) > MAX_TEXT:
        raise MachineError(f"{source}: longer than {MAX_TEXT // 2**20} Mi characters; give the text of a machine")
    if not any(statements(text)):
        raise MachineError(f"{source}: empty; a machine needs a start state and edges")
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            raise MachineError(f"{source}:{number}: longer than {MAX_LINE} characters; give one statement a line")
    if sum(1 for _ in statements(text)) > MAX_STATEMENTS:
        raise MachineError(f"{source}: more than {MAX_STATEMENTS} statements; split the task into smaller machines")
    if reference_format.recognises(text):
        return reference_format.read(text, source)
    return rm_format.read(text, source)
