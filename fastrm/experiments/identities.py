"""What a run is known by: a hash of what determines its numbers.

That is the map, the machines, the learner's semantics, and the settings that this learner reads. What others read, and
the version of fastrm, do not enter.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from fastrm.config import LearnerConfig, Profile
from fastrm.experiments.methods import Method
from fastrm.learners import registry


def identity_of(method: Method, config: LearnerConfig, profile: Profile, optimism: float | None) -> str:
    """Return what determines the numbers of a method beside map, machines, steps and seed, as JSON."""
    learner, every = registry.find(method.algo), asdict(config) | asdict(profile)
    read = {name: every[name] for name in (*registry.COMMON, *learner.settings)}
    if optimism is not None:
        read["q_init"] = f"@{optimism}"
    return json.dumps([method.algo, learner.semantics, method.shaping, read], sort_keys=True)


def hash_of(*parts: str) -> str:
    """Return a hash of some texts, 32 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()
