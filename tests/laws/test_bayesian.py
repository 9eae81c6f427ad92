"""Laws of posteriors over weights, tested through BayesianLogisticRegression."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

import separatrix as sx
from separatrix.bayesian.posterior import laplace
from separatrix.exceptions import ApproximationWarning
from separatrix.likelihoods import Logit, Probit, Softmax
from separatrix.rows import as_source
from separatrix.solvers import Auto, change_of_curvature, factorise, pose

APPROXIMATIONS = ("laplace", "variational", "ep", "importance", "auto")
LIKELIHOODS = ("logit", "probit", "label_noise")


def model(**arguments):
    return sx.BayesianLogisticRegression(**{"tune": None} | arguments)


def table(n=120, n_classes=2, seed=0):
    """Columns of different units and offsets, and labels from a logistic model."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, -0.3], [0.0, 0.0, 1.0]])
    W = np.array([[0.0, 0.0, 0.0], [1.2, -0.8, 0.3], [-0.5, 0.9, 0.8]])[:n_classes]
    y = (Z @ W.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return Z * [1.0, 10.0, 0.02] + [0.0, 40.0, -1.0], y


# -- limits: no data, and a narrow prior -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approximation", "likelihood", "n_classes"),
    [*product(APPROXIMATIONS, LIKELIHOODS, [2]), *((name, "logit", 3) for name in APPROXIMATIONS if name != "ep")],
)
def test_rows_of_almost_no_weight_leave_the_prior(approximation, likelihood, n_classes):
    X, y = table(n_classes=n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    prior = sx.Gaussian(scale=[0.5, 2.0, 1.0], mean=[0.3, 0.0, -0.2], intercept_scale=0.7)
    fitted = model(prior=prior, likelihood=likelihood, standardize=False, approximation=approximation)
    fitted.fit(X, y, np.full(len(y), 1e-8))
    slack = 0.01 if approximation == "importance" else 1e-5
    shape = (3, 4) if n_classes == 3 else 4
    assert_allclose(fitted.posterior_.mean, np.broadcast_to([0.3, 0.0, -0.2, 0.0], shape), atol=slack)
    assert_allclose(fitted.posterior_.std, np.broadcast_to([0.5, 2.0, 1.0, 0.7], shape), rtol=slack)
    assert_allclose(fitted.log_evidence_, 0.0, atol=1e-5)
    assert_allclose(fitted.effective_parameters_, 0.0, atol=10 * slack)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_narrow_prior_gives_itself_as_posterior_and_probabilities_of_one_half(approximation):
    X, y = table()
    prior = sx.Gaussian(scale=1e-5, intercept_scale=1e-5)
    fitted = model(prior=prior, approximation=approximation).fit(X, y)
    assert_allclose(fitted.posterior_.std[:3] * X.std(axis=0), 1e-5, rtol=0.01)
    assert_allclose(fitted.log_evidence_, -len(y) * np.log(2), atol=1e-3)
    assert_allclose(fitted.predict_proba(X), 0.5, atol=1e-3)


def test_the_error_of_the_laplace_evidence_falls_as_one_over_n():
    """ln p(D) of a model with one weight against numerical integration: the error of (4.137) is O(1/N)."""
    rng = np.random.default_rng(4)
    x, noise = rng.normal(size=6400), rng.logistic(size=6400)
    w = np.linspace(-2, 4, 301)
    gaps = []
    for n in (25, 100, 400, 1600, 6400):
        t = (x[:n] + noise[:n] > 0).astype(int)
        log_joint = special.log_expit(np.outer(2 * t - 1, w) * x[:n, None]).sum(axis=0) - 0.5 * w**2
        truth = special.logsumexp(log_joint) + np.log(w[1] - w[0]) - 0.5 * np.log(2 * np.pi)
        fitted = model(standardize=False, fit_intercept=False, approximation="laplace").fit(x[:n, None], t)
        gaps.append(abs(fitted.log_evidence_ - truth))
    assert gaps[-1] < 2e-4
    assert np.all(np.diff(gaps) < 0)
    assert 100 < gaps[0] / gaps[-1] < 1000  # 256 if the error were exactly proportional to 1/N


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_two_batches_are_near_the_joint_fit_and_add_their_log_evidence(likelihood):
    X, y = table(400)
    batches = model(likelihood=likelihood, standardize=False).partial_fit(X[:200], y[:200])
    first = batches.log_evidence_
    batches.partial_fit(X[200:], y[200:])
    joint = model(likelihood=likelihood, standardize=False).fit(X, y)
    assert np.abs((batches.posterior_.mean - joint.posterior_.mean) / joint.posterior_.std).max() < 0.1
    assert_allclose(batches.posterior_.std, joint.posterior_.std, rtol=0.1)
    assert abs(batches.log_evidence_ - joint.log_evidence_) < 0.1
    assert batches.log_evidence_ < first < 0
    assert_allclose(batches.predict_proba(X), joint.predict_proba(X), atol=0.01)
    assert batches.prior_ is joint.prior_ or batches.prior_.intercept_scale == joint.prior_.intercept_scale


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_batch_of_almost_no_weight_changes_nothing(n_classes):
    """The Gaussian posterior becomes the prior of the next batch without loss."""
    X, y = table(n_classes=n_classes)
    fitted = model(approximation="laplace").partial_fit(X, y)
    before, evidence, P = fitted.posterior_, fitted.log_evidence_, fitted.predict_proba(X)
    fitted.partial_fit(X, y, sample_weight=np.full(len(y), 1e-8))
    assert_allclose(fitted.posterior_.mean, before.mean, atol=1e-5 * before.std.min())
    assert_allclose(fitted.posterior_.covariance, before.covariance, rtol=1e-5, atol=1e-7 * before.covariance.max())
    assert_allclose(fitted.log_evidence_, evidence, atol=1e-5)
    assert_allclose(fitted.predict_proba(X), P, atol=1e-6)


def test_a_class_that_is_missing_from_the_first_batch():
    X, y = table(400, n_classes=3)
    early = (np.arange(400) < 60) & (y < 2)
    with pytest.warns(ApproximationWarning, match="After this batch of 39 rows, the posterior is skewed"):
        fitted = model(standardize=False).partial_fit(X[early], y[early], classes=[0, 1, 2])
    assert fitted.predict_proba(X).shape == (400, 3)
    assert 0 < fitted.predict_proba(X[early])[:, 2].mean() < 0.1
    fitted.partial_fit(X[~early], y[~early])
    joint = model(standardize=False).fit(X, y)
    difference = np.abs(fitted.predict_proba(X) - joint.predict_proba(X))
    assert difference.mean() < 0.05  # the posterior of an unseen class is skewed


# -- invariance --------------------------------------------------------------------------------------------------------


@settings(max_examples=8)
@given(st.integers(0, 2**16), st.sampled_from(["laplace", "variational", "ep"]), st.booleans())
def test_evidence_is_invariant_under_rotation(seed, approximation, fit_intercept):
    """With an isotropic prior, rotated columns have the same evidence and the same predictions."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 4)) + 1.0, rng.integers(2, size=60)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    here, there = (
        model(standardize=False, approximation=approximation, fit_intercept=fit_intercept).fit(Z, y) for Z in (X, X @ Q)
    )
    assert_allclose(there.log_evidence_, here.log_evidence_, atol=1e-7)
    assert_allclose(there.predict_proba(X @ Q), here.predict_proba(X), atol=1e-7)
    assert_allclose(there.coef_ @ Q.T, here.coef_, atol=1e-6)
    assert_allclose(there.posterior_.covariance[:4, :4], Q.T @ here.posterior_.covariance[:4, :4] @ Q, atol=1e-6)


@settings(max_examples=8)
@given(
    st.lists(st.floats(0.01, 100.0), min_size=3, max_size=3),
    st.lists(st.floats(-50.0, 50.0), min_size=3, max_size=3),
    st.sampled_from(["laplace", "auto"]),
)
def test_a_change_of_units_transforms_the_posterior(factor, shift, approximation):
    """For x' = c x + d, means, covariances and the summary follow w' = w/c, w0' = w0 - Σ w d/c."""
    X, y = table(80)
    c, d = np.array(factor), np.array(shift)
    here, there = (model(approximation=approximation).fit(Z, y) for Z in (X, X * c + d))
    T = np.diag(np.append(1 / c, 1.0))
    T[-1, :-1] = -d / c
    a, b = here.posterior_, there.posterior_
    sd = np.sqrt(np.diag(T @ a.covariance @ T.T))
    assert_allclose((b.mean - T @ a.mean) / sd, 0.0, atol=1e-6)
    assert_allclose(b.covariance / np.outer(sd, sd), T @ a.covariance @ T.T / np.outer(sd, sd), atol=1e-6)
    assert_allclose(there.log_evidence_, here.log_evidence_, atol=1e-6)
    assert_allclose(there.predict_proba(X * c + d), here.predict_proba(X), atol=1e-7)
    summary = there.summary()
    sd = np.roll(sd, 1)  # the intercept is first
    assert_allclose(summary.standard_error, sd, rtol=1e-6)
    assert_allclose(summary.lower, summary.coefficient - 1.959963984540054 * sd, rtol=1e-6, atol=1e-6 * sd.max())


def test_swapped_labels_change_the_sign_of_the_weights():
    X, y = table()
    for likelihood in LIKELIHOODS:
        one, other = (model(likelihood=likelihood).fit(X, t) for t in (y, 1 - y))
        assert_allclose(other.coef_, -one.coef_, rtol=1e-5)
        assert_allclose(other.posterior_.covariance, one.posterior_.covariance, rtol=1e-4)
        assert_allclose(other.predict_proba(X)[:, ::-1], one.predict_proba(X), atol=1e-6)
        assert_allclose(1 - other.predict_interval(X)[:, ::-1], one.predict_interval(X), atol=1e-6)


def test_permuted_classes_give_permuted_weights():
    X, y = table(n_classes=3)
    order = np.array([2, 0, 1])
    one = model(approximation="laplace").fit(X, y)
    other = model(approximation="laplace").fit(X, order[y])
    assert_allclose(other.coef_[order], one.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(other.predict_proba(X)[:, order], one.predict_proba(X), atol=1e-8)
    assert_allclose(other.log_evidence_, one.log_evidence_, rtol=1e-10)
    words = model(approximation="laplace").fit(X, np.array(["b", "c", "a"])[y])
    assert_allclose(words.coef_[[1, 2, 0]], one.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_the_order_of_rows_and_of_columns_does_not_matter(approximation, rng):
    X, y = table()
    rows, columns = rng.permutation(len(y)), np.array([2, 0, 1])
    one = model(approximation=approximation).fit(X, y)
    other = model(approximation=approximation).fit(X[rows][:, columns], y[rows])
    slack = 0.01 if approximation == "importance" else 1e-5  # its sample points differ if columns are permuted
    assert_allclose(other.coef_[0], one.coef_[0, columns], rtol=slack)
    assert_allclose(other.log_evidence_, one.log_evidence_, atol=slack)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("approximation", ["laplace", "auto", "importance", "variational"])
def test_a_weight_of_k_equals_k_copies_of_the_row(approximation, n_classes, rng):
    X, y = table(90, n_classes)
    weight = rng.integers(0, 4, size=len(y)).astype(float)
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = model(approximation=approximation).fit(X, y, weight)
    repeated = model(approximation=approximation).fit(X[often], y[often])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
    assert_allclose(weighted.log_evidence_, repeated.log_evidence_, atol=1e-8)
    assert_allclose(weighted.effective_parameters_, repeated.effective_parameters_, atol=1e-6)
    assert_allclose([weighted.bic_, weighted.aic_], [repeated.bic_, repeated.aic_], atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_soft_target_equals_one_weighted_row_per_class(n_classes, rng):
    X, _ = table(60)
    T = rng.dirichlet(np.ones(n_classes), size=60)
    soft = model(approximation="laplace").fit(X, T)
    each = model(approximation="laplace").fit(np.tile(X, (n_classes, 1)), np.repeat(range(n_classes), 60), T.T.ravel())
    assert_allclose(soft.coef_, each.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(soft.log_evidence_, each.log_evidence_, rtol=1e-10)
    hard = np.eye(n_classes)[T.argmax(axis=1)]
    assert_allclose(
        model().fit(X, hard).predict_proba(X), model().fit(X, T.argmax(axis=1)).predict_proba(X), atol=1e-12
    )


def test_the_summary_contains_column_names():
    X, y = table(n_classes=3)
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    two = model().fit(frame, np.where(y == 0, "no", "yes")).summary()
    assert two.names == ("intercept", "age", "income", "height")
    assert list(two.to_pandas().index) == list(two.names)
    three = model(approximation="laplace").fit(frame, np.array(["a", "b", "c"])[y]).summary()
    assert three.names[:4] == ("a: intercept", "a: age", "a: income", "a: height")
    assert len(three.names) == len(three.standard_error) == 12
    assert model(fit_intercept=False).fit(frame, y > 0).summary().names == ("age", "income", "height")


@pytest.mark.parametrize("approximation", ["auto", "importance"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_equal_seeds_give_equal_results(approximation, n_classes):
    X, y = table(n_classes=n_classes)
    one, again = (model(approximation=approximation, rng=7).fit(X, y) for _ in range(2))
    assert one.pareto_k_ == again.pareto_k_
    assert one.log_evidence_ == again.log_evidence_
    assert np.array_equal(one.predict_proba(X), again.predict_proba(X))
    assert np.array_equal(one.predict_interval(X), again.predict_interval(X))
    assert np.array_equal(one.posterior_.sample(5, rng=1), again.posterior_.sample(5, rng=1))
    none = [model(approximation=approximation).fit(X, y).pareto_k_ for _ in range(2)]
    assert none[0] == none[1]


# -- equivalent models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_softmax_of_two_classes_is_a_logistic_model_of_their_difference(fit_intercept):
    """If w_k ~ N(0, s²) for both classes, w_1 - w_0 ~ N(0, 2 s²); the likelihood does not depend on w_0 + w_1."""
    X, y = table()
    source = as_source(X, y)
    s, b = 0.8, 2.0
    softmax = pose(source, Softmax(2), sx.Gaussian(s, intercept_scale=b), fit_intercept=fit_intercept, standardize=True)
    difference = sx.Gaussian(s * np.sqrt(2), intercept_scale=b * np.sqrt(2))
    logistic = pose(source, Logit(), difference, fit_intercept=fit_intercept, standardize=True)
    two, one = (laplace(o, Auto(1e-12).minimise(o, np.zeros(o.shape)).value) for o in (softmax, logistic))
    P = two.mean.shape[1]
    D = np.hstack([-np.eye(P), np.eye(P)])
    assert_allclose(two.mean[1] - two.mean[0], one.mean[0], rtol=1e-6, atol=1e-9)
    assert_allclose(two.mean[0] + two.mean[1], 0.0, atol=1e-8)
    assert_allclose(D @ two.covariance @ D.T, one.covariance, rtol=1e-6, atol=1e-9)
    assert_allclose(two.log_evidence, one.log_evidence, rtol=1e-10)
    assert_allclose(two.log_likelihood, one.log_likelihood, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_contour_p_one_half_of_laplace_is_that_of_the_map_estimate(n_classes, fit_intercept):
    """Both have the same mean activation, and averaging over a symmetric activation keeps its sign."""
    X, y = table(n_classes=n_classes)
    prior = sx.Gaussian(0.7, intercept_scale=3.0)
    laplacian = model(prior=prior, standardize=False, approximation="laplace", fit_intercept=fit_intercept).fit(X, y)
    best = sx.LogisticRegression(prior=prior, fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(laplacian.coef_, best.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(laplacian.decision_function(X), best.decision_function(X), rtol=1e-5, atol=1e-5)
    assert_allclose(laplacian.set_params(predictive="map").predict_proba(X), best.predict_proba(X), atol=1e-6)
    if n_classes == 2:
        grid = np.stack(np.meshgrid(*[np.linspace(*np.quantile(x, [0, 1]), 12) for x in X.T]), axis=-1).reshape(-1, 3)
        assert np.array_equal(laplacian.set_params(predictive="exact").predict(grid), best.predict(grid))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("predictive", ["exact", "qmc", "probit", "map"])
def test_a_row_on_the_boundary_has_probability_one_half(likelihood, predictive):
    X, y = table()
    fitted = model(likelihood=likelihood, predictive=predictive, approximation="laplace").fit(X, y)
    w = fitted.coef_[0]
    on = X - np.outer(fitted.decision_function(X) / (w @ w), w)
    assert_allclose(fitted.predict_proba(on), 0.5, atol=1e-10)
    mean, variance = fitted.decision_distribution(on)
    assert_allclose(mean, 0.0, atol=1e-10)
    assert np.all(variance > 0)


# -- intervals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("likelihood", "n_classes"), [("logit", 2), ("probit", 2), ("label_noise", 2), ("logit", 3)])
def test_intervals_contain_the_probability_and_widen_with_their_level(likelihood, n_classes):
    """The mean probability lies inside if the activation's sd is small: below twice the quantile is sufficient."""
    X, y = table(n_classes=n_classes)
    fitted = model(likelihood=likelihood, approximation="laplace").fit(X, y)
    P = fitted.predict_proba(X)
    P = P[:, 1] if n_classes == 2 else P
    low, high = np.moveaxis(fitted.predict_interval(X, level=0.9), -1, 0)
    assert np.all((low < P) & (high > P))
    assert np.all((low >= 0) & (high <= 1))
    lower, higher = np.moveaxis(fitted.predict_interval(X, level=0.99), -1, 0)
    assert np.all((lower < low) & (high < higher))


def test_intervals_of_two_classes_agree_with_draws():
    X, y = table()
    fitted = model(approximation="laplace").fit(X, y)
    w = fitted.posterior_.sample(40_000, rng=1)
    P = special.expit(np.column_stack([X[:20], np.ones(20)]) @ w.T)
    assert_allclose(fitted.predict_interval(X[:20], level=0.8), np.quantile(P, [0.1, 0.9], axis=1).T, atol=0.01)
    mean, variance = fitted.decision_distribution(X[:20])
    assert_allclose(special.logit(P).mean(axis=1), mean, atol=0.02)
    assert_allclose(special.logit(P).var(axis=1), variance, rtol=0.05)


@pytest.mark.slow
def test_intervals_have_their_nominal_coverage():
    """For weights drawn from the prior, 90 % intervals contain 90 % of the true probabilities."""
    prior = sx.Gaussian(1.5, intercept_scale=1.0)
    inside, inside_weights = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        w, w0 = 1.5 * rng.normal(size=3), rng.normal()
        X = rng.normal(size=(90, 3))
        p = special.expit(X @ w + w0)
        y = (rng.random(60) < p[:60]).astype(int)
        if len(np.unique(y)) < 2:
            continue
        fitted = model(prior=prior, standardize=False).fit(X[:60], y)
        low, high = fitted.predict_interval(X[60:], level=0.9).T
        inside.append((low < p[60:]) & (p[60:] < high))
        summary = fitted.summary(level=0.9)
        inside_weights.append((summary.lower < [w0, *w]) & ([w0, *w] < summary.upper))
    assert len(inside) > 140
    assert abs(np.mean(inside) - 0.9) < 0.03
    assert abs(np.mean(inside_weights) - 0.9) < 0.03


@pytest.mark.parametrize("tune", [None, "evidence"])
@pytest.mark.parametrize(
    ("n", "n_columns", "structure", "approximation"),
    [(60, 3, "full", "variational"), (60, 14, "full", "variational"), (120, 60, "by class", "variational")],
)
def test_the_order_of_the_classes_does_not_matter(n, n_columns, structure, approximation, tune, rng):
    """Points, draws and probes are the same for the same class, whatever its label is."""
    X = rng.normal(size=(n, n_columns))
    y = (X[:, :1] * [0.0, 2.0, -3.0, 1.0] + X[:, 1:2] * [1.0, 0.0, 1.0, 3.0] + rng.gumbel(size=(n, 4))).argmax(axis=1)
    new_label = np.array([2, 0, 3, 1])
    prior = sx.Gaussian(0.2) if structure == "by class" and tune is None else None  # or chains replace the posterior
    one, other = (sx.BayesianLogisticRegression(prior, tune=tune, rng=0).fit(X, t) for t in (y, new_label[y]))
    assert one.posterior_.structure == structure
    assert one.approximation_ == approximation
    new = rng.normal(size=(200, n_columns))
    # The mode, and with it probabilities, has the tolerance of the search.
    assert_allclose(other.predict_proba(new)[:, new_label], one.predict_proba(new), atol=1e-4)


# -- how much a Hessian changes along a step ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    likelihood=st.sampled_from([Logit(), Probit()]),
    seed=st.integers(0, 2**31),
    at=st.floats(-6.0, 6.0),
    step=st.floats(-0.5, 0.5),
    scale=st.floats(0.1, 1e3),
)
def test_the_logarithm_of_a_curvature_changes_at_most_by_its_bound(likelihood, seed, at, step, scale):
    """One weight: the curvature of each row changes at most by exp(|x δ|) for the logit, which is self-concordant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=20) * (rng.random(20) < 0.3)
    x[0] = 1.0
    source = as_source(x[:, None], rng.integers(2, size=20))
    objective = pose(source, likelihood, sx.Gaussian(scale), fit_intercept=False)
    theta, step = (np.array([[value / np.abs(x).max()]]) for value in (at, step))
    here, there = (objective.value_grad_hess(point).hess for point in (theta, theta + step))
    bound = change_of_curvature(objective, factorise(here, 1, objective.prior.free), theta, step)
    assert abs(np.log(there[0, 0] / here[0, 0])) <= bound + 1e-9
    assert bound <= 0.5 * (1 if isinstance(likelihood, Logit) else 1 + abs(at)) + 1e-9
