# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of scikit-learn's tests, and marks by the tables of each file."""

from pathlib import Path

import numpy as np
import pytest

from peers.suite import Adapter, is_named, parameters

HERE = Path(__file__).parent
FILTERS = (
    "ignore",  # estimators of both libraries warn
    "error::RuntimeWarning",  # but no computation may overflow or divide by zero
)


# Parameters that the adapters translate as they translate the other one of a pair; only `make test-all` runs both.
TWINS = {
    "-newton-cg-": "-newton-cholesky-",
    "-sag-": "-saga-",
    "-csr_matrix-": "-csr_array-",
    "-coo_matrix-": "-coo_array-",
}


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: a mark of scikit-learn's tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark tests by the tables of their module; raise if a name in a table matches no test.

    Tests that must fail, and twins of other tests, are slow.
    """
    ours = [item for item in items if item.path.parent == HERE and hasattr(getattr(item, "module", None), "FOREIGN")]
    quick = {(item.module, item.originalname, parameters(item)) for item in ours}
    for item in ours:
        for text in reversed(FILTERS):
            item.add_marker(pytest.mark.filterwarnings(text), append=False)
        for reason, names in item.module.DIFFERENT.items():
            if is_named(item, names):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                item.add_marker(pytest.mark.slow)
        for reason, names in item.module.FOREIGN.items():
            if is_named(item, names):
                item.add_marker(pytest.mark.skip(reason=reason))
        twins = {parameters(item).replace(*pair) for pair in TWINS.items()} - {parameters(item)}
        if is_named(item, item.module.SLOW) or any((item.module, item.originalname, twin) in quick for twin in twins):
            item.add_marker(pytest.mark.slow)
    if any("::" in argument for argument in config.args):
        return
    for module in {item.module for item in ours}:
        for name in " ".join([*module.DIFFERENT.values(), *module.FOREIGN.values(), module.SLOW]).split():
            if not any(is_named(item, name) for item in ours if item.module is module):
                raise pytest.UsageError(f"{module.__file__}: no test matches {name!r}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that fits none of our models shows nothing about them: list it as FOREIGN."""
    before = Adapter.n_built
    result = yield
    assert Adapter.n_built > before or not hasattr(item.module, "FOREIGN"), "no model of separatrix was used"
    return result


@pytest.fixture(autouse=True)
def _floating_point_errors_are_errors():
    """NumPy's defaults, because these tests compute logarithms of zero themselves."""
    with np.errstate(all="warn", under="ignore"):
        yield


@pytest.fixture(autouse=True)
def _seed():
    """Some tests draw from NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=["float64", "float32"])
def global_dtype(request):
    return np.dtype(request.param)


@pytest.fixture
def pyplot():
    return pytest.importorskip("matplotlib.pyplot")
