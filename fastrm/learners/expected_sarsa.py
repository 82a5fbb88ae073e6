"""Expected SARSA: SARSA with the mean over the next action in place of one sample of it.

After every step from (s, u) by a to (s', u') that paid r, one update::

    V            = epsilon mean_b Q(s', u', b) + (1 - epsilon) max_b Q(s', u', b)
    Q(s, u, a)  <- Q(s, u, a) + alpha (r + gamma V - Q(s, u, a))

with Q = 0 in every terminal. Laid out as QRM's table.
"""

from __future__ import annotations

from fastrm.kernels.contracts import Setting, Span, State
from fastrm.kernels.learners import sarsa
from fastrm.learners.qrm import Qrm


class ExpectedSarsa(Qrm):
    """QRM's table with the mean of the next values as target."""

    name = "expected-sarsa"
    semantics = 1

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        sarsa.run_expected(setting, state, span)


LEARNER = ExpectedSarsa()
