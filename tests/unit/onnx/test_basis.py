"""Every basis, evaluated by a graph and by itself."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.basis import RBF, Linear, MultiScaleRBF, Polynomial, RandomFourier, Sigmoid, Spline
from separatrix.onnx import to_onnx
from separatrix.onnx.basis import functions
from separatrix.onnx.graph import ExportError
from separatrix.study import Ramps

X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 30.0] + [0.0, 500.0]
BEYOND = np.vstack([X, X.mean(axis=0) + 3 * (X - X.mean(axis=0))])

BASES = {
    "linear": Linear(),
    "polynomial": Polynomial(3),
    "interactions": Polynomial(2, interaction_only=True),
    "rbf": RBF("kmeans", n_centres=5, width=20.0),
    "rbf_far_apart": RBF([[0.0, 0.0], [1e6, 1e6], [0.5, 500.0]], width=1.0),
    "multi_scale": MultiScaleRBF(n_centres=3, n_scales=2),
    "sigmoid": Sigmoid(),
    "fourier": RandomFourier(12),
    "union": Linear() + Sigmoid(n_centres=3) + Polynomial(2),
    "ramps": Ramps([1], n_knots=5),
    **{f"spline_{kind}": Spline(extrapolation=kind) for kind in ("constant", "linear", "continue", "periodic")},
    "spline_line": Spline(n_knots=4, degree=1, knots="quantile"),
}


@pytest.mark.parametrize("name", BASES)
def test_the_functions_are_the_same(name, evaluate):
    basis = BASES[name].fit(X)
    found = evaluate(lambda x: functions(basis, x), BEYOND)
    expected = basis.transform(BEYOND)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_at_the_knots(evaluate):
    basis = Spline(n_knots=4).fit(X)
    knots = basis.knots_
    np.testing.assert_allclose(evaluate(lambda x: functions(basis, x), knots), basis.transform(knots), atol=1e-12)


def test_a_gap_stays_one(evaluate):
    gaps = X.copy()
    gaps[3, 0] = np.nan
    for name in ("rbf", "sigmoid", "spline_constant", "polynomial"):
        basis = BASES[name].fit(X)
        assert np.isnan(evaluate(lambda x, basis=basis: functions(basis, x), gaps)[3]).any(), name


def test_a_model_through_a_basis(agree):
    y = (X[:, 0] ** 2 + np.random.default_rng(1).normal(size=60) > 1).astype(int)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    agree(sx.LogisticRegression(basis=Polynomial(2) + RBF("kmeans", n_centres=4)).fit(scaled, y), scaled)


def test_transformers_of_others_are_refused():
    model = sx.LogisticRegression(basis=StandardScaler()).fit(X, X[:, 0] > 0)
    with pytest.raises(ExportError, match=r"not one of separatrix.basis.*Use one of them"):
        to_onnx(model)
