"""SARSA: learn the value of the policy that is followed, exploration included. Expected SARSA: its mean.

After every step from (s, u) by a to (s', u') that paid r, SARSA chooses the next action a', and then makes one update::

    Q(s, u, a)  <- Q(s, u, a) + alpha (r + gamma Q(s', u', a') - Q(s, u, a))

with Q = 0 in every terminal. The next step takes a'. It is chosen before the update. At the step limit an a' is drawn
for the target alone where the profile bootstraps there; the next episode chooses again. Expected SARSA has the mean
over the next action in place of one sample of it::

    V            = epsilon mean_b Q(s', u', b) + (1 - epsilon) max_b Q(s', u', b)
    Q(s, u, a)  <- Q(s, u, a) + alpha (r + gamma V - Q(s, u, a))

Both are laid out as QRM's table.
"""

from __future__ import annotations

from fastrm.kernels.learners import sarsa
from fastrm.learners.qrm import Qrm


class Sarsa(Qrm):
    """QRM's table with the value of the next action as target."""

    name = "sarsa"
    semantics = 1
    kernel = staticmethod(sarsa.run)


class ExpectedSarsa(Qrm):
    """QRM's table with the mean of the next values as target."""

    name = "expected-sarsa"
    semantics = 1
    kernel = staticmethod(sarsa.run_expected)
