import numpy as np
import pytest
from scipy import special

from separatrix import LeastSquaresClassifier, LogisticRegression, is_separable
from separatrix.datasets import make_label_noise, make_outliers, make_overlapping, make_separable

MAKERS = [make_separable, make_overlapping, make_outliers, make_label_noise]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    first, again, other = make(rng=1), make(rng=np.random.default_rng(1)), make(rng=2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_features", [1, 2, 10])
def test_separable_classes_have_the_margin_that_was_asked_for(seed, n_features):
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


def test_outliers_are_on_their_own_side():
    X, y = make_outliers(n_outliers=15, distance=6.0, rng=0)
    assert len(X) == 115
    assert (y[100:] == 1).all()
    assert (X[100:, 0] > 3).all()


def test_wrong_labels_are_as_many_as_said_and_lie_anywhere():
    X, y, y_true = make_label_noise(20_000, noise=0.15, rng=0)
    wrong = y != y_true
    assert abs(wrong.mean() - 0.15) < 4 * np.sqrt(0.15 * 0.85 / 20_000)
    assert abs(wrong[np.abs(X[:, 0]) > 2].mean() - 0.15) < 0.02  # not only near the boundary
    assert np.array_equal(make_label_noise(noise=0.0).y, make_label_noise(noise=0.0).y_true)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_separable(margin=0.0), r"make_separable\(margin=0.0\).*greater than 0"),
        (lambda: make_separable(1), r"make_separable\(n=1\).*at least 2"),
        (lambda: make_overlapping(n_features=1, n_classes=3), r"n_features=1.*at least 2"),
        (lambda: make_overlapping(distance=-1.0), r"distance=-1.0"),
        (lambda: make_outliers(n_outliers=-1), r"n_outliers=-1"),
        (lambda: make_label_noise(noise=0.7), r"noise=0.7.*between 0 and 0.5"),
    ],
)
def test_what_cannot_be_made_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
