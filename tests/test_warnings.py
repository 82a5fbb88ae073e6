"""Warnings from fastrm's own code fail a test; those that concern a dependency alone do not."""

import warnings

import pytest

from fastrm import FastrmWarning


def warn_from(module, category):
    """Warn as code of that module would."""
    warnings.warn_explicit("a change is near", category, filename=f"{module}.py", lineno=1, module=module)


@pytest.mark.parametrize("category", [DeprecationWarning, FutureWarning, RuntimeWarning, ResourceWarning])
@pytest.mark.parametrize("module", ["fastrm", "fastrm.results.store", "fastrm.kernels.learners.crm"])
def test_a_warning_from_our_own_code_is_an_error(module, category):
    with pytest.raises(category):
        warn_from(module, category)


def test_our_own_category_is_an_error_wherever_it_comes_from():
    with pytest.raises(FastrmWarning):
        warn_from("test_of_somebody", FastrmWarning)


@pytest.mark.parametrize("module", ["pandas.core.frame", "numba.core.decorators", "not_fastrm"])
def test_a_warning_from_a_dependency_is_none(module):
    with warnings.catch_warnings(record=True) as seen:  # keeps the settings, unlike pytest.warns
        warn_from(module, DeprecationWarning)
    assert [str(warning.message) for warning in seen] == ["a change is near"]
