"""Probit regression: the stated objective, tails, soft targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from problems import blobs
from separatrix.discriminative import ProbitRegression


def two_classes(n=400, seed=0):
    return blobs(n, n_classes=2, seed=seed, distance=0.5)


def minimum(X, y, alpha, weight=1.0):
    """The optimum by SciPy, of the objective as the docstring states it."""

    def objective(w):
        a = X @ w[:-1] + w[-1]
        return -np.sum(weight * special.log_ndtr(np.where(y == 1, a, -a))) + 0.5 * alpha * w[:-1] @ w[:-1]

    return optimize.minimize(objective, np.zeros(X.shape[1] + 1), method="BFGS", options={"gtol": 1e-6}).x


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0])
def test_the_weights_minimise_the_stated_objective(alpha):
    X, y = two_classes()
    model = ProbitRegression(alpha=alpha).fit(X, y)
    assert_allclose(np.append(model.coef_, model.intercept_), minimum(X, y, alpha), atol=1e-5)


def test_probabilities_are_normal_and_keep_their_digits_in_both_tails():
    X, y = two_classes()
    model = ProbitRegression().fit(X, y)
    direction = model.coef_[0] / np.linalg.norm(model.coef_) ** 2
    far = (np.array([[-30.0], [30.0]]) - model.intercept_) * direction
    P = model.predict_proba(far)
    tail = special.ndtr(-30.0)
    assert_allclose(P, [[1, tail], [tail, 1]], rtol=1e-9)
