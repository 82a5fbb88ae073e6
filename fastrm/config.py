"""Decisions as frozen dataclasses: validated when made, stored whole with the results."""

from __future__ import annotations

from dataclasses import dataclass

from fastrm.errors import ConfigError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Where the literature is ambiguous: the choices a learner and the compiler make.

    >>> Profile.named("icarte2022").prune
    True
    """

    qrm_bootstraps_at_limit: bool = True
    """QRM: does the update of the step that hits the episode limit bootstrap?"""
    option_survives_limit: bool = False
    """HRM: does an option cut off by the episode limit go on in the next episode?"""
    prune: bool = False
    """CRM and HRM: update only machine states (and options) in the image of the previous event over all states."""
    falls_off: bool = False
    """A move that opens no edge ends the episode (else it is an error when compiling)."""
    merge_terminals: bool = False
    """HRM: treat all terminals of a machine as one."""

    @classmethod
    def named(cls, name: str) -> Profile:
        """Return a profile by name: ``clean`` or ``icarte2022``."""
        if name not in PROFILES:
            near = did_you_mean(name, PROFILES) if isinstance(name, str) else ""
            raise ConfigError(f"profile={name!r}: must be one of {', '.join(PROFILES)}{near}")
        return PROFILES[name]


PROFILES = {
    "clean": Profile(),
    "icarte2022": Profile(
        qrm_bootstraps_at_limit=False, option_survives_limit=True, prune=True, falls_off=True, merge_terminals=True
    ),
}
