"""Predictions do not depend on units, offsets, order, repetition, storage, precision or threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

import separatrix as sx
from problems import GENERATIVE, STORAGES, blobs
from problems import SUM_MODELS as RULES
from separatrix.rows import memory
from separatrix.stats.moments import MAX_SPARSE_DENSITY

NORMAL = {k: v for k, v in GENERATIVE.items() if k in ("lda", "lda_evidence", "lda_ledoit_wolf", "qda", "qda_shrunk")}
SUM_MODELS = RULES | NORMAL
CENTRED = {k: v for k, v in SUM_MODELS.items() if k != "least_squares_no_intercept"}
WEIGHT_FREE = {  # models without a prior or penalty
    **{k: v for k, v in RULES.items() if k != "ridge"},
    **{k: GENERATIVE[k] for k in ("lda", "lda_shrunk", "qda", "qda_shrunk", "naive_bayes", "exponential_family")},
    "logistic": lambda: sx.LogisticRegression(alpha=0.0, tol=1e-11),
    "probit": lambda: sx.ProbitRegression(alpha=0.0, tol=1e-11),
    "label_noise": lambda: sx.LabelNoiseLogisticRegression(noise=0.05, alpha=0.0, tol=1e-11),
}
UNIT_FREE = {k: v for k, v in CENTRED.items() if k != "ridge"}  # a ridge penalty depends on units


@pytest.mark.parametrize("name", SUM_MODELS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_weight_of_k_equals_k_copies_of_the_row(name, n_classes, rng):
    X, y = blobs(120, n_classes=n_classes)
    k = rng.integers(0, 4, size=len(y))
    k[:n_classes] = 2
    weighted = SUM_MODELS[name]().fit(X, y, sample_weight=k)
    repeated = SUM_MODELS[name]().fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", WEIGHT_FREE)
@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_scale_of_all_weights_does_not_matter(name, scale, dtype):
    X, y = blobs(120, n_classes=2, distance=0.5)
    X, tol = X.astype(dtype), 1e-8 if dtype == "float64" else 1e-4
    a = WEIGHT_FREE[name]().fit(X, y)
    b = WEIGHT_FREE[name]().fit(X, y, sample_weight=np.full(len(y), scale))
    assert_allclose(b.decision_function(X), a.decision_function(X), rtol=tol, atol=tol)


@pytest.mark.parametrize("name", UNIT_FREE)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_units_of_a_column_do_not_matter(name, n_classes):
    X, y = blobs(200, n_classes=n_classes)
    units = np.array([1e-6, 1e6, 25.4, 1.0])
    a = UNIT_FREE[name]().fit(X, y)
    b = UNIT_FREE[name]().fit(X * units, y)
    assert_allclose(b.decision_function(X * units), a.decision_function(X), rtol=1e-8, atol=1e-8)
    assert_allclose(b.coef_ * units, a.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", CENTRED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_offset_of_ten_million_does_not_matter(name, n_classes):
    X, y = blobs(200, n_classes=n_classes)
    offset = np.array([1e7, -1e7, 0.0, 1e7])
    X = (X + offset) - offset  # round the rows as adding the offset does
    a = CENTRED[name]().fit(X, y)
    b = CENTRED[name]().fit(X + offset, y)
    if not name.startswith("qda"):  # the linear part of a quadratic form depends on the origin
        assert_allclose(b.coef_, a.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(b.decision_function(X + offset), a.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SUM_MODELS)
def test_order_of_rows_and_names_of_classes_do_not_matter(name, rng):
    X, y = blobs(150, n_classes=3)
    order = rng.permutation(len(y))
    a = SUM_MODELS[name]().fit(X, y)
    b = SUM_MODELS[name]().fit(X[order], np.array(["red", "violet", "blue"])[y][order])
    assert_allclose(b.decision_function(X)[:, [1, 2, 0]], a.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SUM_MODELS)
def test_storage_does_not_matter(name):
    X, y = blobs(900, n_classes=3)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.08, X, 0.0)  # sparse enough to be processed as sparse
    assert X.astype(bool).mean() < MAX_SPARSE_DENSITY
    a = SUM_MODELS[name]().fit(X, y)
    for storage, stored in STORAGES.items():
        b = SUM_MODELS[name]().fit(stored(X), y)
        found = b.decision_function(stored(X))
        assert_allclose(found, a.decision_function(X), rtol=1e-9, atol=1e-9, err_msg=storage)


@pytest.mark.parametrize("name", SUM_MODELS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint16", "bool"])
def test_other_types_of_numbers_change_weights_only_by_rounding(name, dtype):
    X, y = blobs(400, n_classes=3)
    whole = np.abs(np.round(4 * X))
    X = X > 0 if dtype == "bool" else whole if dtype in ("int8", "uint16") else 3.0 + X
    a = SUM_MODELS[name]().fit(X.astype(float), y)
    b = SUM_MODELS[name]().fit(X.astype(dtype), y)
    tol = {"float32": 1e-4, "float16": 0.05}.get(dtype, 1e-9)
    assert_allclose(b.coef_, a.coef_, rtol=tol, atol=tol * np.abs(a.coef_).max())


@pytest.mark.parametrize("name", SUM_MODELS)
def test_blocks_do_not_matter_and_fits_are_bit_identical(name, monkeypatch):
    X, y = blobs(700, n_classes=3)
    whole = SUM_MODELS[name]().fit(X, y)
    monkeypatch.setattr(memory, "block_rows", lambda width: 37)
    blocked = SUM_MODELS[name]().fit(X, y)
    assert_allclose(blocked.coef_, whole.coef_, rtol=1e-9)
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", "1")
    one_thread = SUM_MODELS[name]().fit(X, y)
    assert np.array_equal(one_thread.coef_, blocked.coef_)
    assert np.array_equal(one_thread.predict(X), blocked.predict(X))


@pytest.mark.parametrize("rows", [2_000, 200_000])
def test_the_number_of_threads_does_not_change_a_bit(rows, monkeypatch):
    X, y = blobs(rows, n_features=30, n_classes=2)
    coefficients = []
    for threads in (1, 2, 3):
        monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", str(threads))
        with threadpool_limits(threads):
            coefficients.append(sx.LeastSquaresClassifier().fit(X, y).coef_)
    assert np.array_equal(coefficients[0], coefficients[1])
    assert np.array_equal(coefficients[0], coefficients[2])


@pytest.mark.parametrize("storage", ["csr", "fortran_order", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_perceptron_makes_the_same_mistakes_in_every_storage(storage, n_classes):
    X, y = blobs(80, n_classes=n_classes, distance=30.0)
    a = sx.Perceptron().fit(X, y)
    b = sx.Perceptron().fit(STORAGES[storage](X), y)
    assert a.mistakes_per_epoch_ == b.mistakes_per_epoch_
    assert_allclose(b.coef_, a.coef_, rtol=1e-10)
