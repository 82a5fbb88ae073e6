"""What is passed to results in place of a name is refused in one line; what is missing is an ImportError too."""

import sys

import numpy as np
import pytest

from fastrm import ConfigError, load, run

from tiny_experiment import experiment

ODD = [
    None,
    True,
    3,
    0.5,
    float("nan"),
    "zzz",
    "x" * 5000,
    b"x",
    [],
    {},
    [None],
    object(),
    np.array([1, 2]),
    (1, 2),
    print,
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run(experiment(), tmp_path_factory.mktemp("types") / "tiny.h5", workers=1)


CALLS = {
    "column": lambda results, odd: results[odd],
    "select": lambda results, odd: results.select(method=odd),
    "select a number": lambda results, odd: results.select(seed=odd),
    "select several": lambda results, odd: results.select(task=["a", odd]),
    "curves": lambda results, odd: results.curves(odd),
    "curves of": lambda results, odd: results.curves(task=odd),
    "groups": lambda results, odd: list(results.groups("setup", odd)),
    "number": lambda results, odd: results.per_run_values(odd),
    "summary by": lambda results, odd: results.summary(by=odd if odd is not None else 3),
    "summary by several": lambda results, odd: results.summary(by=["setup", odd]),
    "summary over": lambda results, odd: results.summary(over=odd if odd is not None else 3),
    "compare one": lambda results, odd: results.compare(odd, "qrm-bool"),
    "compare two": lambda results, odd: results.compare("qrm-bool", odd),
    "compare value": lambda results, odd: results.compare("qrm-bool", "crm-rs-bool", odd),
    "compare over": lambda results, odd: results.compare("qrm-bool", "crm-rs-bool", over=3 if odd is None else odd),
    "compare by": lambda results, odd: results.compare("qrm-bool", "crm-rs-bool", by=odd),
    "load": lambda results, odd: load(odd),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_types_are_refused_in_one_line(name, results):
    for odd in ODD:
        try:
            CALLS[name](results, odd)
        except ConfigError as problem:
            assert "\n" not in str(problem) and len(str(problem)) < 500
        except Exception as problem:
            assert name == "load" and "cannot be read" in str(problem), (odd, problem)
        else:
            assert name == "select a number", odd  # there are 0, 1 and 2, and True is 1


@pytest.mark.parametrize(("package", "method"), [("xarray", "to_xarray"), ("pandas", "to_pandas")])
def test_a_missing_extra_is_an_import_error_that_names_it(package, method, results, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"fastrm\[analysis\]") as problem:
        getattr(results, method)()
    assert isinstance(problem.value, ConfigError)
