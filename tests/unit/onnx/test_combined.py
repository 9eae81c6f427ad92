"""Reductions, decisions by cost, and averages of models, as graphs."""

import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.onnx.combined import couple
from separatrix.reductions import couple as coupled

X, Y = blobs(120, n_classes=3, distance=1.0)
WORDS = np.array(["ash", "birch", "cedar"])

INNER = {
    "logistic": sx.LogisticRegression(),
    "fisher": sx.FisherDiscriminant(),
    "lda": sx.LinearDiscriminantAnalysis(),
    "bayesian": sx.BayesianLogisticRegression(approximation="laplace"),
}


@pytest.mark.parametrize("ambiguous", ["resolve", "reject"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("kind", [sx.OneVsRest, sx.OneVsOne])
def test_reductions(kind, inner, ambiguous, agree):
    agree(kind(INNER[inner], ambiguous=ambiguous).fit(X, WORDS[Y]), X)


@pytest.mark.parametrize("kind", [sx.OneVsRest, sx.OneVsOne])
def test_reductions_of_two_classes(kind, agree):
    agree(kind(sx.LogisticRegression()).fit(X, WORDS[np.minimum(Y, 1)]), X)


@pytest.mark.parametrize("K", [3, 6])
def test_coupling_of_pairs(K, evaluate):
    r = np.random.default_rng(0).random((50, K * (K - 1) // 2))
    r[:3] = np.round(r[:3])  # also where a pair is certain
    np.testing.assert_allclose(evaluate(lambda p: couple(p, K), r), coupled(r, K), atol=1e-11)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reject": 0.6},
        {"costs": [[0, 1, 5], [1, 0, 1], [9, 1, 0]]},
        {"costs": [[0, 1, 5, 0.4], [1, 0, 1, 0.4], [9, 1, 0, 0.4]]},
        {"costs": {("ash", "birch"): 4.0}, "reject": 0.5, "reject_label": "ask"},
    ],
)
def test_decisions(options, agree):
    agree(sx.DecisionRule(sx.LogisticRegression(), **options).fit(X, WORDS[Y]), X)


def test_an_average_of_models(agree):
    narrow, wide = (sx.BayesianLogisticRegression(prior=sx.Gaussian(scale=s)) for s in (0.2, 0.3))
    model = sx.ModelAverage({"narrow": narrow, "wide": wide}).fit(X, Y)
    assert min(model.weights_.values()) > 0
    agree(model, X)
