"""The generator of all randomness: xoroshiro128++ (Blackman and Vigna), seeded by splitmix64.

Every run owns two words. One 64-bit number is drawn per decision: its upper half decides whether to explore,
its lower half which of the candidates to take.
"""

import numpy as np

from fastrm.kernels._jit import jit, part

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_17, _47, _49, _15, _21, _28, _36 = (np.uint64(k) for k in (17, 47, 49, 15, 21, 28, 36))


@part
def splitmix64(state):
    """Return the number that splitmix64 gives for an already advanced state."""
    z = (state ^ (state >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@part
def draw(rng0, rng1):
    """Return the next number and the new state of a generator."""
    total, mixed = rng0 + rng1, rng0 ^ rng1
    number = ((total << _17) | (total >> _47)) + rng0
    return number, ((rng0 << _49) | (rng0 >> _15)) ^ mixed ^ (mixed << _21), (mixed << _28) | (mixed >> _36)


@jit
def seed_runs(agents, seeds):
    """Seed the generator of every run from its 64-bit seed."""
    for i in range(seeds.size):
        me, state = agents[i], seeds[i] + _GOLDEN
        me["rng0"] = splitmix64(state)
        me["rng1"] = splitmix64(state + _GOLDEN)


@jit
def fill(rng0, rng1, out):
    """Draw numbers into `out` uint64, which is overwritten."""
    for k in range(out.size):
        out[k], rng0, rng1 = draw(rng0, rng1)
