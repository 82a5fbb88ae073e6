"""SARSA: learn the value of the policy that is followed, exploration included.

After every step from (s, u) by a to (s', u') that paid r, the next action a' is chosen, and then one update::

    Q(s, u, a) <- Q(s, u, a) + alpha (r + gamma Q(s', u', a') - Q(s, u, a))

with Q = 0 in every terminal. The next step takes a'. It is chosen before the update. At the step limit an a' is drawn
for the target alone where the profile bootstraps there; the next episode chooses again. Laid out as QRM's table.
"""

from __future__ import annotations

from fastrm.kernels.contracts import Setting, Span, State
from fastrm.kernels.learners import sarsa
from fastrm.learners.qrm import Qrm


class Sarsa(Qrm):
    """QRM's table with the value of the next action as target."""

    name = "sarsa"
    semantics = 1

    def advance(self, setting: Setting, state: State, span: Span) -> None:
        """Call the kernel."""
        sarsa.run(setting, state, span)


LEARNER = Sarsa()
