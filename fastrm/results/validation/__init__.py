"""Nothing in a result file is believed: anyone can compute its checksum.

`heaps` looks at the heaps of texts before HDF5 sees the file, `structure` at types, shapes and storage before HDF5
reads any data, `attributes` at what a file says of itself, `values` at what was read. Each raises one `StoreError` that
names the file, the variable and what is wrong.
"""

from fastrm.results.validation.attributes import read_attributes, read_schema
from fastrm.results.validation.heaps import check_heaps
from fastrm.results.validation.structure import check_dataset
from fastrm.results.validation.values import check_column, check_coordinates, check_numbers

__all__ = [
    "check_column", "check_coordinates", "check_dataset", "check_heaps", "check_numbers", "read_attributes",
    "read_schema",
]  # fmt: skip
