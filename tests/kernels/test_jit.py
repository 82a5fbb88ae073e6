"""The decorator of kernels works with versions of Numba that lack its private options."""

import os
import subprocess
import sys

SCRIPT = """
from numba.core.cpu import CPUTargetOptions
{change}
import numpy as np
from fastrm.kernels.exact import search
rows, distance = np.arange(5), np.zeros(5, np.int32)
search.manhattan(rows, rows, rows[:1], rows[:1], distance)
print(distance.tolist())
"""


def output(change):
    """Return what a kernel computes in a process without cache, after a change to Numba."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(change=change)],
        env={**os.environ, "FASTRM_CACHE_DIR": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_compile_where_numba_lacks_the_option_that_turns_reference_counts_off():
    assert output("del CPUTargetOptions.__bases__[0]._nrt") == output("") == "[0, 2, 4, 6, 8]\n"
