"""Coverage of intervals and log-loss of models without a stated prior, on simulated tables whose weights are known.

A 95 % interval must contain the true weight in about 95 % of all cases, although the scale of the weights is unknown.
The log-loss must be within 4 % of that of the best of several stated scales, which a user does not know.
"""

import numpy as np
import pytest
from scipy import special

import separatrix as sx

N_WEIGHTS, N_SCORED = 1000, 40  # weights per case, and tables whose log-loss is compared
CASES = {
    "many_columns": (200, 50, 0.5),
    "small_weights": (200, 10, 0.15),
    "few_rows": (100, 50, 0.5),
    "large_weights": (100, 4, 2.5),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(("n", "p", "scale"), CASES.values(), ids=CASES)
def test_intervals_contain_the_true_weights(n, p, scale):
    inside, loss, stated = [], [], []
    for seed in range(max(N_SCORED, N_WEIGHTS // p)):
        rng = np.random.default_rng(seed)
        w, X, new = rng.normal(0, scale, p), rng.normal(size=(n, p)), rng.normal(size=(300, p))
        y, truth = rng.random(n) < special.expit(X @ w), special.expit(new @ w)
        model = sx.BayesianLogisticRegression().fit(X, y)
        found = model.summary()
        inside.append(((found.lower[1:] < w) & (w < found.upper[1:])).mean())
        if seed >= N_SCORED:
            continue
        others = [sx.BayesianLogisticRegression(sx.Gaussian(s)).fit(X, y) for s in (0.1, 0.5, 2.0)]
        for losses, models in ((loss, [model]), (stated, others)):
            P = np.stack([each.predict_proba(new)[:, 1] for each in models])
            losses.append(-(special.xlogy(truth, P) + special.xlog1py(1 - truth, -P)).mean(axis=1))
    assert 0.94 <= np.mean(inside) <= 0.97
    assert np.mean(loss) <= 1.04 * np.mean(stated, axis=0).min()


def coverage_and_loss(model, X, y, w, new):
    """Return the fraction of weights inside their 95 % intervals, and the expected log-loss of new rows."""
    found, truth = model.fit(X, y).summary(), special.expit(new @ w)
    P = model.predict_proba(new)[:, 1]
    inside = ((found.lower[1:] < w) & (w < found.upper[1:])).mean()
    return inside, -(special.xlogy(truth, P) + special.xlog1py(1 - truth, -P)).mean()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("alignment", [-1, 0, 1])
def test_a_prior_without_a_stated_shape_is_as_good_as_one_scale_if_columns_are_correlated(alignment):
    p, results = 20, []
    values, axes = np.linalg.eigh(0.8 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
    spread = values ** (alignment / 2) * np.sqrt(p / (values ** (alignment + 1)).sum())
    for seed in range(40):
        rng = np.random.default_rng(seed)
        w = axes @ (rng.normal(0, 0.5, p) * spread)
        X, new = (rng.normal(size=(n, p)) @ (axes * np.sqrt(values)).T for n in (150, 300))
        y = rng.random(len(X)) < special.expit(X @ w)
        models = sx.BayesianLogisticRegression(), sx.BayesianLogisticRegression(sx.Gaussian(), tune="evidence")
        results.append([coverage_and_loss(model, X, y, w, new) for model in models])
    (inside, loss), (_, loss_of_one) = np.mean(results, axis=0)
    assert inside >= 0.93
    assert loss <= 1.005 * loss_of_one


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("n", "p"), [(100, 10), (200, 50)])
def test_one_scale_per_column_is_as_good_as_one_scale(n, p, is_sparse):
    results = []
    for seed in range(300 // p + 6):
        rng = np.random.default_rng(seed)
        w = rng.normal(0, 1.6 / np.sqrt(p), p)
        if is_sparse:
            w = np.where(rng.random(p) < 0.2, np.sqrt(5) * w, 0.0)
        X, new = rng.normal(size=(n, p)), rng.normal(size=(300, p))
        y = rng.random(n) < special.expit(X @ w)
        models = (sx.BayesianLogisticRegression(sx.Gaussian(), tune="evidence", groups=g) for g in ("columns", None))
        results.append([coverage_and_loss(model, X, y, w, new) for model in models])
    (inside, loss), (_, loss_of_one) = np.mean(results, axis=0)
    assert inside >= 0.93
    assert loss <= 1.005 * loss_of_one
