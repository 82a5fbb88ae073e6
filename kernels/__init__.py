"""Everything that is jitted: integers and arrays in, integers and arrays out.

Imported as ``fastrm.kernels``. No module here imports the rest of fastrm; ``fastrm.problems`` is the way in.
"""

if __name__ != "fastrm.kernels":
    raise ImportError(f"these kernels belong to fastrm: import fastrm.kernels, not {__name__}")

import importlib
import pkgutil

from fastrm.kernels._cache import compile_lock
from fastrm.kernels._jit import house_cache, jit, part

__all__ = ["compile_lock", "jit", "part"]

with house_cache():  # import every module here, so that the machine code of each is kept on disk
    for _module in pkgutil.walk_packages(__path__, "fastrm.kernels."):
        importlib.import_module(_module.name)
