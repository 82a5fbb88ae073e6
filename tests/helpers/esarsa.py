"""A learner that does not come with fastrm: expected SARSA. Its kernel, this file, and `register` are all it takes."""

from fastrm.custom import Qrm

from esarsa_kernel import run


class ExpectedSarsa(Qrm):
    """QRM's table with another target."""

    name = "esarsa"
    semantics = 1
    settings = ("alpha", "q_init")
    kernel = staticmethod(run)
