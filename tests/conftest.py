"""One floating-point policy and one random generator for every test."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _floating_point_errors_are_errors():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20061)
