"""A normal model with a log link: a mean is found where the best one is positive, and refused where it is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize_scalar

import separatrix as sx
from separatrix.exceptions import DataError

REFUSED = r"The best mean of {n} rows is zero or less.*along {columns}\. Use link='identity', set alpha > 0"
GROUP = np.repeat([0.0, 1.0], 10)
FIRST = np.linspace(3.0, 4.0, 10)


def model(**options):
    return sx.GeneralizedLinearModel("gaussian", "log", **options)


def targets(*second):
    """Positive in the first group of ten rows; in the second as given, over and over."""
    return np.append(FIRST, np.resize(second, 10))


@pytest.mark.parametrize(
    "second", [(0.0,), (-1.0,), (0.0, -2.0), (1.0, -3.0), (1.0, -1.0), (5.0, -1.0, -1.0, -1.0, -3.0)]
)
def test_a_group_whose_targets_add_up_to_no_more_than_zero_is_refused(second):
    with pytest.raises(DataError, match=REFUSED.format(n=10, columns="'x0'")):
        model().fit(GROUP[:, None], targets(*second))


@pytest.mark.parametrize("second", [(1.0, -0.9), (2.0, 0.0), (0.1,), (9.0, -1.0, -1.0, -1.0, -3.0)])
def test_a_group_with_a_positive_mean_has_it(second):
    y = targets(*second)
    fitted = model().fit(GROUP[:, None], y)
    assert_allclose(fitted.predict([[0.0], [1.0]]), [FIRST.mean(), y[10:].mean()], rtol=1e-5)


def test_the_sum_tells_on_which_side_of_zero_the_best_mean_is():
    """Of one mean μ = e^a the sum Σ (2tμ - μ²) is the rise of the objective to its limit, as the definition has it."""
    t = np.array([1.0, -3.0, 1.5])
    falling = minimize_scalar(lambda a: 0.5 * ((t - np.exp(a)) ** 2).sum(), bounds=(-30, 2), method="bounded")
    assert falling.x < -10
    mu = np.exp(-3.0)
    rise = (t**2).sum() - ((t - mu) ** 2).sum()
    assert_allclose(rise, (2 * t * mu - mu**2).sum())
    assert rise < 0


def test_other_columns_rows_on_the_plane_offsets_weights_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.tile([0.0, 1.0], 20), rng.normal(size=40)])
    y = np.where(X[:, 1] == 1, -0.5, np.exp(0.5 * X[:, 0]))
    for table in (X, sparse.csr_array(X)):
        with pytest.raises(DataError, match=REFUSED.format(n=20, columns="'x1'")):
            model().fit(table, y)
    with pytest.raises(DataError, match=REFUSED.format(n=20, columns="'x1'")):
        model().fit(X, y, offset=X[:, 2])
    fitted = model().fit(X[:, [0, 2]], y, sample_weight=1.0 - X[:, 1])  # without those rows
    assert_allclose(fitted.coef_, [0.5, 0.0], atol=1e-6)


def test_without_an_intercept():
    with pytest.raises(DataError, match=REFUSED.format(n=10, columns="'x1'")):
        model(fit_intercept=False).fit(np.column_stack([1 - GROUP, GROUP]), targets(-1.0))


def test_a_penalty_makes_the_mean_finite_and_positive_targets_are_not_asked(monkeypatch):
    penalised = model(alpha=0.1).fit(GROUP[:, None], targets(-1.0))
    assert 0 < penalised.predict([[1.0]])[0] < 0.5
    monkeypatch.setattr("separatrix.discriminative.vanishing.separability", None)
    model().fit(GROUP[:, None], targets(0.5))


def test_a_curve_among_zeros_is_fitted():
    """Zeros on one side do not object to a finite slope where positive targets do."""
    x = np.linspace(-2, 2, 30)[:, None]
    fitted = model().fit(x, np.where(x[:, 0] > 0, 0.0, 1.0))
    assert np.isfinite(fitted.standard_errors_).all()
    assert fitted.coef_[0] < 0
