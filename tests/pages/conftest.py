"""One browser for all pages that are looked at."""

import pytest

from browser import Browser, find_browser


@pytest.fixture(scope="session")
def browser():
    if find_browser() is None:
        pytest.skip("no chromium on this machine; .ci/run installs it")
    with Browser() as one:
        yield one
