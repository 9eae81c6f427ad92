# SPDX-License-Identifier: BSD-3-Clause
"""Naive Bayes: families given or chosen, text columns, missing values, EM, and the exponent on the likelihood."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special, stats
from sklearn.datasets import load_digits

from separatrix.exceptions import DataError, SupportWarning
from separatrix.generative import NaiveBayes

RNG = np.random.default_rng(8)
t = RNG.integers(0, 2, 200)
B = (RNG.random((200, 4)) < np.array([[0.2, 0.5, 0.7, 0.4], [0.6, 0.5, 0.1, 0.9]])[t]).astype(float)


def test_the_bias_of_the_linear_form_is_the_textbook_one():
    model = NaiveBayes("bernoulli").fit(B, t)
    theta = model.densities_["bernoulli"].probability
    logit = np.log(theta / (1 - theta))
    np.testing.assert_allclose(model.coef_[0], logit[1] - logit[0], rtol=1e-12)
    bias = np.log((t == 1).mean() / (t == 0).mean()) + np.log((1 - theta[1]) / (1 - theta[0])).sum()
    assert model.intercept_[0] == pytest.approx(bias, rel=1e-12)
    np.testing.assert_allclose(model.decision_function(B), B @ model.coef_[0] + model.intercept_[0], rtol=1e-12)


def test_mixed_linear_families_have_a_linear_form():
    X = np.column_stack([B[:, 0], RNG.poisson(1 + t), RNG.exponential(1 + t), RNG.normal(t, 1)])
    model = NaiveBayes(dict(enumerate(["bernoulli", "poisson", "exponential", "normal_known_variance"]))).fit(X, t)
    joint = model._log_joint(X)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], joint[:, 1] - joint[:, 0], atol=1e-10)


def test_closed_form_by_hand_for_mixed_columns():
    """Poisson and normal, maximum likelihood, against scipy.stats."""
    X = np.column_stack([RNG.poisson(2 + t), RNG.normal(t, 1 + t)])
    model = NaiveBayes({0: "poisson", 1: "normal"}, estimate="ml", priors=[0.25, 0.75]).fit(X, t)
    joint = [
        stats.poisson.logpmf(X[:, 0], X[t == k, 0].mean())
        + stats.norm.logpdf(X[:, 1], X[t == k, 1].mean(), X[t == k, 1].std())
        + np.log([0.25, 0.75][k])
        for k in (0, 1)
    ]
    np.testing.assert_allclose(model.log_density(X), np.logaddexp(*joint), rtol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), joint[1] - joint[0], atol=1e-10)


def test_predictive_densities_agree_with_scipy():
    X = np.column_stack([RNG.poisson(2 + t), RNG.exponential(1 + t)]).astype(float)
    model = NaiveBayes({0: "poisson", 1: "exponential"}, estimate="predictive").fit(X, t)
    for k in (0, 1):
        n, s = (t == k).sum(), X[t == k].sum(0)
        a = s[0] + (X[:, 0].sum() + 1) / 201
        log_p = stats.nbinom.logpmf(3, a, (n + 1) / (n + 2)) + stats.lomax.logpdf(
            1.5, n + 2, scale=s[1] + X[:, 1].mean()
        )
        assert model._log_likelihood(np.array([[3.0, 1.5]]))[0, k] == pytest.approx(log_p, rel=1e-10)


def test_named_families_take_one_pass_and_auto_takes_two():
    assert NaiveBayes("normal").fit(B, t).n_passes_ == 1
    assert NaiveBayes(dict.fromkeys(range(4), "bernoulli")).fit(B, t).n_passes_ == 1
    assert NaiveBayes("auto").fit(B, t).n_passes_ == 2
    text = pd.DataFrame({"kind": np.array(["a", "b"])[t]})
    assert NaiveBayes("auto").fit(text, t).n_passes_ == 1


def test_the_report_lists_families_and_reasons():
    frame = pd.DataFrame(
        {
            "member": B[:, 0] > 0,
            "visits": RNG.poisson(2 + 3 * t),
            "age": RNG.normal(40 + 5 * t, 9),
            "kind": np.array(["u", "v", "w"])[RNG.integers(0, 3, 200)],
        }
    )
    model = NaiveBayes().fit(frame, t)
    assert model.families_ == ("bernoulli", "poisson", "normal", "categorical")
    lines = model.report().splitlines()
    assert lines[1].split() == ["member", "bernoulli", "only", "0", "and", "1"]
    assert "whole numbers" in lines[2]
    assert "nats ahead of" in lines[2]
    assert lines[4].endswith("text, 3 categories")
    named = NaiveBayes({"visits": "normal", 2: "gamma"}).fit(frame, t)
    assert named.families_ == ("bernoulli", "normal", "gamma", "categorical")
    assert named.report().splitlines()[2].endswith("given")


def test_the_first_rows_determine_the_families():
    model = NaiveBayes().partial_fit(B[:100], t[:100])
    model.partial_fit(B[100:], t[100:])
    np.testing.assert_allclose(model.predict_proba(B), NaiveBayes().fit(B, t).predict_proba(B), rtol=1e-12)
    with pytest.raises(DataError, match="Column 'x0' contains 5"):
        model.partial_fit(B + 5 * (np.arange(4) == 0), t)


# -- an exponent on the likelihood -------------------------------------------------------------------------------------
def test_the_linear_form_includes_the_exponent():
    for temper in (0.3, True):
        for labels in (t, t + (B[:, 0] > 0)):  # two classes, three classes
            plain = NaiveBayes("bernoulli").fit(B, labels)
            model = NaiveBayes("bernoulli", temper=temper).fit(B, labels)
            np.testing.assert_allclose(model.coef_, model.temperature_ * plain.coef_, rtol=1e-12)
            joint = model.temperature_ * model._log_likelihood(B) + np.log(model.priors_)
            a = B @ model.coef_.T + model.intercept_
            a = np.column_stack([np.zeros(len(a)), a]) if a.shape[1] == 1 else a
            if len(model.classes_) == 2:
                np.testing.assert_allclose(model.decision_function(B), a[:, 1], atol=1e-12)
            for activations in (joint, a):
                expected = special.log_softmax(activations, axis=1)
                np.testing.assert_allclose(model.predict_log_proba(B), expected, atol=1e-12)


def test_tempering_keeps_the_ranking_and_with_equal_priors_the_labels():
    X = RNG.normal(t[:, None], 1 + t[:, None], (200, 3))
    plain, mild = (NaiveBayes("normal", priors=[0.5, 0.5], temper=temper).fit(X, t) for temper in (False, 0.2))
    np.testing.assert_array_equal(plain.predict(X), mild.predict(X))
    unequal = NaiveBayes("normal", priors=[0.9, 0.1], temper=0.2).fit(X, t)
    order = np.argsort(plain.decision_function(X))
    assert (np.diff(unequal.decision_function(X)[order]) >= 0).all()
    assert (unequal.predict(X) != plain.predict(X)).any()


def test_densities_and_samples_do_not_use_the_exponent():
    plain, model = NaiveBayes("bernoulli").fit(B, t), NaiveBayes("bernoulli", temper=True).fit(B, t)
    assert plain.temperature_ == 1.0 != model.temperature_
    np.testing.assert_array_equal(model.log_density(B), plain.log_density(B))
    np.testing.assert_array_equal(model.sample(50, rng=1)[0], plain.sample(50, rng=1)[0])


def test_a_given_exponent_allows_partial_fits_and_a_fitted_one_does_not():
    whole = NaiveBayes("bernoulli", temper=0.4).fit(B, t)
    pieces = NaiveBayes("bernoulli", temper=0.4).partial_fit(B[:90], t[:90]).partial_fit(B[90:], t[90:])
    halves = [NaiveBayes("bernoulli", temper=0.4).fit(B[rows], t[rows]) for rows in (slice(90), slice(90, 200))]
    for model in (pieces, halves[0].merge(halves[1])):
        assert model.temperature_ == 0.4
        np.testing.assert_allclose(model.predict_proba(B), whole.predict_proba(B), rtol=1e-12)
    found = NaiveBayes("bernoulli", temper=True).fit(B, t)
    with pytest.raises(DataError, match="needs all rows at once"):
        found.merge(whole)
    assert found.temperature_ == NaiveBayes("bernoulli", temper=True).fit(B, t).temperature_
    assert whole.add_class(B[:20], 7).temperature_ == 0.4


def test_a_family_whose_density_cannot_be_computed_is_not_chosen(rng):
    X = np.c_[np.where(np.arange(60) % 2, 0.5, 1 + 1e-12 * rng.random(60)), rng.normal(size=60)]
    for weight in (1e35, 1e300):  # pseudo-observations do not change these sums
        model = NaiveBayes().fit(X, np.arange(60) % 2, sample_weight=np.full(60, weight))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_values_outside_an_automatic_family_are_missing(as_sparse, rng):
    X = np.column_stack([rng.integers(0, 2, 60), rng.poisson(9, 60), rng.gamma(2.0, 1.0, 60)]).astype(float)
    y = np.arange(60) % 2
    X[y == 1, 1] += 5
    model = NaiveBayes({1: "poisson"}).fit(X, y)
    new = np.array([[2.0, 4.0, 1.0], [1.0, 7.0, -1.0], [0.0, 3.0, 1.0]])
    as_missing = np.array([[np.nan, 4.0, 1.0], [1.0, 7.0, np.nan], [0.0, 3.0, 1.0]])
    if model.families_[2] == "normal":
        as_missing[1, 2] = -1.0
    rows = sparse.csr_array(new) if as_sparse else new
    with pytest.warns(SupportWarning, match=r"Column 'x0'.*contains 2.*treated as missing.*families="):
        found = model.predict_log_proba(rows)
    assert_allclose(found, model.predict_log_proba(as_missing), rtol=1e-12)
    with pytest.raises(DataError, match="'x1' contains 3.5"):  # a family that was named
        model.predict([[1.0, 3.5, 1.0]])


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
@pytest.mark.parametrize(
    "options", [{}, {"temper": True}, {"families": "categorical"}, {"unlabelled": "missing"}], ids=str
)
def test_rows_of_weight_zero_may_be_outside_the_support_of_a_family(options):
    """Bagging passes the rows that it leaves out with weight zero."""
    X, y = load_digits(return_X_y=True)
    kept, labels = np.arange(len(y)) % 5 == 0, np.where(np.arange(len(y)) % 7 == 0, None, y)
    labels = labels if "unlabelled" in options else y
    weighted = NaiveBayes(**options).fit(X, labels, sample_weight=1.0 * kept)
    alone = NaiveBayes(**options).fit(X[kept], labels[kept])
    assert_allclose(weighted.predict_proba(X[kept]), alone.predict_proba(X[kept]), rtol=1e-12)
