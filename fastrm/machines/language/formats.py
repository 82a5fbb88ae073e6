"""Text formats of reward machines, told apart by content: our own and the reference implementation's."""

from __future__ import annotations

from fastrm.errors import MachineError
from fastrm.machines.language import reference_format, rm_format
from fastrm.machines.language.draft import Draft
from fastrm.machines.language.tokens import statements
from fastrm.textfile import decode_text

MAX_LINE = 10_000


def read(text: str, source: str) -> Draft:
    """Read a machine in whichever format the text is written, told apart by its content."""
    if "\0" in text:
        decode_text(b"\0", source, MachineError)
    if not any(statements(text)):
        raise MachineError(f"{source}: empty; a machine needs a start state and edges")
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE:
            raise MachineError(f"{source}:{number}: longer than {MAX_LINE} characters; give one statement a line")
    if reference_format.recognises(text):
        return reference_format.read(text, source)
    return rm_format.read(text, source)
