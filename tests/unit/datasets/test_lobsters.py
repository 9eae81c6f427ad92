import numpy as np
import pytest

from separatrix.datasets.lobsters import LOBSTERS, load_lobsters


def test_lobsters_are_the_published_counts():
    lobsters = load_lobsters()
    X, y = lobsters.data, lobsters.target
    assert (len(y), y.sum()) == (159, 79)
    for size, (alive, tethered) in LOBSTERS.items():
        here = X[:, 0] == size
        assert (here.sum(), y[here].sum()) == (tethered, alive)
    assert "465" in lobsters.DESCR


def test_lobsters_as_a_frame():
    pytest.importorskip("pandas")
    X, y = load_lobsters(return_X_y=True, as_frame=True)
    assert list(X.columns) == ["size (mm)"]
    assert np.array_equal(y, load_lobsters().target)
