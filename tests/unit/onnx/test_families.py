"""Exponential families as graphs: every family, every estimate, with gaps and with values never seen."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

import separatrix as sx
from separatrix.onnx import ExportError, to_onnx
from separatrix.onnx.families import log_gamma

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
ROWS = {
    "bernoulli": (RNG.random((90, 3)) < 0.2 + 0.2 * Y[:, None]).astype(float),
    "categorical": RNG.integers(1 + Y[:, None], 5, size=(90, 3)).astype(float),
    "multinomial": 1.0 + RNG.poisson(1 + Y[:, None], size=(90, 3)),
    "poisson": RNG.poisson(1 + 3 * Y[:, None], size=(90, 3)).astype(float),
    "exponential": RNG.exponential(1 + Y[:, None], size=(90, 3)),
    "gamma": RNG.gamma(2 + Y[:, None], size=(90, 3)),
    "beta": RNG.beta(2 + Y[:, None], 3.0, size=(90, 3)),
    "dirichlet": np.stack([RNG.dirichlet([1.0 + k, 2.0, 3.0]) for k in Y]),
    "normal": RNG.normal(Y[:, None], 1.0, size=(90, 3)),
    "normal_known_variance": RNG.normal(Y[:, None], 1.0, size=(90, 3)),
    "multivariate_normal": RNG.normal(Y[:, None], 1.0, size=(90, 3)),
}
INTEGRALS = ("gamma", "beta", "dirichlet")


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("K", [2, 3])
def test_every_family(family, estimate, K, agree):
    model = sx.ExponentialFamilyClassifier(family, estimate=estimate, shared_scale=False)
    rows = ROWS[family] if family == "dirichlet" else np.float32(ROWS[family]).astype(float)
    model.fit(rows[Y < K], Y[Y < K])
    if estimate == "predictive" and family in INTEGRALS:
        with pytest.raises(ExportError, match=r"is an integral for every value.*estimate='map'"):
            to_onnx(model)
    else:
        agree(model, rows, dtype="float64")


@pytest.mark.parametrize("family", ["normal", "gamma", "multivariate_normal"])
def test_a_scale_that_classes_share(family, agree):
    agree(sx.ExponentialFamilyClassifier(family).fit(ROWS[family], Y), ROWS[family], dtype="float64")


@pytest.mark.parametrize("estimate", ["map", "predictive"])
@pytest.mark.parametrize("temper", [False, 0.3])
def test_columns_of_many_kinds_with_gaps(estimate, temper, agree):
    kinds = ["normal", "poisson", "bernoulli", "categorical", "exponential"]
    X = np.hstack([ROWS[kind][:, :1] for kind in kinds])
    X[RNG.random(X.shape) < 0.2] = np.nan
    model = sx.NaiveBayes(dict(enumerate(kinds)), estimate=estimate, temper=temper).fit(X, Y)
    asked = X.copy()
    asked[5, 3] = 99.0  # never seen
    asked[6] = np.nan  # nothing is known: the priors stand
    agree(model, asked, dtype="float64")


def test_what_is_impossible(agree):
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = sx.NaiveBayes("bernoulli", estimate="ml").fit(X, [0, 0, 1, 1])
    agree(model, np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))


def test_text_of_a_table(run):
    table = pd.DataFrame({"plan": ["free", "pro", None, "pro"] * 5, "visits": [0.0, 2.0, 1.0, np.nan] * 5})
    model = sx.NaiveBayes({"visits": "poisson"}).fit(table, np.arange(20) % 3)
    asked = pd.DataFrame({"plan": ["free", "pro", None, "gold"], "visits": [1.0, np.nan, 3.0, 4.0]})
    texts = np.array([["free"], ["pro"], [""], ["gold"]])
    found = run(to_onnx(model), {"plan": texts, "visits": asked[["visits"]].to_numpy(np.float32)})
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(asked), atol=1e-5)


def test_the_logarithm_of_the_gamma_function(evaluate):
    x = np.geomspace(1e-6, 1e9, 400)
    np.testing.assert_allclose(evaluate(log_gamma, x), special.gammaln(x), rtol=1e-11, atol=1e-11)
