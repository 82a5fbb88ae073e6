"""The heaps of a file, in which HDF5 keeps texts of variable length, before HDF5 walks them.

A heap begins with ``GCOL``, its version and its size. Objects follow, each with its number and size; number 0 is the
space that is left. HDF5 goes from object to object by their sizes and would never come to an end at a size of 0.
"""

from __future__ import annotations

import struct

from fastrm.errors import StoreError

_HEAP = b"GCOL\x01"
_HEADER = 16  # bytes before the first object, and before the data of each
_SMALLEST = 4096  # HDF5 refuses a smaller heap by itself, and one beyond the end of the file


def check_heaps(image: bytes, source: str) -> None:
    """Refuse a file with a heap that does not lead from its beginning to its end."""
    begin = image.find(_HEAP)
    while begin >= 0:
        if not _is_whole(image, begin):
            raise StoreError(f"{source}: damaged (the heap of its texts at byte {begin} does not add up)")
        begin = image.find(_HEAP, begin + len(_HEAP))


def _is_whole(image: bytes, begin: int) -> bool:
    size = struct.unpack_from("<Q", image, begin + 8)[0] if begin + _HEADER <= len(image) else 0
    place, end = begin + _HEADER, begin + size
    if size < _SMALLEST or end > len(image):  # no heap, but five bytes of compressed data that look like one
        return True
    while place + _HEADER <= end:
        number, size = struct.unpack_from("<H6xQ", image, place)
        step = _HEADER + -(-size // 8) * 8 if number else size  # the space that is left counts its own header
        if step < _HEADER or place + step > end:
            return False
        place += step
    return True
