"""The measurements behind ``speed``: kernels beside C and the oracle, growth, workers, environments."""

from fastrm.bench.measure.kernels import everything

__all__ = ["everything"]
