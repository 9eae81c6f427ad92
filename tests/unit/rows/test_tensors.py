"""What a device holds, seen from the host; a CPU takes the same path, so that these tests need no GPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="torch is not installed")

from separatrix.rows.tensors import DeviceRows, DeviceVector  # noqa: E402


@pytest.fixture
def table(rng):
    X = rng.normal(size=(5000, 4))
    return X, torch.as_tensor(X), (X[:, 0] > 0).astype(int)


def test_products_with_rows_are_those_of_the_host_in_float64(table, rng):
    X, tensor, _ = table
    rows, W, slope = DeviceRows(tensor.float()), rng.normal(size=(4, 3)), rng.normal(size=(5000, 2))
    single = X.astype(np.float32).astype(np.float64)
    assert rows.shape == (5000, 4)
    assert rows.dtype == np.float32
    assert_allclose(rows @ W, single @ W, atol=1e-5)
    assert (rows @ W).dtype == np.float64
    assert_allclose(rows.sums(rows.on(slope)).numpy(), slope.T @ single, rtol=1e-5, atol=1e-3)
    assert_allclose(DeviceRows(tensor).sums(rows.on(slope[:, 0])).numpy(), slope[:, 0] @ X, rtol=1e-12)
    assert_allclose((DeviceRows(tensor) - X[0])[:3], X[:3] - X[0])
    R, shift = rng.normal(size=(4, 4)), rng.normal(size=4)
    assert_allclose(DeviceRows(tensor).row_squares(R, shift), ((X @ R + shift) ** 2).sum(axis=1), rtol=1e-12)


def test_codes_stay_on_the_device():
    vector = DeviceVector(torch.tensor([0, 2, 1, 2]))
    assert (vector.shape, vector.ndim, len(vector), vector.dtype) == ((4,), 1, 4, np.int64)
    assert (vector >= 0).all()
    assert not (vector > 0).all()
    assert np.asarray(vector == 2).tolist() == [False, True, False, True]
    assert np.asarray(vector[np.array([1, 2])]).tolist() == [2, 1]
    assert (~(vector < 2)).sum() == 2
    assert np.asarray(DeviceRows(torch.ones(3, 2)).in_one_class()).tolist() == [0, 0, 0]
