"""The two factors of a model, from words: which likelihood, and a prior that is proper."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.bayesian.joint import LIKELIHOODS, likelihood_of, proper_prior
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax


@pytest.mark.parametrize(
    ("name", "expected"),
    [("logit", Logit()), ("probit", Probit()), ("label_noise", LabelNoise(0.2))],
)
def test_each_word_has_its_likelihood(name, expected):
    a, t = np.linspace(-3.0, 3.0, 7), np.arange(7) % 2
    found = likelihood_of(name, 0.2, np.array([0, 1]))
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found.derivatives(a, t), expected.derivatives(a, t))
    assert name in LIKELIHOODS


def test_three_classes_are_the_softmax_or_a_refusal_that_names_them():
    words = np.array(["ash", "birch", "cedar"])
    assert likelihood_of("logit", 0.0, words) == Softmax(3)
    with pytest.raises(DataError, match=r"likelihood='probit', .* but y has 3: 'ash', 'birch', 'cedar'\. Use"):
        likelihood_of("probit", 0.0, words)
    with pytest.raises(DataError, match=r"y has 9: 0, 1, 2, 3, 4, 5, \.\.\."):
        likelihood_of("label_noise", 0.1, np.arange(9))


def test_a_bias_without_a_prior_gets_a_wide_one_and_one_with_a_prior_keeps_it():
    assert proper_prior("Model", None).intercept_scale == 10.0
    stated = sx.Gaussian(2.0, intercept_scale=0.5)
    assert proper_prior("Model", stated) is stated


@pytest.mark.parametrize(
    ("prior", "error", "said"),
    [
        (sx.Flat(), DataError, r"Model\(prior=Flat\(.*\)\): under a flat prior the evidence of any data is zero"),
        ("wide", ValueError, r"Model\(prior='wide'\): give Gaussian\(\.\.\.\), or None"),
    ],
)
def test_what_is_no_proper_prior_is_refused(prior, error, said):
    with pytest.raises(error, match=said):
        proper_prior("Model", prior)
