"""Studies of result files: claims, findings, parity with the reference, Water world. Only parity trains."""

from .claim import Case, Claim, Share, format_p, worst
from .claims import judge

__all__ = ["Case", "Claim", "Share", "format_p", "judge", "worst"]
