"""Laws of logistic and probit models: probabilities, and changes of the data that must not affect them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import separatrix as sx
from posteriors import overlapping
from problems import STORAGES

seeds = st.integers(0, 2**32 - 1)


def logistic(alpha=1.0, **options):
    return sx.LogisticRegression(alpha=alpha, tol=1e-11, **options)


#: Models by name; MODELS has the numbers of classes.
TWO = {
    "logistic": lambda alpha=1.0: logistic(alpha),
    "probit": lambda alpha=1.0: sx.ProbitRegression(alpha=alpha, tol=1e-11),
}
MODELS = [("logistic", 2), ("logistic", 4), ("probit", 2)]
every_model = pytest.mark.parametrize(("name", "n_classes"), MODELS)


def data(n_classes, n=200, seed=0):
    return overlapping(n, 4, n_classes, seed)


@settings(max_examples=15)
@given(seed=seeds, n_classes=st.integers(2, 5), alpha=st.sampled_from([1e-3, 1.0, 100.0]), far=st.integers(0, 6))
def test_probabilities_are_not_negative_and_sum_to_one_far_from_the_data(seed, n_classes, alpha, far):
    X, y = data(n_classes, n=80, seed=seed)
    P = logistic(alpha).fit(X, y).predict_proba(X * 10.0**far)
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)


@every_model
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_order_of_rows_and_columns_and_names_of_classes_do_not_matter(name, n_classes, alpha, rng):
    X, y = data(n_classes)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    names = np.array(["violet", "red", "blue", "green"])[:n_classes]
    a = TWO[name](alpha).fit(X, y)
    b = TWO[name](alpha).fit(X[rows][:, columns], names[y][rows])
    order = np.searchsorted(b.classes_, names)  # column k of a is column order[k] of b
    assert_allclose(b.predict_proba(X[:, columns])[:, order], a.predict_proba(X), atol=1e-8)
    if n_classes > 2:
        assert_allclose(b.coef_[order], a.coef_[:, columns], atol=1e-7)


@every_model
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_weight_of_k_equals_k_copies_of_the_row(name, n_classes, alpha, rng):
    X, y = data(n_classes)
    k = rng.integers(0, 4, size=len(y))
    k[:n_classes] = 2
    weighted = TWO[name](alpha).fit(X, y, sample_weight=k)
    repeated = TWO[name](alpha).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-8)
    assert weighted.separation_.status == repeated.separation_.status


@every_model
def test_a_common_factor_of_weights_and_alpha_does_not_matter(name, n_classes):
    X, y = data(n_classes)
    a = TWO[name](1.0).fit(X, y)
    b = TWO[name](1e6).fit(X, y, sample_weight=np.full(len(y), 1e6))
    assert_allclose(b.coef_, a.coef_, atol=1e-8)


@settings(max_examples=15)
@given(
    powers=st.lists(st.integers(-6, 6), min_size=4, max_size=4),
    shift=st.sampled_from([0.0, 1.0, -1e3, 1e6]),
    model=st.sampled_from(MODELS),
)
def test_units_and_shifts_of_columns_do_not_change_predictions_without_a_prior(powers, shift, model):
    name, n_classes = model
    X, y = data(n_classes)
    X = (X + shift) - shift  # round the rows as adding the shift does
    units = 10.0 ** np.array(powers)
    a, b = TWO[name](0.0).fit(X, y), TWO[name](0.0).fit((X + shift) * units, y)
    assert_allclose(b.coef_ * units, a.coef_, rtol=1e-5, atol=1e-6)
    assert_allclose(b.predict_proba((X + shift) * units), a.predict_proba(X), atol=1e-6)


@every_model
@pytest.mark.parametrize("shift", [1.0, -300.0, 1e5, 1e7])
def test_a_shift_does_not_change_predictions_with_a_prior(name, n_classes, shift):
    """The bias has no prior."""
    X, y = data(n_classes)
    X = (X + shift) - shift
    a, b = TWO[name](1.0).fit(X, y), TWO[name](1.0).fit(X + shift, y)
    assert_allclose(b.coef_, a.coef_, atol=1e-8)
    assert_allclose(b.predict_proba(X + shift), a.predict_proba(X), atol=1e-6)


@every_model
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_storage_does_not_matter(name, n_classes, alpha):
    X, y = data(n_classes, n=600)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.3, X, 0.0)
    a = TWO[name](alpha).fit(X, y)
    for storage, stored in STORAGES.items():
        b = TWO[name](alpha).fit(stored(X), y)
        assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-8, err_msg=storage)
        assert_allclose(b.predict_proba(stored(X)), a.predict_proba(X), atol=1e-8, err_msg=storage)
        assert b.separation_.status == a.separation_.status, storage


@every_model
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_float32_rows_give_the_weights_of_the_same_rows_in_float64(name, n_classes, shift):
    X, y = data(n_classes, n=400)
    single = (X + shift).astype(np.float32)
    a = TWO[name]().fit(single.astype(np.float64), y)
    b = TWO[name]().fit(single, y)
    assert_allclose(b.coef_, a.coef_, atol=1e-6)
    assert_allclose(b.predict_proba(single), a.predict_proba(single.astype(np.float64)), atol=1e-5 * (1 + shift))
    assert b.coef_.dtype == np.float32


@every_model
def test_blocks_do_not_matter_and_threads_give_identical_bits(name, n_classes, monkeypatch):
    X, y = data(n_classes, n=700)
    whole = TWO[name]().fit(X, y)
    monkeypatch.setattr("separatrix.rows.memory.block_rows", lambda width: 37)
    blocked = TWO[name]().fit(X, y)
    assert_allclose(blocked.coef_, whole.coef_, atol=1e-9)
    monkeypatch.setattr("separatrix._threads.THREAD_LIMIT", "1")
    assert np.array_equal(TWO[name]().fit(X, y).coef_, blocked.coef_)


@settings(max_examples=10)
@given(seed=seeds, n_classes=st.integers(2, 3))
def test_a_stronger_prior_gives_shorter_weights_and_a_larger_loss(seed, n_classes):
    X, y = data(n_classes, n=80, seed=seed)
    fits = [logistic(alpha).fit(X, y) for alpha in (0.01, 0.1, 1.0, 10.0)]
    lengths = [np.linalg.norm(model.coef_) for model in fits]
    losses = [-model.predict_log_proba(X)[np.arange(len(y)), y].sum() for model in fits]
    assert lengths == sorted(lengths, reverse=True)
    assert losses == sorted(losses)
