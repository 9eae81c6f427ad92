"""Rows on a device. A CPU takes the same path, so these tests need no GPU."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import separatrix as sx
from separatrix.exceptions import DataError

torch = pytest.importorskip("torch", reason="torch is not installed")

from separatrix.likelihoods import LabelNoise  # noqa: E402
from separatrix.rows import LabelRules, as_source, device  # noqa: E402
from separatrix.rows.device import DeviceRows, DeviceVector, on_host, open_tensor  # noqa: E402
from separatrix.solvers import pose  # noqa: E402


def in_blocks(tensor, height):
    return replace(open_tensor(tensor), height=height)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(5000, 4))
    return X, torch.as_tensor(X), (X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=5000) > 0).astype(int)


def test_ordered_work_gets_blocks_on_the_host(table):
    X, tensor, y = table
    source = in_blocks(tensor, 2048).with_numbers(DeviceVector(torch.as_tensor(y)))

    def fold(state, block):
        assert type(block.X) is np.ndarray
        return [*state, block]

    blocks = source.fold(fold, [])
    assert_allclose(np.concatenate([block.X for block in blocks]), X)
    assert np.array_equal(np.concatenate([block.t for block in blocks]), y)
    assert np.array_equal(np.concatenate([block.row for block in blocks]), np.arange(5000))
    shuffled = source.fold(fold, [], np.random.default_rng(0))
    assert sorted(np.concatenate([block.row for block in shuffled]).tolist()) == list(range(5000))
    assert on_host(source.as_block()).t.tolist() == y.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool"])
def test_tensors_of_any_number_are_opened(dtype):
    X = torch.tensor([[0, 1], [1, 0], [1, 1]]).to(getattr(torch, dtype))
    opened = open_tensor(X)
    is_single = dtype in ("float16", "bfloat16", "float32")
    assert opened.partitions[0].tensor.dtype == (torch.float32 if is_single else torch.float64)
    assert opened.template.shape == (0, 2)
    assert opened.n_rows == 3


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(3), r"shape \(3,\).*reshape\(-1, 1\)"),
        (torch.zeros(2, 2, 2), r"shape \(2, 2, 2\)"),
        (torch.zeros(2, 2, dtype=torch.complex64), "complex tensor"),
        (torch.zeros(2, 2).to_sparse(), "sparse tensor"),
        (torch.zeros(0, 3), "0 sample"),
        (torch.zeros(3, 0), "0 feature"),
    ],
)
def test_other_tensors_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        open_tensor(X)


def test_integer_labels_are_encoded_on_the_device_and_others_on_the_host(table):
    _, tensor, y = table
    opened = open_tensor(tensor)
    late = torch.as_tensor(np.where(np.arange(5000) == 4999, 7, 3 * y))  # a class that the first rows do not show
    outside = torch.as_tensor(np.where(np.arange(5000) == 4999, -2, y + 4))  # ... below those that it shows
    strided = torch.as_tensor(np.stack([y, y + 1], axis=1))[:, 1]
    for labels in (torch.as_tensor(y), late, late.to(torch.uint8), outside, strided):
        rows = opened.with_labels(labels, None, LabelRules())
        assert isinstance(rows.targets[0].t, DeviceVector)
        assert np.array_equal(rows.classes[np.asarray(rows.targets[0].t)], labels.numpy())
    rows = opened.with_labels(torch.as_tensor(y.astype(float)), torch.full((5000,), 2.0), LabelRules())
    assert rows.targets[0].t.tolist() == y.tolist()
    with pytest.raises(DataError, match="X has 5,000 rows but y has 3 labels"):
        opened.with_labels(torch.tensor([0, 1, 1]), None, LabelRules())
    with pytest.raises(DataError, match="only one class"):
        opened.with_labels(torch.zeros(5000, dtype=torch.long), None, LabelRules())
    with pytest.raises(DataError, match="are missing"):
        opened.with_labels(torch.full((5000,), float("nan")), None, LabelRules())


def test_derivatives_of_tensors_are_left_alone(table):
    X, tensor, y = table
    asked = tensor.clone().requires_grad_(True)
    model = sx.LogisticRegression().fit(asked, torch.as_tensor(y))
    assert asked.grad is None
    assert_allclose(model.coef_, sx.LogisticRegression().fit(X, y).coef_, rtol=1e-8)


def test_a_value_that_is_not_a_number_is_traced_to_its_column(table):
    _, tensor, y = table
    broken = tensor.clone()
    broken[7, 2] = float("nan")
    with pytest.raises(DataError, match=r"column 'x2' \(1 of 5000 rows\)"):
        sx.LogisticRegression().fit(broken, y)
    model = sx.LogisticRegression().fit(tensor, y)
    with pytest.raises(DataError, match=r"column 'x2' \(1 of 5000 rows\)"):
        model.predict_proba(broken)


def test_blocks_are_halved_while_memory_is_short(table):
    X, tensor, _ = table
    sizes = []

    def hungry(rows):
        sizes.append(len(rows))
        if len(rows) > 1500:
            raise torch.OutOfMemoryError("no memory")
        return rows @ np.ones(4)

    source = in_blocks(tensor, 4096)
    assert_allclose(source.map(hungry), X.sum(axis=1))
    assert sizes[:3] == [4096, 2048, 1024]
    sizes.clear()
    source.map(hungry)
    assert max(sizes) == 1024  # later passes know

    def insatiable(rows):
        raise torch.OutOfMemoryError("no memory")

    with pytest.raises(MemoryError, match=r"cpu has no memory left for a block of 1,024 rows of 4 columns.*X\.cpu\(\)"):
        in_blocks(tensor, 4096).map(insatiable)


def test_a_small_table_can_be_fitted_in_smaller_blocks_after_the_device_ran_out_of_memory(table):
    X, tensor, y = table
    source = open_tensor(tensor)
    source.partitions[0].max_height = 1024
    one, other = (
        pose(rows, LabelNoise(0.1, 0.2), sx.Gaussian(1.0), fit_intercept=True).value_grad(np.ones((1, 5)))
        for rows in (source.with_numbers(y), as_source(X, y))
    )
    assert_allclose(one.grad, other.grad, rtol=1e-10)


def test_the_precision_that_a_user_allows_elsewhere_is_restored(table):
    _, tensor, _ = table
    torch.set_float32_matmul_precision("medium")
    try:
        in_blocks(tensor, 4096).map(lambda rows: rows[:, 0])
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_predictions_of_single_precision_far_from_zero_are_those_of_the_host(rng):
    X = (rng.normal(size=(3000, 3)) + np.array([0.0, 1e5, -1e3])).astype(np.float32)
    y = (X[:, 0] + rng.logistic(size=3000) > 0).astype(int)
    for model in (sx.LogisticRegression(), sx.ProbitRegression(), sx.BayesianLogisticRegression(sx.Gaussian(1.0))):
        model.fit(X, y)
        assert_allclose(model.predict_proba(torch.as_tensor(X)), model.predict_proba(X), atol=1e-9)


def test_predictions_of_many_classes_do_not_copy_the_rows_in_double_precision(table):
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            made = function(*args, **kwargs or {})
            if isinstance(made, torch.Tensor) and made.dtype == torch.float64 and made.shape[1:] == (4,):
                heights.append(len(made))
            return made

    X, tensor, y = table
    model = sx.LogisticRegression().fit(X, y + (X[:, 0] > 1))
    heights = []
    with Watch():
        found = model.predict_proba(tensor.float().repeat(60, 1))
    assert max(heights) == device.WIDE_ROWS
    assert_allclose(found[-5000:], model.predict_proba(X.astype(np.float32)), atol=1e-9)


def test_batches_of_tensors_with_the_classes_named_first(table):
    X, tensor, y = table
    labels = torch.as_tensor(y)
    model, same = sx.BayesianLogisticRegression(sx.Gaussian(1.0)), sx.BayesianLogisticRegression(sx.Gaussian(1.0))
    for part in (slice(0, 2500), slice(2500, 5000)):
        model.partial_fit(tensor[part], labels[part], classes=[0, 1])
        same.partial_fit(X[part], y[part], classes=[0, 1])
    assert_allclose(model.coef_, same.coef_, rtol=1e-8)


BASES = (
    sx.basis.Polynomial(3),
    sx.basis.Linear() + sx.basis.Sigmoid(n_centres=3),
    sx.basis.RBF(),
    sx.basis.MultiScaleRBF(),
    sx.basis.RandomFourier(30),
)


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: type(basis).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bases_are_evaluated_on_the_device(table, basis, dtype):
    X = 2.0 + table[0][:300].astype(dtype)
    X[7, 2] = np.inf
    basis = clone(basis).fit(X[:7])
    with np.errstate(invalid="ignore"):
        expected = basis.evaluate(X)
    found = basis.evaluate(DeviceRows(torch.as_tensor(X)))
    assert isinstance(found, DeviceRows)
    assert found.dtype == dtype
    at = np.isfinite(X).all(axis=1)
    assert_allclose(np.asarray(found)[at], expected[at], rtol=2e-4 if dtype == np.float32 else 1e-9, atol=1e-6)
    assert np.array_equal(np.isfinite(found).all(axis=1), at)


def test_a_fit_with_a_basis_copies_no_rows_to_the_host(table, monkeypatch):
    X, tensor, y = table
    model = sx.LogisticRegression(basis=sx.basis.RBF("random", n_centres=20))
    expected = clone(model).fit(X, y).predict_proba(X[:50])
    monkeypatch.setattr(device, "on_host", None)
    fitted = clone(model).fit(tensor, y)
    assert_allclose(fitted.predict_proba(tensor[:50]), expected, rtol=1e-6)
    with pytest.raises(TypeError):  # a basis of scikit-learn still needs copies
        clone(model).set_params(basis=sx.basis.Spline()).fit(tensor, y)
