"""PRML §4.1: discriminant functions. Each test is an equation, an exercise or a figure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import separatrix as sx
from problems import blobs, separable
from separatrix.rules._online import perceptron_rows, start

OVERLAPPING = pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_exercise_4_2_least_squares_outputs_sum_to_one(n_classes, alpha, rng):
    X, y = blobs(200, n_classes=n_classes)
    model = sx.LeastSquaresClassifier(alpha=alpha).fit(X, y)
    far = 1e3 * rng.normal(size=(50, 4))
    assert_allclose(model.outputs(far).sum(axis=1), 1.0, atol=1e-9)
    assert model.outputs(far).max() > 1  # outputs sum to one but are not probabilities


def test_equation_4_16_least_squares_uses_the_pseudo_inverse():
    X, y = blobs(100, n_classes=3)
    model = sx.LeastSquaresClassifier().fit(X, y)
    tilde = np.column_stack([np.ones(len(X)), X])
    W = np.linalg.pinv(tilde) @ np.eye(3)[y]
    assert_allclose(model.coef_, W[1:].T, rtol=1e-9)
    assert_allclose(model.intercept_, W[0], rtol=1e-9)


def test_two_classes_are_the_regression_on_plus_and_minus_one():
    X, y = blobs(100, n_classes=2)
    model = sx.LeastSquaresClassifier().fit(X, y)
    tilde = np.column_stack([np.ones(len(X)), X])
    w = np.linalg.lstsq(tilde, 2.0 * y - 1, rcond=None)[0]
    assert_allclose(model.decision_function(X), tilde @ w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_section_4_1_5_fisher_is_least_squares_with_targets_N_over_N_k(seed):
    X, y = blobs(150, n_features=5, n_classes=2, seed=seed)
    y[: 30 * seed] = 0  # unbalanced, so that the targets matter
    fisher = sx.FisherDiscriminant().fit(X, y)
    regression = sx.LeastSquaresClassifier(targets="fisher").fit(X, y)
    w, v = fisher.coef_[0], regression.coef_[0]
    assert_allclose(v / np.linalg.norm(v), w / np.linalg.norm(w), rtol=1e-8)  # (4.38)
    assert_allclose(regression.intercept_[0], -v @ X.mean(axis=0), rtol=1e-8, atol=1e-9)  # (4.34)
    assert np.array_equal(fisher.predict(X), regression.predict(X))
    N, N1 = len(y), y.sum()
    t = np.where(y == 1, N / N1, -N / (N - N1))
    direct = np.linalg.lstsq(np.column_stack([X, np.ones(N)]), t, rcond=None)[0]
    assert_allclose(np.append(v, regression.intercept_), direct, rtol=1e-7, atol=1e-9)


def criterion(w, X, y):
    """Return J(w) of (4.26), from its definition."""
    m = X.mean(axis=0)
    means = np.stack([X[y == k].mean(axis=0) for k in np.unique(y)])
    S_W = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in np.unique(y))
    S_B = sum((y == k).sum() * np.outer(means[k] - m, means[k] - m) for k in np.unique(y))
    return (w @ S_B @ w) / (w @ S_W @ w)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_equation_4_26_fishers_direction_maximises_the_criterion(n_classes, rng):
    X, y = blobs(200, n_classes=n_classes)
    model = sx.FisherDiscriminant().fit(X, y)
    best = criterion(model.scalings_[:, 0], X, y)
    assert best == pytest.approx(model.ratio_[0], rel=1e-9)
    nearby = model.scalings_[:, 0] + 0.1 * rng.normal(size=(200, 4))
    assert max(criterion(w, X, y) for w in nearby) <= best * (1 + 1e-12)
    assert max(criterion(w, X, y) for w in rng.normal(size=(200, 4))) <= best


def test_section_4_1_6_at_most_K_minus_1_directions_with_unit_covariance_within_classes():
    X, y = blobs(500, n_features=6, n_classes=4)
    model = sx.FisherDiscriminant().fit(X, y)
    Z = model.transform(X)
    assert Z.shape == (500, 3)
    assert (np.diff(model.ratio_) <= 0).all()
    within = sum(np.cov(Z[y == k].T, ddof=0) * (y == k).sum() for k in range(4)) / 500
    assert_allclose(within, np.eye(3), atol=1e-9)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-9)


def test_the_two_conventions_of_S_W_agree_when_classes_are_equally_large():
    X, y = blobs(200, n_classes=2)
    y = np.arange(200) % 2
    pooled, mean = (sx.FisherDiscriminant(scatter=s).fit(X, y).coef_ for s in ("pooled", "mean"))
    assert_allclose(mean, pooled, rtol=1e-9)


def test_the_mean_convention_from_its_definition():
    X, y = blobs(200, n_classes=2)
    y[:90] = 0
    X0, X1 = X[y == 0], X[y == 1]
    S = (np.cov(X0.T, ddof=0) + np.cov(X1.T, ddof=0)) / 2
    w = np.linalg.solve(S, X1.mean(axis=0) - X0.mean(axis=0))
    assert_allclose(sx.FisherDiscriminant(scatter="mean").fit(X, y).coef_[0], w, rtol=1e-9)


@pytest.mark.parametrize("n0", [20, 100, 180])
def test_the_normal_threshold_is_where_the_two_fitted_normals_cross(n0, rng):
    y = (np.arange(200) >= n0).astype(int)
    X = rng.normal(size=(200, 3)) * np.where(y, 2.5, 1.0)[:, None] + 3.0 * y[:, None]
    model = sx.FisherDiscriminant(threshold="normal").fit(X, y)
    z = X @ model.coef_[0]
    at = -model.intercept_[0]
    log_density = [np.log((y == k).mean()) + stats.norm(z[y == k].mean(), z[y == k].std()).logpdf(at) for k in (0, 1)]
    assert log_density[0] == pytest.approx(log_density[1], rel=1e-9)
    assert z[y == 0].mean() < at < z[y == 1].mean()


def test_figure_4_4_outliers_move_least_squares_but_not_the_perceptron(rng):
    X = np.vstack([rng.normal([-1, 1], 0.3, (40, 2)), rng.normal([1, -1], 0.3, (40, 2))])
    y = np.repeat([0, 1], 40)
    far = np.vstack([X, rng.normal([8, -12], 0.3, (15, 2))])  # far on the correct side of any reasonable boundary
    far_y = np.append(y, np.ones(15, dtype=int))
    assert sx.LeastSquaresClassifier().fit(X, y).score(X, y) == 1
    assert sx.LeastSquaresClassifier().fit(far, far_y).score(far, far_y) < 1
    assert sx.Perceptron().fit(far, far_y).score(far, far_y) == 1


def test_figure_4_5_least_squares_masks_the_middle_class(rng):
    X = np.vstack([rng.normal(c, 0.3, (60, 2)) for c in ([-2, -2], [0, 0], [2, 2])])
    y = np.repeat([0, 1, 2], 60)
    assert (sx.LeastSquaresClassifier().fit(X, y).predict(X) == 1).mean() < 0.1
    assert sx.FisherDiscriminant().fit(X, y).score(X, y) > 0.98


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 60),
    gap=st.sampled_from([0.05, 0.3, 2.0]),
    shuffle=st.booleans(),
    intercept=st.booleans(),
)
def test_novikoff_the_perceptron_makes_at_most_R_over_gamma_squared_mistakes(seed, n, gap, shuffle, intercept):
    X, y = separable(n, seed=seed, gap=gap)
    y[0], y[1] = 0, 1
    X[0], X[1] = -np.abs(X[0]), np.abs(X[1])
    result = sx.is_separable(X, y, fit_intercept=intercept)
    if result.status != "complete":
        return
    model = sx.Perceptron(max_epochs=100_000, shuffle=shuffle, rng=seed, fit_intercept=intercept).fit(X, y)
    assert model.score(X, y) == 1
    assert model.n_mistakes_ <= result.novikoff_bound * (1 + 1e-9)


def test_equation_4_55_one_step_at_a_time():
    X, y = separable(40, gap=0.05)
    model = sx.Perceptron(trace=True, learning_rate=0.5, max_epochs=1000).fit(X, y)
    w, w0, rows = np.zeros(3), 0.0, []
    while not rows or rows[-1] is not None:
        before = len(rows)
        for n, (x, t) in enumerate(zip(X, 2 * y - 1, strict=True)):
            if t * (w @ x + w0) <= 0:
                w, w0 = w + 0.5 * t * x, w0 + 0.5 * t
                rows.append(n)
        if len(rows) == before:
            rows.append(None)
    assert [update.row for update in model.solution_.trace] == rows[:-1]
    assert_allclose(model.coef_[0], w, rtol=1e-12)
    assert_allclose(model.solution_.trace[-1].W[0], w, rtol=1e-12)
    untraced = sx.Perceptron(learning_rate=0.5, max_epochs=1000).fit(X, y)
    assert_allclose(untraced.coef_, model.coef_, rtol=1e-12)


@OVERLAPPING
def test_the_averaged_perceptron_is_the_mean_of_the_weights_after_every_row():
    X, y = blobs(60, n_classes=2, distance=0.3)
    W, w, w0 = [], np.zeros(4), 0.0
    for _ in range(3):
        for x, t in zip(X, 2 * y - 1, strict=True):
            if t * (w @ x + w0) <= 0:
                w, w0 = w + t * x, w0 + t
            W.append(np.append(w, w0))
    model = sx.Perceptron(max_epochs=3, weights="average").fit(X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), np.mean(W, axis=0), rtol=1e-9)


@OVERLAPPING
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_pocket_perceptron_makes_fewer_errors_than_the_last_weights(n_classes):
    errors = {"last": [], "pocket": []}
    for seed in range(12):
        X, y = blobs(150, n_classes=n_classes, seed=seed, distance=1.0)
        for kind, kept in errors.items():
            kept.append(1 - sx.Perceptron(max_epochs=20, weights=kind).fit(X, y).score(X, y))
    assert np.mean(errors["pocket"]) < np.mean(errors["last"])


def test_the_K_class_rule_with_two_classes_makes_the_mistakes_of_the_two_class_rule():
    X, y = separable(60, gap=0.05)
    one, two = start(1, 3), start(2, 3)
    step = np.ones(60)
    for _ in range(5):
        assert perceptron_rows(X, y, step, 1.0, one) == perceptron_rows(X, y, step, 1.0, two)
    assert_allclose(two.w[1] - two.w[0], 2 * one.w[0], rtol=1e-12)
