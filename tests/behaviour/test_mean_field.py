"""Posteriors of sparse tables: independent weights, tuned without a matrix of the weights or of the rows."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special, stats

import separatrix as sx
from separatrix.bayesian.by_class import coupled_fit
from separatrix.bayesian.contrasts import power_of_spread
from separatrix.bayesian.ep import expectation_propagation
from separatrix.bayesian.posterior import laplace
from separatrix.bayesian.sparse_ep import SparseEP, SparseRows
from separatrix.bayesian.uncoupled import laplace_diagonal
from separatrix.bayesian.variational import variational, variational_diagonal
from separatrix.likelihoods import Logit, Probit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import Auto, pose


def messages(n, n_words, rng, *, length=12):
    """Sparse rows of words, most of which are rare, and labels that depend on the frequent words."""
    words = np.minimum(n_words * rng.power(0.3, size=(n, length)), n_words - 1).astype(int)
    X = sparse.coo_array((np.ones(words.size), (np.repeat(np.arange(n), length), words.ravel())), (n, n_words)).tocsr()
    X.data = np.log1p(X.data)
    a = X @ (1.5 * rng.normal(size=n_words))
    return X, (rng.random(n) < special.expit(a - np.median(a))).astype(int)


def posed(X, y, likelihood=None, scale=1.0, *, fit_intercept=True):
    prior = Gaussian(scale, intercept_scale=5.0)
    return pose(as_source(X, y), likelihood or Logit(), prior, fit_intercept=fit_intercept, standardize=True)


def fitted(X, y, weight=None, **arguments):
    return sx.BayesianLogisticRegression(structure="mean field", rng=0, **arguments).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("scale", [0.05, 0.2, 0.8])
def test_the_evidence_of_two_classes_is_that_of_the_full_covariance(scale, rng):
    """Without coupling, it would be 4 to 50 nats lower."""
    objective = posed(*messages(150, 200, rng), scale=scale)
    mode = Auto(1e-8).minimise(objective, np.zeros(objective.shape)).value
    exact, uncoupled = laplace(objective, mode).log_evidence, laplace_diagonal(objective, mode).log_evidence
    found = coupled_fit(objective, mode, 1e-8, is_diagonal=True).log_evidence
    assert abs(found - exact) < 0.05 * (exact - uncoupled)


@pytest.mark.parametrize("likelihood", [Logit(), Probit()])
def test_a_mean_field_of_one_weight_is_the_variational_posterior(likelihood, rng):
    X = rng.normal(size=(40, 1))
    objective = posed(X, (X[:, 0] + rng.normal(size=40) > 0).astype(int), likelihood, fit_intercept=False)
    mode = Auto(1e-10).minimise(objective, np.zeros(objective.shape)).value
    exact = variational(objective, laplace(objective, mode), tol=1e-8)
    found = variational_diagonal(objective, laplace_diagonal(objective, mode), tol=1e-10)
    assert_allclose(found.mean, exact.mean, rtol=1e-4)
    assert_allclose(found.std, exact.std, rtol=1e-4)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-6)


def test_a_mean_field_of_two_classes_bounds_the_evidence(rng):
    """Importance sampling from the full variational posterior gives the evidence."""
    objective = posed(*messages(80, 12, rng))
    mode = Auto(1e-8).minimise(objective, np.zeros(objective.shape)).value
    wide = variational(objective, laplace(objective, mode))
    found = variational_diagonal(objective, laplace_diagonal(objective, mode), tol=1e-6)
    assert found.log_evidence < wide.log_evidence
    theta = wide.sample(2000, rng)
    log_q = stats.multivariate_normal(wide.mean.ravel(), wide.covariance).logpdf(theta.reshape(2000, -1))
    at_zero = 0.5 * objective.prior.log_det() - 0.5 * theta[0].size * np.log(2 * np.pi)
    log_p = np.array([at_zero - objective.value_grad(each).value for each in theta])
    assert found.log_evidence < special.logsumexp(log_p - log_q) - np.log(2000)


@pytest.mark.parametrize("scale", [0.1, 0.4])
@pytest.mark.parametrize("likelihood", [Logit(), Probit()])
def test_expectation_propagation_of_sparse_rows_is_nearly_that_of_the_full_covariance(likelihood, scale, rng):
    X, y = messages(150, 200, rng)
    objective = posed(X, y, likelihood, scale)
    mode = Auto(1e-8).minimise(objective, np.zeros(objective.shape)).value
    exact = expectation_propagation(objective, laplace(objective, mode), corrected=False)
    found = SparseEP(SparseRows.of(objective), []).fit(objective, mode, with_evidence=True)
    assert found.is_converged
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.5)
    new, _ = messages(100, 200, rng)
    a, b = (each.activations(new, objective.design) for each in (found, exact))
    assert np.abs((a.mean - b.mean) / np.sqrt(b.variance)).mean() < 0.05
    assert np.abs(np.log(a.variance / b.variance)).mean() < 0.1


def test_storage_order_and_weights_do_not_change_a_mean_field(rng):
    """Dense and sparse rows, permuted rows, and rows with weights instead of copies; permuted columns if not tuned."""
    X, y = messages(120, 60, rng)
    new, weight = messages(30, 60, rng)[0], rng.integers(1, 3, size=len(y))
    rows, columns, copies = rng.permutation(len(y)), rng.permutation(60), np.repeat(np.arange(len(y)), weight)
    tuned, stated = fitted(X, y, weight), fitted(X, y, weight, prior=Gaussian(0.3))
    for model, other, seen in [
        (tuned, fitted(X.toarray(), y, weight), new.toarray()),
        (tuned, fitted(X[rows], y[rows], weight[rows]), new),
        (tuned, fitted(X[copies], y[copies]), new),
        (stated, fitted(X[:, columns], y, weight, prior=Gaussian(0.3)), new[:, columns]),
    ]:
        assert_allclose(other.predict_proba(seen), model.predict_proba(new), atol=2e-3)
        assert_allclose(other.predict_interval(seen), model.predict_interval(new), atol=4e-3)


def test_sparse_rows_keep_their_covariance_only_if_it_is_quick(rng):
    few, many = (sx.BayesianLogisticRegression(rng=0).fit(*messages(n, 2000, rng)) for n in (100, 600))
    assert few.plan_.strategy == "dual"
    assert many.plan_.strategy == "mean field"
    assert "seconds and" in dict(many.plan_.others)["dual"]


def test_a_sparse_table_needs_no_matrix_of_its_rows_or_columns(rng):
    """A matrix of all pairs of rows has 32 MB, and one of the columns 128 MB."""
    X, y = messages(2000, 4000, rng, length=6)
    tracemalloc.start()
    model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.plan_.strategy == "mean field"
    assert peak < 16e6


def test_the_evidence_chooses_how_scales_depend_on_the_spread_of_columns(rng):
    """Weights of equal scale in the units of the columns, or per standard deviation of each column."""
    X, _ = messages(2000, 800, rng)
    spread = np.sqrt(X.power(2).mean(axis=0) - X.mean(axis=0) ** 2)
    for exponent, unit in [(1.0, np.ones(800)), (0.0, 1 / np.where(spread > 0, spread, 1.0))]:
        a = X @ (rng.normal(size=800) * unit)
        y = (rng.random(2000) < special.expit(3 * (a - a.mean()) / a.std())).astype(int)
        scale = fitted(X, y).prior_.scale * np.ones(800)
        far = np.flatnonzero(spread > 0)[[spread[spread > 0].argmin(), spread[spread > 0].argmax()]]
        assert np.ptp(np.log(scale[far])) == pytest.approx(exponent * np.ptp(np.log(spread[far])), abs=1e-6)


def test_scales_by_spread_do_not_change_the_prior_variance_of_activations(rng):
    objective = posed(*messages(200, 80, rng))
    before = objective.units.spread**2 / objective.prior.precision[:80]
    for exponent in (0.5, 1.0):
        assert (before * power_of_spread(objective, exponent) ** 2).sum() == pytest.approx(before.sum())


def test_units_and_empty_columns_do_not_change_a_mean_field(rng):
    X, y = messages(300, 400, rng)
    wide = sparse.hstack([X, sparse.csr_array((300, 20))], format="csr")
    one, other = fitted(wide, y), fitted(1e3 * wide, y)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-3)
    assert_allclose(other.predict_proba(1e3 * wide), one.predict_proba(wide), atol=1e-3)


def test_the_stated_prior_of_a_tuned_fit_gives_the_same_posterior(rng):
    X, y = messages(400, 500, rng)
    tuned = fitted(X, y)
    stated = fitted(X, y, prior=tuned.prior_)
    assert_allclose(stated.coef_, tuned.coef_, atol=0.02 * np.abs(tuned.coef_).max())
    assert stated.log_evidence_ == pytest.approx(tuned.log_evidence_, abs=0.1)
