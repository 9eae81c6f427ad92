"""The softmax averaged over Gaussian activations: the graph and the library by the same rule."""

import numpy as np
import pytest

from separatrix.bayesian import predictive as library
from separatrix.onnx.softmax import softmax_normal, softmax_probit_rule


def problem(K, scale, n=40, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, K, K)) * scale
    return rng.normal(size=(n, K)) * 2 * scale, F @ F.transpose(0, 2, 1)


@pytest.mark.parametrize("K", [2, 3, 4, 7])
@pytest.mark.parametrize("scale", [1e-3, 0.7, 6.0])
def test_the_rule_of_the_library(K, scale, evaluate):
    mu, cov = problem(K, scale)
    found = evaluate(lambda m, S: softmax_normal(m, S, K), mu, cov)
    np.testing.assert_allclose(found, library.softmax_normal(mu, cov), atol=2e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-14)


def test_the_order_of_classes_does_not_matter(evaluate):
    mu, cov = problem(4, 1.0)
    order = np.array([2, 0, 3, 1])
    found = evaluate(lambda m, S: softmax_normal(m, S, 4), mu, cov)
    turned = evaluate(lambda m, S: softmax_normal(m, S, 4), mu[:, order], cov[:, order][:, :, order])
    np.testing.assert_allclose(turned, found[:, order], atol=1e-13)


def test_without_variance_it_is_the_softmax(evaluate):
    mu, cov = problem(3, 1.0)
    found = evaluate(lambda m, S: softmax_normal(m, S, 3), mu, 0 * cov)
    np.testing.assert_allclose(found, np.exp(mu) / np.exp(mu).sum(axis=1, keepdims=True), atol=1e-9)


def test_each_activation_for_itself(evaluate):
    mu, cov = problem(3, 1.0)
    found = evaluate(lambda m, S: softmax_probit_rule(m, S, 3), mu, cov)
    np.testing.assert_allclose(found, library.softmax_probit_rule(mu, np.diagonal(cov, axis1=1, axis2=2)), atol=1e-14)
