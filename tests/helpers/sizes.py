"""How much of a heavy sweep runs: all of it with FASTRM_FULL=1, else a part that takes seconds."""

import os

FULL = bool(os.environ.get("FASTRM_FULL"))


def either(full, short):
    """Return the first with FASTRM_FULL=1, else the second."""
    return full if FULL else short
