import numpy as np
import pytest

from separatrix.datasets import make_mixed_types
from separatrix.datasets.mixed import CONTRACT_SHARES, CONTRACTS


def test_columns_have_the_stated_distributions_given_the_class():
    X, y = make_mixed_types(60_000, rng=0)
    leaves = y == "leaves"
    assert abs(leaves.mean() - 0.3) < 0.01
    for here, charge, tenure, calls, paperless in ((~leaves, 65, 40, 0.8, 0.4), (leaves, 80, 15, 2.5, 0.7)):
        assert abs(X["charge"][here].mean() - charge) < 1.0
        assert abs(X["charge"][here].std() - 20) < 0.5
        assert abs(X["tenure"][here].mean() - tenure) < 1.0
        assert abs(X["tenure"][here].std() - tenure) < 1.5
        assert abs(X["calls"][here].mean() - calls) < 0.05
        assert abs(X["calls"][here].var() - calls) < 0.1
        assert abs(X["paperless"][here].mean() - paperless) < 0.02
        shares = [(X["contract"][here] == name).mean() for name in CONTRACTS]
        assert np.abs(np.subtract(shares, CONTRACT_SHARES[int(here[leaves].any())])).max() < 0.02


def test_columns_are_independent_given_the_class():
    X, y = make_mixed_types(60_000, rng=0)
    numbers = np.column_stack([X["charge"], X["tenure"], X["calls"], X["paperless"]])
    for label in ("stays", "leaves"):
        assert np.abs(np.corrcoef(numbers[y == label].T) - np.eye(4)).max() < 0.04


def test_missing_values_are_as_many_as_said_and_only_in_numbers():
    X, _ = make_mixed_types(20_000, missing=0.1, rng=0)
    for name in ("charge", "tenure", "calls"):
        assert abs(np.isnan(X[name]).mean() - 0.1) < 0.01
    assert set(np.unique(X["paperless"])) == {0, 1}
    assert set(np.unique(X["contract"])) == set(CONTRACTS)


def test_a_frame_holds_the_same_columns():
    pd = pytest.importorskip("pandas")
    X, y = make_mixed_types(50, rng=3)
    frame, target = make_mixed_types(50, as_frame=True, rng=3)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(X)
    assert all(np.array_equal(frame[name], X[name]) for name in X)
    assert np.array_equal(target, y)


def test_what_cannot_be_made_is_refused():
    with pytest.raises(ValueError, match=r"missing=1.5"):
        make_mixed_types(missing=1.5)
    with pytest.raises(ValueError, match=r"n=0"):
        make_mixed_types(0)
