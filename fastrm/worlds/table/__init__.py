"""Worlds of any shape: given by tables, and read from files."""

from fastrm.worlds.table.labels import RESERVED
from fastrm.worlds.table.texts import (
    check_layout_of,
    count_starts,
    holds_table,
    layout_of,
    load_world,
    read_world,
    write_world,
)
from fastrm.worlds.table.world import TableWorld

__all__ = [
    "RESERVED", "TableWorld", "check_layout_of", "count_starts", "holds_table", "layout_of", "load_world",
    "read_world", "write_world",
]  # fmt: skip
