"""Everything that is jitted: integers and arrays in, integers and arrays out.

Imported as ``fastrm.kernels``. No module here imports the rest of fastrm; ``fastrm.problems.compiler`` is the way in.
"""

if __name__ != "fastrm.kernels":
    raise ImportError(f"these kernels belong to fastrm: import fastrm.kernels, not {__name__}")

from fastrm.kernels import _jit

compile_lock = _jit.compile_lock

with _jit.house_cache():
    from fastrm.kernels import agents, crm, dp, expected, grid, hrm, policy  # noqa: I001
    from fastrm.kernels import product, qrm, rng, rollout, simd, tables, td

__all__ = [
    "agents", "compile_lock", "crm", "dp", "expected", "grid", "hrm", "policy", "product", "qrm", "rng", "rollout",
    "simd", "tables", "td",
]  # fmt: skip
