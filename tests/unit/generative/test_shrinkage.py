import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.covariance import ledoit_wolf as sklearn_ledoit_wolf

import separatrix as sx
from problems import blobs
from separatrix.generative.shrinkage import most_evident, spectrum


@pytest.mark.parametrize("n", [30, 200])
def test_ledoit_wolf_is_scikit_learns_on_standardised_rows(n):
    X, y = blobs(n, n_features=6, n_classes=2)
    model = sx.LinearDiscriminantAnalysis(shrinkage="ledoit-wolf").fit(X, y)
    Z = X - np.stack([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    _, expected = sklearn_ledoit_wolf(Z / Z.std(axis=0), assume_centered=True)
    assert_allclose(model.shrinkage_, expected, rtol=1e-9)
    assert model.n_passes_ == 2


def log_marginal(S, n, c):
    """ln ∫ Wishart(S | Σ, n) IW(Σ | c I, c + M + 1) dΣ, by SciPy's densities and Bayes' rule at one Σ."""
    M = len(S)
    Sigma = S / n
    prior = stats.invwishart(c + M + 1, c * np.eye(M)).logpdf(Sigma)
    posterior = stats.invwishart(c + M + 1 + n, c * np.eye(M) + S).logpdf(Sigma)
    return stats.wishart(n, Sigma).logpdf(S) + prior - posterior


def test_the_most_evident_shrinkage_maximises_the_marginal_likelihood(rng):
    M, n = 5, 20
    S = stats.wishart(n, np.eye(M) + 0.5).rvs(random_state=1)
    D = np.diag(S) / n
    C = S / np.sqrt(np.outer(D, D))
    chosen = most_evident(spectrum(S, D, factored=False), n)
    grid = np.linspace(0.005, 0.995, 400)
    best = grid[np.argmax([log_marginal(C, n, n * g / (1 - g)) for g in grid])]
    assert chosen == pytest.approx(best, abs=0.005)


def test_the_spectrum_of_rows_is_that_of_their_matrix(rng):
    F, D = rng.normal(size=(4, 9)), 0.5 + rng.random(9)
    dense = spectrum(F.T @ F, D, factored=False)
    assert_allclose(np.sort(spectrum(F, D, factored=True)), np.maximum(dense, 0), atol=1e-10)


@pytest.mark.parametrize("model", [sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis])
def test_shrinkage_helps_where_rows_are_few_and_correlations_moderate(model):
    """Averaged over seeds: held-out log probabilities with λ by evidence beat those without shrinkage."""
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(1000) % 2
        X = rng.normal(size=(1000, 12)) + 0.5 * rng.normal(size=(1000, 1)) + 0.4 * y[:, None]
        few, rest = slice(0, 50), slice(50, 1000)
        scores = [
            model(shrinkage=s).fit(X[few], y[few]).predict_log_proba(X[rest])[np.arange(950), y[rest]].mean()
            for s in ("evidence", 0.0)
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.05


def test_no_rows_beyond_the_mean_leave_the_prior_alone():
    assert most_evident(np.zeros(3), 0.0) == 1.0
