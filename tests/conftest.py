"""Seeded settings and fixtures shared by all tests."""

import os
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "house",
    derandomize=True,  # the same cases on every machine
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    # shrinking a failure of the oracle takes minutes; the case itself is printed either way
    phases=[phase for phase in hypothesis.Phase if phase != hypothesis.Phase.shrink or os.environ.get("FASTRM_SHRINK")],
)
hypothesis.settings.load_profile("house")


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder with the published data of the reference implementation."""
    folder = os.environ.get("FASTRM_REFERENCE")
    if not folder:
        pytest.skip("set FASTRM_REFERENCE to the folder with the published reference data")
    return Path(folder)
