"""Everything that is jitted: integers and arrays in, integers and arrays out.

Imported as ``fastrm.kernels``. No module here imports the rest of fastrm; ``fastrm.problems`` is the way in.
"""

if __name__ != "fastrm.kernels":
    raise ImportError(f"these kernels belong to fastrm: import fastrm.kernels, not {__name__}")

import importlib
import pkgutil

from fastrm.kernels import _folder, _jit

compile_lock, jit, part = _folder.compile_lock, _jit.jit, _jit.part

with _jit.house_cache():  # every module of this folder, so that the machine code of none is made anew in each process
    for _module in pkgutil.walk_packages(__path__, "fastrm.kernels."):
        importlib.import_module(_module.name)
