"""Naive Bayes: which families, in how many passes, and the linear form of the textbook."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.utils.estimator_checks import estimator_checks_generator

from separatrix.exceptions import DataError
from separatrix.generative import NaiveBayes

RNG = np.random.default_rng(8)
t = RNG.integers(0, 2, 200)
B = (RNG.random((200, 4)) < np.array([[0.2, 0.5, 0.7, 0.4], [0.6, 0.5, 0.1, 0.9]])[t]).astype(float)


def test_bernoulli_probabilities_have_laplaces_correction():
    for c in (1.0, 0.25, 7.0):
        density = NaiveBayes("bernoulli", pseudo_count=c).fit(B, t).densities_["bernoulli"]
        expected = [(B[t == k].sum(0) + c) / ((t == k).sum() + 2 * c) for k in (0, 1)]
        np.testing.assert_allclose(density.probability, expected, rtol=1e-13)


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


def test_no_linear_form_says_why():
    X = np.column_stack([B[:, 0], RNG.normal(t, 1)])
    frame = pd.DataFrame(X, columns=["member", "age"])
    model = NaiveBayes({"age": "normal"}).fit(frame, t)
    with pytest.raises(AttributeError, match="not linear in column 'age' \\(normal\\), whose density is a Normal"):
        _ = model.coef_
    certain = NaiveBayes("bernoulli", estimate="ml").fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    with pytest.raises(AttributeError, match="a probability is 0 in column 'x0'"):
        _ = certain.intercept_


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


def test_predictive_densities_are_the_known_ones():
    X = np.column_stack([RNG.poisson(2 + t), RNG.exponential(1 + t)]).astype(float)
    model = NaiveBayes({0: "poisson", 1: "exponential"}, estimate="predictive").fit(X, t)
    for k in (0, 1):
        n, s = (t == k).sum(), X[t == k].sum(0)
        a = s[0] + (X[:, 0].sum() + 1) / 201
        log_p = stats.nbinom.logpmf(3, a, (n + 1) / (n + 2)) + stats.lomax.logpdf(
            1.5, n + 2, scale=s[1] + X[:, 1].mean()
        )
        assert model._log_likelihood(np.array([[3.0, 1.5]]))[0, k] == pytest.approx(log_p, rel=1e-10)


def test_far_out_log_probabilities_keep_their_digits():
    model = NaiveBayes("normal", estimate="ml").fit(np.r_[-1.0, 1.0, 9.0, 11.0][:, None], [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_log_proba([[-1e6]]), [[0.0, -0.5 * ((1e6 + 10) ** 2 - 1e12)]], rtol=1e-9)


def test_named_families_take_one_pass_and_auto_takes_two():
    assert NaiveBayes("normal").fit(B, t).n_passes_ == 1
    assert NaiveBayes(dict.fromkeys(range(4), "bernoulli")).fit(B, t).n_passes_ == 1
    assert NaiveBayes("auto").fit(B, t).n_passes_ == 2
    text = pd.DataFrame({"kind": np.array(["a", "b"])[t]})
    assert NaiveBayes("auto").fit(text, t).n_passes_ == 1


def test_auto_says_what_it_chose_and_why():
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


def test_families_are_fixed_by_the_first_rows():
    model = NaiveBayes().partial_fit(B[:100], t[:100])
    model.partial_fit(B[100:], t[100:])
    np.testing.assert_allclose(model.predict_proba(B), NaiveBayes().fit(B, t).predict_proba(B), rtol=1e-12)
    with pytest.raises(DataError, match="Column 'x0' holds 5 where only 0 and 1 are possible"):
        model.partial_fit(B + 5 * (np.arange(4) == 0), t)


def test_refitting_forgets():
    model = NaiveBayes().fit(B, t)
    assert model.fit(RNG.normal(size=(200, 4)), t).families_ == ("normal",) * 4


def test_models_that_disagree_about_a_family_do_not_merge():
    one, two = NaiveBayes().fit(B, t), NaiveBayes().fit(B + 0.5 * RNG.normal(size=B.shape), t)
    with pytest.raises(DataError, match="Column 0 is bernoulli in one part and normal in the other.*Name the family"):
        one.merge(two)


def test_sampled_data_recover_the_parameters():
    X = np.column_stack([RNG.poisson(2 + t), RNG.normal(t, 1 + t), RNG.gamma(3, 1 + t)])
    families = {0: "poisson", 1: "normal", 2: "gamma"}
    model = NaiveBayes(families).fit(X, t)
    drawn, labels = model.sample(20_000, rng=3)
    again = NaiveBayes(families).fit(drawn, labels)
    for family, density in model.densities_.items():
        error = np.sqrt(density.variance / again.class_count_[:, None])
        assert (np.abs(again.densities_[family].mean - density.mean) < 4 * error).all()
    np.testing.assert_allclose(again.priors_, model.priors_, atol=4 * np.sqrt(0.25 / 20_000))


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("gaussian", "families='gaussian'\\): choose one of 'auto', 'bernoulli'"),
        ("multinomial", "'multinomial' describes a whole row, not a column. Use ExponentialFamilyClassifier"),
        ({"x0": "poison"}, "families='poison'\\): choose one of"),
        ({"agee": "normal"}, "names column 'agee', which is not in the table. Its columns are 'x0', 'x1', 'x2', 'x3'"),
        ({4: "normal"}, "names column 4, which is not in the table"),
        (3, "families=3\\): choose one of"),
    ],
)
def test_wrong_families_are_named(families, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayes(families).fit(B, t)


CHECKS = list(estimator_checks_generator(NaiveBayes(), legacy=True, mark="skip"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=[getattr(c, "func", c).__name__ for _, c in CHECKS])
def test_scikit_learn_check(estimator, check):
    with np.errstate(all="warn", under="ignore"):  # as NumPy is by default
        check(estimator)
