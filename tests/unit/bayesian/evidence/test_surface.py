"""Every cell of the grid is the evidence of that model, fitted alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import blobs
from separatrix.basis import RBF, Polynomial, fit_basis
from separatrix.bayesian.evidence import FitLaplace
from separatrix.bayesian.surface import evidence_surface
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, Logit, Softmax
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose

WIDTHS, SCALES = [0.3, 1.0, 4.0], [30.0, 0.1, 1.0]


def direct(X, y, width, scale, likelihood, standardize):
    source = as_source(X, y)
    rows = source.mapped(fit_basis(RBF(width=width), source))
    prior = Gaussian(scale, intercept_scale=10.0)
    objective = pose(rows, likelihood, prior, fit_intercept=True, standardize=standardize)
    return FitLaplace(1e-12).fit(objective, None).log_evidence


@pytest.mark.parametrize("standardize", [False, True], ids=["as_is", "standardized"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_surface_is_the_evidence_of_each_cell(n_classes, standardize):
    X, y = blobs(n=90, n_features=2, n_classes=n_classes)
    found = evidence_surface(
        X, y, basis_of_width=lambda w: RBF(width=w), widths=WIDTHS, scales=SCALES, standardize=standardize
    )
    likelihood = Logit() if n_classes == 2 else Softmax(3)
    expected = [[direct(X, y, width, scale, likelihood, standardize) for scale in SCALES] for width in WIDTHS]
    assert_allclose(found.log_evidence, expected, atol=1e-6)
    i, j = np.unravel_index(np.argmax(expected), (3, 3))
    assert found.best == (WIDTHS[i], SCALES[j])
    assert (found.rank <= 90).all()
    assert found.rank[2] < 60  # wide functions are smooth, and span few directions


def test_any_basis_and_likelihood_will_do():
    X, y = blobs(n=80, n_features=2, n_classes=2)
    noisy = LabelNoise(0.05)
    found = evidence_surface(
        X, y, basis_of_width=lambda d: Polynomial(int(d)), widths=[1, 2, 3], scales=[0.5, 1.0], likelihood=noisy
    )
    source = as_source(X, y)
    rows = source.mapped(fit_basis(Polynomial(2), source))
    objective = pose(rows, noisy, Gaussian(1.0, intercept_scale=10.0), fit_intercept=True)
    assert_allclose(found.log_evidence[1, 1], FitLaplace(1e-12).fit(objective, None).log_evidence, atol=1e-6)


def test_bad_axes_and_labels_are_refused():
    X, y = blobs(n=30, n_features=2, n_classes=2)
    arguments = {"basis_of_width": lambda w: RBF(width=w), "widths": [1.0], "scales": [1.0]}
    with pytest.raises(ValueError, match="widths"):
        evidence_surface(X, y, **arguments | {"widths": [1.0, -1.0]})
    with pytest.raises(ValueError, match="scales"):
        evidence_surface(X, y, **arguments | {"scales": []})
    with pytest.raises(DataError, match="Every label is 1"):
        evidence_surface(X, np.ones(30, dtype=int), **arguments)
    with pytest.raises(DataError, match="30 rows but y has 29"):
        evidence_surface(X, y[1:], **arguments)
