"""Texts of variable length lie in heaps; a heap that leads nowhere would keep HDF5 busy for ever."""

import struct

import pytest

from fastrm import ConfigError, StoreError, load, run
from fastrm.experiments import merge
from fastrm.results.hdf5 import seal, unseal

from tiny_experiment import experiment

HEAP = b"GCOL\x01"


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "tiny.h5"
    run(experiment(), path)
    return bytearray(unseal(path.read_bytes(), str(path)))


def last_object(image, begin):
    """Return the place of the space that is left in a heap."""
    place = begin + 16
    while (head := struct.unpack_from("<H6xQ", image, place))[0]:
        place += 16 + -(-head[1] // 8) * 8
    return place


@pytest.mark.parametrize(
    ("what", "sizes"),
    [("space", (0, 8, 2**40, 2**64 - 1)), ("object", (2**40, 2**64 - 1)), ("heap", (0, 8, 2**40, 2**64 - 1))],
)
def test_a_heap_that_does_not_add_up_is_refused(what, sizes, image, tmp_path):
    begin = image.index(HEAP)
    place = {"space": last_object(image, begin) + 8, "object": begin + 24, "heap": begin + 8}[what]
    for size in sizes:
        struct.pack_into("<Q", image, place, size)
        (tmp_path / "bad.h5").write_bytes(seal(bytes(image)))
        refused = "cannot be read" if what == "heap" else r"damaged \(the heap of its texts at byte \d+ does not add up"
        with pytest.raises(StoreError, match=refused):
            load(tmp_path / "bad.h5")


def test_names_that_no_file_can_have_are_refused(tmp_path):
    run(experiment(), tmp_path / "tiny.h5")
    for refuse in (lambda: run(experiment(), "\ud800.h5"), lambda: merge([tmp_path / "tiny.h5"], "\ud800.h5")):
        with pytest.raises(ConfigError, match="must be the name of a file"):
            refuse()
