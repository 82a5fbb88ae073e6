"""Studies of result files: claims, findings, and coupled learning. Only the last trains."""

from .claim import Case, Claim, Share, format_p, worst
from .claims import judge

__all__ = ["Case", "Claim", "Share", "format_p", "judge", "worst"]
