import numpy as np
import pytest
from sklearn.metrics import log_loss

from separatrix import LogisticRegression
from separatrix.basis import RBF
from separatrix.datasets import make_gaussian_grid, make_rbf_experiment, make_xor_clusters


@pytest.mark.parametrize("make", [make_xor_clusters, make_gaussian_grid, make_rbf_experiment])
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(make):
    first, again, other = make(rng=1), make(rng=np.random.default_rng(1)), make(rng=2)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_no_line_tells_xor_and_radial_basis_functions_do():
    X, y = make_xor_clusters(rng=0)
    assert LogisticRegression().fit(X, y).score(X, y) <= 0.76
    assert LogisticRegression(basis=RBF("grid", n_centres=9, width=1.0)).fit(X, y).score(X, y) > 0.98


def test_xor_clusters_have_the_spread_that_was_asked_for():
    X, y = make_xor_clusters(40_000, std=0.2, rng=0)
    assert y.mean() == 0.5
    assert np.abs(X - np.sign(X)).max() < 1.0
    assert abs((X - np.sign(X)).std() - 0.2) < 0.002


@pytest.mark.parametrize("n_classes", [2, 3])
def test_grid_cells_alternate(n_classes):
    X, y = make_gaussian_grid(1000, variance=0.002, n_classes=n_classes, rng=0)
    cell = np.rint(X)
    assert np.array_equal(np.unique(cell), np.arange(5))
    assert np.array_equal(cell.sum(axis=1) % n_classes, y)
    assert abs(np.mean((X - cell) ** 2) - 0.002) < 2e-4


def test_random_cells_have_one_class_each_all_equally_often():
    X, y = make_gaussian_grid(900, variance=0.001, side=6, n_classes=3, pattern="random", rng=0)
    cell = np.rint(X) @ [6, 1]
    of_cell = [np.unique(y[cell == c]) for c in range(36)]
    assert all(len(classes) == 1 for classes in of_cell)
    assert np.bincount(np.concatenate(of_cell)).tolist() == [12, 12, 12]
    assert not np.array_equal(np.concatenate(of_cell), np.add(*np.divmod(np.arange(36), 6)) % 3)


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_xor_clusters(std=0.0), r"std=0.0"),
        (lambda: make_gaussian_grid(10), r"n=10.*at least 25"),
        (lambda: make_gaussian_grid(pattern="spiral"), r"pattern='spiral'.*'alternate', 'random'"),
        (lambda: make_gaussian_grid(variance=-1.0), r"variance=-1.0"),
        (lambda: make_rbf_experiment(n_test=-1), r"n_test=-1"),
    ],
)
def test_what_cannot_be_made_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
