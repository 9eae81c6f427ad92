"""Datasets have the distributions that they state."""

import sys

import numpy as np
import pytest
from scipy import special
from sklearn.metrics import log_loss

import separatrix as sx
from separatrix import LeastSquaresClassifier, LogisticRegression, is_separable
from separatrix.basis import RBF
from separatrix.datasets import (
    LOBSTERS,
    load_lobsters,
    make_gaussian_grid,
    make_label_noise,
    make_loans,
    make_mixed_types,
    make_outliers,
    make_overlapping,
    make_rbf_experiment,
    make_separable,
    make_xor_clusters,
)
from separatrix.datasets.tables import CONTRACT_PROBABILITIES, CONTRACTS, LOAN_WEIGHTS

MAKERS = [
    make_separable,
    make_overlapping,
    make_outliers,
    make_label_noise,
    make_xor_clusters,
    make_gaussian_grid,
    make_rbf_experiment,
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    first, again, other = make(rng=1), make(rng=np.random.default_rng(1)), make(rng=2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_features", [1, 2, 10])
def test_separable_classes_have_the_margin_that_was_requested(seed, n_features):
    X, y = make_separable(60, n_features, margin=0.3, rng=seed)
    report = is_separable(X, y)
    assert report.status == "complete"
    assert report.widest.margin >= 0.3 * (1 - 1e-6)
    assert y.sum() == 30


def test_overlapping_classes_overlap_at_the_rate_of_two_normal_tails():
    X, y = make_overlapping(40_000, 3, distance=1.5, rng=0)
    best = special.ndtr(0.75)
    right = ((X[:, 0] > 0) == y).mean()
    assert abs(right - best) < 4 * np.sqrt(best * (1 - best) / len(y))
    assert is_separable(X[:200], y[:200]).status == "overlapping"


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_neighbouring_classes_are_the_distance_apart_and_round(n_classes):
    X, y = make_overlapping(70_000, 2, n_classes=n_classes, distance=3.0, rng=0)
    means = np.stack([X[y == k].mean(axis=0) for k in range(n_classes)])
    gaps = np.linalg.norm(means - np.roll(means, 1, axis=0), axis=1)
    assert np.abs(gaps - 3.0).max() < 0.06
    for k in range(n_classes):
        assert np.abs(np.cov(X[y == k].T) - np.eye(2)).max() < 0.06


@pytest.mark.parametrize("seed", range(5))
def test_outliers_break_least_squares_and_not_logistic_regression(seed):
    X, y = make_outliers(rng=seed)
    main = slice(0, 100)  # the outliers come last
    assert LeastSquaresClassifier().fit(X[main], y[main]).score(X[main], y[main]) == 1.0
    assert LeastSquaresClassifier().fit(X, y).score(X[main], y[main]) < 0.9
    assert LogisticRegression().fit(X, y).score(X[main], y[main]) == 1.0


def test_wrong_labels_have_the_stated_rate_everywhere():
    X, y, y_true = make_label_noise(20_000, noise=0.15, rng=0)
    wrong = y != y_true
    assert abs(wrong.mean() - 0.15) < 4 * np.sqrt(0.15 * 0.85 / 20_000)
    assert abs(wrong[np.abs(X[:, 0]) > 2].mean() - 0.15) < 0.02  # not only near the boundary
    assert np.array_equal(make_label_noise(noise=0.0).y, make_label_noise(noise=0.0).y_true)


def test_no_line_separates_xor_but_radial_basis_functions_do():
    X, y = make_xor_clusters(rng=0)
    assert LogisticRegression().fit(X, y).score(X, y) <= 0.76
    assert LogisticRegression(basis=RBF("grid", n_centres=9, width=1.0)).fit(X, y).score(X, y) > 0.98


def test_narrow_basis_functions_over_fit_the_experiment_and_wide_ones_do_not():
    X, y, X_test, y_test = make_rbf_experiment(300, n_test=2000, rng=0)

    def losses(width):
        model = LogisticRegression(basis=RBF("data", width=width), alpha=1e-2).fit(X, y)
        return log_loss(y, model.predict_proba(X)), log_loss(y_test, model.predict_proba(X_test))

    (narrow, narrow_test), (wide, wide_test) = losses(0.1), losses(1.0)
    assert narrow < wide
    assert narrow_test > 1.5 * wide_test
    assert wide_test < 1.5 * wide


def test_labels_of_the_experiment_follow_the_stated_probabilities():
    X, y, X_test, _ = make_rbf_experiment(50_000, n_test=0, noise=0.5, rng=0)
    p = 1 / (1 + np.exp(-(X[:, 1] - np.sin(2 * X[:, 0])) / 0.5))
    z = (y - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 4
    near = np.abs(p - 0.7) < 0.1
    assert abs((y[near] - p[near]).mean()) < 4 * 0.5 / np.sqrt(near.sum())
    assert len(X_test) == 0


def test_lobsters_are_the_published_counts():
    lobsters = load_lobsters()
    X, y = lobsters.data, lobsters.target
    assert (len(y), y.sum()) == (159, 79)
    for size, (alive, tethered) in LOBSTERS.items():
        here = X[:, 0] == size
        assert (here.sum(), y[here].sum()) == (tethered, alive)
    assert "465" in lobsters.DESCR


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
        assert np.abs(np.subtract(shares, CONTRACT_PROBABILITIES[int(here[leaves].any())])).max() < 0.02


def test_missing_values_have_the_stated_rate_and_are_only_in_numbers():
    X, _ = make_mixed_types(20_000, missing=0.1, rng=0)
    for name in ("charge", "tenure", "calls"):
        assert abs(np.isnan(X[name]).mean() - 0.1) < 0.01
    assert set(np.unique(X["paperless"])) == {0, 1}
    assert set(np.unique(X["contract"])) == set(CONTRACTS)


def test_a_logistic_model_of_many_loans_finds_the_true_weights():
    X, y = make_loans(20_000, missing=0.0, rng=3)
    Z = np.column_stack(
        [
            np.log(X["income"] / 45) / 0.5,
            np.log(X["amount"] / 12) / 0.6,
            X["debts"],
            X["owns_home"] == "yes",
            X["purpose"] == "business",
            X["purpose"] == "travel",
            X["purpose"] == "education",
            (X["age"] - 42) / 12,
        ]
    ).astype(float)
    model = sx.LogisticRegression(alpha=0).fit(Z, y == "defaulted")
    names = "income amount debts owns_home=yes purpose=business purpose=travel purpose=education age"
    expected = np.array([LOAN_WEIGHTS[name] for name in names.split()])
    assert np.abs(model.coef_[0] - expected).max() < 0.15  # four standard errors of the least certain weight


def test_loans_are_reproducible_and_only_incomes_are_missing():
    X, y = make_loans(500, rng=1, as_frame=True)
    again, y_again = make_loans(500, rng=1, as_frame=True)
    assert X.equals(again)
    assert y.equals(y_again)
    assert 0.01 < np.isnan(X["income"]).mean() < 0.08
    assert len(set(X["application"])) == 500
    assert (X.shape, y.name) == ((500, 9), "outcome")


def test_tables_as_data_frames():
    assert list(load_lobsters(return_X_y=True, as_frame=True)[0].columns) == ["size (mm)"]
    (plain, target), (X, y) = make_mixed_types(50, rng=3), make_mixed_types(50, as_frame=True, rng=3)
    assert all(np.array_equal(X[name], plain[name]) for name in plain)
    assert np.array_equal(target, y)


def test_data_frames_without_pandas_raise_an_error_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        make_loans(5, as_frame=True)
