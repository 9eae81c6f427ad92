"""The compiled moments are those of the plain code, for every precision, order and weight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.rows import Block
from separatrix.stats import DiagonalScatter, class_moments, moments


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_compiled_equals_plain(dtype, order, weighted, offset, rng, monkeypatch):
    X = np.asarray(offset + rng.normal(size=(200, 5)), dtype=dtype, order=order)
    X[:, 4] = offset  # a constant must stay one
    weight = rng.choice([0.0, 0.5, 2.0], size=200) if weighted else None
    block = Block(X, rng.integers(4, size=200) % 3, weight, range(200))  # class 3 has no rows
    plain = class_moments(block, 4, DiagonalScatter)
    monkeypatch.setattr(moments, "COMPILED_FROM", 0)
    compiled = class_moments(block, 4, DiagonalScatter)
    # The plain code subtracts in the precision of the rows, the compiled one always in float64.
    tol = {"rtol": 2e-6, "atol": 2e-7} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    assert_allclose(compiled.count, plain.count)
    assert_allclose(compiled.mean, plain.mean, **tol)
    assert_allclose(compiled.scatter.squares, plain.scatter.squares, **tol)
    assert (compiled.scatter.squares[:, 4] == 0).all()


def test_nan_shows(rng, monkeypatch):
    X = rng.normal(size=(50, 3))
    X[7, 1] = np.nan
    monkeypatch.setattr(moments, "COMPILED_FROM", 0)
    found = class_moments(Block(X, np.zeros(50, dtype=int), None, range(50)), 1, DiagonalScatter)
    assert np.isnan(found.mean[0]).tolist() == [False, True, False]
    assert not found.scatter.is_finite()
