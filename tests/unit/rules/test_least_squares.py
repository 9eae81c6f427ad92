import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from problems import blobs
from separatrix.rows import as_source
from separatrix.rules.least_squares import fit_least_squares
from separatrix.stats import FactoredScatter, PooledScatter, class_moments, collect_moments


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_wide_path_gives_the_answer_of_the_tall_one(fit_intercept, alpha):
    X, y = blobs(60)
    source = as_source(X, y)
    tall = collect_moments(source, 3, PooledScatter)
    wide = source.reduce(lambda block: class_moments(block, 3, FactoredScatter))
    a, b = (fit_least_squares(m, alpha=alpha, fit_intercept=fit_intercept) for m in (tall, wide))
    assert_allclose(b.W, a.W, rtol=1e-8, atol=1e-10)
    assert_allclose(b.w0, a.w0, rtol=1e-8, atol=1e-10)


def test_one_pass_is_one_pass():
    X, y = blobs(60)
    model = sx.LeastSquaresClassifier().fit(X, y)
    assert (model.n_passes_, model.n_steps_) == (1, 1)
    assert model.solution_.status is sx.solvers.Status.SOLVED


def test_a_larger_alpha_gives_smaller_weights():
    X, y = blobs(60)
    norms = [np.linalg.norm(sx.LeastSquaresClassifier(alpha=a).fit(X, y).coef_) for a in (0, 1, 10, 1000)]
    assert norms == sorted(norms, reverse=True)
