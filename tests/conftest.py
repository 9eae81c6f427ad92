"""One floating-point policy and one random generator for every test."""

import atexit
import gc
import os
import sys

os.environ.setdefault("MPLBACKEND", "Agg")
if "PYTEST_XDIST_WORKER" in os.environ:  # a process for each core: threads of BLAS would wait for one another
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

STATES = pytest.StashKey[dict]()  # of each module's generator, as its first test found it


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests and their modules stay to the end: nobody need look among them for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000)
        atexit.register(gc.unfreeze)  # libraries complain of what is left at the end of the process


def pytest_runtest_setup(item):
    """A test draws the same numbers in whatever order, and in whatever process, tests run."""
    for name in ("RNG", "rng"):
        generator = vars(item.module).get(name) if isinstance(item, pytest.Function) else None
        if isinstance(generator, np.random.Generator):
            item.config.stash.setdefault(STATES, {}).setdefault(item.module.__name__, generator.bit_generator.state)
            generator.bit_generator.state = item.config.stash[STATES][item.module.__name__]


@pytest.fixture(autouse=True)
def _floating_point_errors_are_errors():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20061)


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
