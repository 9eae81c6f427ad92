"""Coverage of intervals and log-loss of models without a stated prior, on simulated tables whose weights are known.

A 95 % interval must contain the true weight in about 95 % of all cases, although the scale of the weights is unknown.
The log-loss must be within 4 % of that of the best of several stated scales, which a user does not know.
"""

import numpy as np
import pytest
from scipy import special

import separatrix as sx

N_WEIGHTS, N_SCORED = 1000, 15  # weights per case, and tables whose log-loss is compared
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
    for seed in range(N_WEIGHTS // p):
        rng = np.random.default_rng(seed)
        w, X, new = rng.normal(0, scale, p), rng.normal(size=(n, p)), rng.normal(size=(300, p))
        y, truth = rng.random(n) < special.expit(X @ w), special.expit(new @ w)
        model = sx.BayesianLogisticRegression().fit(X, y)
        found = model.summary()
        inside.append(((found.lower[:p] < w) & (w < found.upper[:p])).mean())
        if seed >= N_SCORED:
            continue
        others = [sx.BayesianLogisticRegression(sx.Gaussian(s)).fit(X, y) for s in (0.1, 0.5, 2.0)]
        for losses, models in ((loss, [model]), (stated, others)):
            P = np.stack([each.predict_proba(new)[:, 1] for each in models])
            losses.append(-(special.xlogy(truth, P) + special.xlog1py(1 - truth, -P)).mean(axis=1))
    assert 0.93 <= np.mean(inside) <= 0.98
    assert np.mean(loss) <= 1.04 * np.mean(stated, axis=0).min()
