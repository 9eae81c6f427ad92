"""Labels that are sometimes wrong: simulations in which both true classes and flipped labels are known."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from sklearn.metrics import roc_auc_score

from problems import blobs, separable
from separatrix.discriminative import LabelNoiseLogisticRegression, LogisticRegression
from separatrix.discriminative.noise_rates import STRUCTURES, Joint, Rates
from separatrix.exceptions import ConvergenceWarning, SeparationWarning
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import pose

MUSIC = Path(__file__).parents[2].parent / "shared" / "data" / "music_genre_crowd" / "music_genre.npz"


def flipped(t, C, rng):
    """Labels drawn for true classes t through a confusion matrix."""
    return (np.cumsum(C, axis=1)[t] < rng.random(len(t))[:, None]).sum(axis=1)


def logistic(n, w, rng):
    """Rows and true classes of a logistic model."""
    X = rng.normal(size=(n, len(w)))
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)


def matrix(eps0, eps1):
    return np.array([[1 - eps0, eps0], [eps1, 1 - eps1]])


def posterior_of_classes(model, X, y):
    """p(true class | label, x) by Bayes' theorem from the predictions of the model."""
    joint = model.predict_proba(X) * model.confusion_[:, np.searchsorted(model.classes_, y)].T
    return joint / joint.sum(axis=1, keepdims=True)


def stationary(model, X, y, alpha):
    """Largest component of alpha w - Σ (q - p) x per row, which is zero at an optimum."""
    slope = posterior_of_classes(model, X, y) - model.predict_proba(X)
    if len(model.classes_) == 2:
        slope = slope[:, 1:]
    grad = alpha * model.coef_ - slope.T @ X
    return max(np.abs(grad).max(), np.abs(slope.sum(axis=0)).max()) / len(X)


@pytest.mark.parametrize("noise", [0.1, None], ids=["given", "estimated"])
def test_weights_and_rate_minimise_the_stated_objective(noise, rng):
    """By SciPy. An estimated rate ε has a uniform r = ε/(1 - ε), and the mode is that in ln r/(1 - r)."""
    X, t = logistic(800, np.array([3.0, -1.0]), rng)
    y = flipped(t, matrix(0.1, 0.1), rng)

    def rate(w):
        r = 1 / (1 + np.exp(-w[3]))
        return (0.1, 0.0) if noise == 0.1 else (r / (1 + r), np.log(r * (1 - r)))

    def objective(w):
        eps, log_prior = rate(w)
        p = eps + (1 - 2 * eps) / (1 + np.exp(-X @ w[:2] - w[2]))
        return -np.log(np.where(y == 1, p, 1 - p)).sum() + 0.5 * w[:2] @ w[:2] - log_prior

    model = LabelNoiseLogisticRegression(noise=noise).fit(X, y)
    start = np.append(LogisticRegression().fit(X, y).coef_, [0.0, -2.0])
    w = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-6}).x
    assert_allclose(np.append(model.coef_, model.intercept_), w[:3], atol=1e-5 if noise == 0.1 else 1e-4)
    assert model.noise_ == pytest.approx(rate(w)[0], abs=1e-5)


def standard_errors(model, X, y):
    """Of the rates of two classes, from the Hessian of the objective in weights and η (by differences)."""
    objective = Joint(pose(as_source(X, y), Logit(), Gaussian(), fit_intercept=True), Rates.of(model.rates, 2))
    noise = np.atleast_1d(model.noise_)
    odds = noise / (1 - noise)
    theta = objective.weights.design.of_user_units(model.coef_, model.intercept_)
    vector = np.concatenate([theta.ravel(), np.log(odds / (1 - odds))])
    h = 1e-4
    hess = [
        (objective.value_grad(vector + s).grad - objective.value_grad(vector - s).grad) / (2 * h)
        for s in h * np.eye(len(vector))
    ]
    of_eta = np.sqrt(np.diag(np.linalg.inv(hess))[-len(noise) :])
    return of_eta * odds * (1 - odds) / (1 + odds) ** 2  # dε/dη


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rates", "eps"), [("one", (0.1, 0.1)), ("per-class", (0.05, 0.2))])
def test_rates_are_recovered_within_three_standard_errors(seed, rates, eps):
    """5000 rows of a logistic model with |w| = 4.1; a tenth of all labels flipped, or 5 % of one class and 20 %."""
    rng = np.random.default_rng(seed)
    X, t = logistic(5000, np.array([3.0, -2.0, 2.0, 0.0, 0.0]), rng)
    y = flipped(t, matrix(*eps), rng)
    model = LabelNoiseLogisticRegression(rates=rates).fit(X, y)
    error = standard_errors(model, X, y)
    assert (error < 0.03).all()  # otherwise the test would be trivial
    assert (np.abs(model.noise_ - np.array(eps))[: len(error)] < 3 * error).all()


def test_a_confusion_matrix_of_three_classes_is_recovered_within_three_hundredths(rng):
    """Normal classes 5 apart, 5000 rows: classes nearly do not overlap, so flips are nearly counted."""
    t = rng.integers(3, size=5000)
    X = rng.normal(size=(5000, 3)) + 3.5 * np.eye(3)[t]
    C = np.array([[0.8, 0.15, 0.05], [0.02, 0.95, 0.03], [0.1, 0.2, 0.7]])
    model = LabelNoiseLogisticRegression(rates="full").fit(X, flipped(t, C, rng))
    assert_allclose(model.confusion_, C, atol=0.03)
    assert model.noise_ is model.confusion_


def test_flipped_rows_are_found_with_an_auc_of_95_percent(rng):
    """Normal classes 4 apart in 5 columns (2.3 % on the wrong side), 5000 rows, one label in ten flipped."""
    t = rng.integers(2, size=5000)
    X = rng.normal(size=(5000, 5))
    X[:, 0] += 4.0 * t
    y = flipped(t, matrix(0.1, 0.1), rng)
    model = LabelNoiseLogisticRegression().fit(X, y)
    assert roc_auc_score(y != t, model.mislabelled_) > 0.95
    assert model.mislabelled_.sum() == pytest.approx((y != t).sum(), rel=0.1)  # the expected number


def test_clean_labels_have_a_rate_near_zero(rng):
    X, t = logistic(5000, np.array([2.0, -1.0]), rng)
    model, plain = LabelNoiseLogisticRegression().fit(X, t), LogisticRegression().fit(X, t)
    assert model.noise_ < 0.01
    assert_allclose(model.coef_, plain.coef_, rtol=0.1)


def test_the_objective_never_rises(rng):
    X, t = logistic(1000, np.array([3.0, -1.0, 0.0]), rng)
    y = flipped(t, matrix(0.1, 0.2), rng)
    for options in ({"noise": 0.15}, {}, {"rates": "full"}):
        model = LabelNoiseLogisticRegression(trace=True, **options).fit(X, y)
        values = np.array([step.value for step in model.trace_])
        assert len(values) > 3
        assert (np.diff(values) <= 1e-12 * values[0]).all()
        assert_allclose(model.trace_[-1].theta[0], model.coef_)


@pytest.mark.parametrize(("n", "n_features", "n_classes"), [(400, 4, 2), (400, 4, 3), (60, 100, 3)])
@pytest.mark.parametrize("options", [{"noise": 0.1}, {}, {"rates": "per-class"}, {"rates": "full"}])
def test_every_fit_ends_at_a_stationary_point(n, n_features, n_classes, options):
    X, y = blobs(n, n_features, n_classes, distance=3.0)
    model = LabelNoiseLogisticRegression(**options).fit(X, y)
    assert stationary(model, X, y, 1.0) < 1e-6


def test_many_rows_are_fitted_after_a_sample(rng):
    X, t = logistic(60_000, np.append([3.0, -2.0], np.zeros(38)), rng)
    y = flipped(t, matrix(0.1, 0.1), rng)
    model = LabelNoiseLogisticRegression().fit(X, y)
    assert stationary(model, X, y, 1.0) < 1e-7
    assert model.noise_ == pytest.approx(0.1, abs=0.01)
    assert model.n_passes_ <= 30


def test_mislabelled_is_bayes_theorem_for_training_rows_and_others(rng):
    X, y = blobs(200, distance=3.0)
    y = np.array(["b", "a", "c"])[y]
    model = LabelNoiseLogisticRegression(noise=0.2).fit(X[:150], y[:150])
    right = posterior_of_classes(model, X, y)[np.arange(200), np.searchsorted(model.classes_, y)]
    assert_allclose(model.mislabelled_, 1 - right[:150], atol=1e-9)
    assert_allclose(model.mislabelled(X, y), 1 - right, atol=1e-9)
    assert_allclose(model.mislabelled(X[:3], y[:3]), 1 - right[:3], atol=1e-9)  # few rows, few of the classes


def test_labels_that_a_hyperplane_separates_are_reported():
    X, y = separable()
    with pytest.warns(SeparationWarning, match="separates the classes"):
        model = LabelNoiseLogisticRegression(alpha=0.0, noise=0.1).fit(X, y)
    assert model.separation_.status == "complete"


def test_a_boundary_that_is_sharp_except_for_wrong_labels_is_reported():
    """All rows but four far from zero are on the correct side; no slope explains those four."""
    X = np.linspace(-4, 4, 200)[:, None]
    y, wrong = (X[:, 0] > 0).astype(int), [3, 10, 180, 190]
    y[wrong] = 1 - y[wrong]
    with pytest.warns(SeparationWarning, match="treats as mislabelled"):
        model = LabelNoiseLogisticRegression(alpha=0.0).fit(X, y)
    assert model.separation_.status == "overlapping"
    assert set(np.argsort(-model.mislabelled_)[:4]) == set(wrong)
    LabelNoiseLogisticRegression(alpha=0.1).fit(X, y)  # with a prior there is a maximum, and no warning


def test_too_few_steps_are_a_warning(rng):
    X, t = logistic(1000, np.array([3.0, -1.0]), rng)
    with pytest.warns(ConvergenceWarning, match="limit of steps"):
        LabelNoiseLogisticRegression(max_steps=4).fit(X, flipped(t, matrix(0.2, 0.2), rng))


@pytest.mark.data
@pytest.mark.skipif(not MUSIC.exists(), reason="the data sets are kept next to the project, and are not here")
def test_votes_of_a_crowd_on_music():
    """Each of 2945 votes on 700 pieces is a row; 44 % of them are wrong, and the true genre is known.

    Chance is an AUC of 0.5. Votes on one piece share its features, so a wrong vote is contradicted by the others: 0.93
    is reached, and 0.9 is required. The genres of 300 other pieces must be predicted at least as well as by logistic
    regression on all votes (here 5 % of the pieces better).
    """
    data = np.load(MUSIC)
    X, votes, gold = data["X_train"], data["votes_train"], data["y_train_gold"]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    piece, worker = np.nonzero(votes >= 0)
    y = votes[piece, worker].astype(int)
    rows, others = ((X - mean) / spread)[piece], (data["X_test"] - mean) / spread
    model = LabelNoiseLogisticRegression().fit(rows, y)
    plain = LogisticRegression().fit(rows, y)
    assert roc_auc_score(y != gold[piece], model.mislabelled_) > 0.9
    assert model.score(others, data["y_test"]) >= plain.score(others, data["y_test"])


# Rates and confusion matrices


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("K", [2, 3, 5])
def test_rows_of_every_confusion_matrix_sum_to_one_with_the_largest_entry_on_the_diagonal(structure, K, rng):
    rates = Rates.of(structure, K)
    for eta in (rates.start(), rng.normal(size=rates.n) * 5, np.full(rates.n, 1e4), np.full(rates.n, -1e4)):
        C = rates.confusion(eta)
        assert_allclose(C.sum(axis=1), 1.0)
        rivals = C[~np.eye(K, dtype=bool)].reshape(K, K - 1)
        assert (rivals.max(axis=1) < np.diag(C)).all()


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("K", [2, 3])
def test_gradient_and_curvature_are_those_of_counts_with_known_classes(structure, K, rng):
    """With true classes known the objective in η is -Σ counts ln C - ln p(η): its derivatives, by differences."""
    rates, counts = Rates.of(structure, K), rng.uniform(1.0, 9.0, size=(K, K))
    eta = rng.normal(size=rates.n) - 1.0

    def objective(eta):
        return rates.value_grad(eta, counts)[0] - np.sum(counts * np.log(rates.confusion(eta)))

    h = 1e-5
    steps = h * np.eye(rates.n)
    slope = [(objective(eta + s) - objective(eta - s)) / (2 * h) for s in steps]
    assert_allclose(rates.value_grad(eta, counts)[1], slope, rtol=1e-6, atol=1e-7)
    # Curvature is an expectation: it is compared where counts are what the matrix predicts.
    counts = rates.confusion(eta) * counts.sum(axis=1, keepdims=True)
    bend = [(rates.value_grad(eta + s, counts)[1] - rates.value_grad(eta - s, counts)[1]) / (2 * h) for s in steps]
    assert_allclose(rates.curvature(eta, counts), np.diag(bend), rtol=1e-5)


def test_the_prior_is_one_wrong_label_for_each_rate():
    """If all of 998 labels are correct, the rate is close to 1/1000 and not 0."""
    rates = Rates.of("one", 2)
    counts = np.diag([500.0, 498.0])
    grid = np.linspace(-12, 0, 20001)
    slope = [rates.value_grad(np.array([eta]), counts)[1][0] for eta in grid]
    best = grid[np.abs(slope).argmin()]
    assert rates.confusion(np.array([best]))[0, 1] == pytest.approx(1e-3, rel=0.01)


def joint(structure, K, n=200, weight=None):
    X, y = blobs(n, n_classes=K, distance=2.0)
    source = as_source(X, y, weight)
    weights = pose(source, Logit() if K == 2 else Softmax(K), Gaussian(), fit_intercept=True)
    return Joint(weights, Rates.of(structure, K))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("structure", ["one", "per-class", "full"])
def test_the_gradient_in_weights_and_rates_is_that_of_the_value(structure, K, rng):
    objective = joint(structure, K, weight=rng.uniform(0.5, 2.0, size=200))
    vector = np.append(rng.normal(size=np.prod(objective.weights.shape)), rng.normal(size=objective.rates.n) - 1)
    h = 1e-5
    steps = h * np.eye(len(vector))
    slope = [(objective.value_grad(vector + s).value - objective.value_grad(vector - s).value) / (2 * h) for s in steps]
    assert_allclose(objective.value_grad(vector).grad, slope, rtol=1e-6, atol=1e-5)


def test_estimated_rates_are_too_low_under_the_default_prior_and_correct_under_a_wide_one():
    """The numbers in the notes of the class; a standard error of a mean of ten is 0.008."""
    found = {1.0: [], 0.01: []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, w = rng.normal(size=(500, 4)), rng.normal(size=4)
        y = rows @ (6 * w / np.linalg.norm(w)) + rng.logistic(size=500) > 0
        labels = np.where(rng.random(500) < 0.2, ~y, y)
        for alpha, rates in found.items():
            rates.append(LabelNoiseLogisticRegression(alpha=alpha).fit(rows, labels).noise_)
    assert np.mean(found[1.0]) == pytest.approx(0.15, abs=0.02)
    assert np.mean(found[0.01]) == pytest.approx(0.20, abs=0.02)
