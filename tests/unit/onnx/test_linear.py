"""Linear rules, discriminative models and regressions, as graphs."""

import numpy as np
import pytest

import separatrix as sx
from problems import DISCRIMINATIVE, SUM_MODELS, blobs
from separatrix.onnx.graph import ExportError, Graph
from separatrix.onnx.linear import probability
from separatrix.study import PriorOnly

RULES = SUM_MODELS | {"perceptron": lambda: sx.Perceptron(max_epochs=50), "prior_only": PriorOnly}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", RULES | DISCRIMINATIVE)
def test_every_linear_model(name, K, agree):
    X, y = blobs(150, n_classes=K)
    agree((RULES | DISCRIMINATIVE)[name]().fit(X, y), np.vstack([X, 4 * X]))


def test_probit_in_both_tails(agree):
    X, y = blobs(150, n_classes=2)
    agree(sx.ProbitRegression().fit(X, y), 8 * X)


def test_columns_far_from_zero_keep_their_digits(agree):
    """Single precision has seven digits, and an offset of a million would take six of them."""
    X, y = blobs(200, n_classes=3)
    moved = np.float32(X + 1e6).astype(float)
    agree(sx.LogisticRegression().fit(moved, y), moved)
    agree(sx.LinearDiscriminantAnalysis().fit(moved, y), moved)


@pytest.mark.parametrize(
    ("family", "link"),
    [
        ("gaussian", "identity"),
        ("gaussian", "log"),
        ("binomial", "logit"),
        ("binomial", "probit"),
        ("binomial", "cloglog"),
        ("poisson", "log"),
        ("gamma", "inverse"),
        ("gamma", "log"),
    ],
)
def test_the_mean_of_a_regression(family, link, ask):
    rng = np.random.default_rng(0)
    X = np.float32(rng.normal(size=(80, 2))).astype(float)
    t = rng.integers(2, size=80) if family == "binomial" else 2 + rng.poisson(3.0, size=80)
    model = sx.GeneralizedLinearModel(family, link).fit(X, t)
    np.testing.assert_allclose(ask(model, X)["mean"], model.predict(X), rtol=1e-5)


def test_a_likelihood_that_is_not_known():
    with pytest.raises(ExportError, match="the likelihood 3 has no form in ONNX"):
        probability(3, Graph().input("a", "double", ["N"]))
