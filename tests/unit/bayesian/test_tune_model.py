# SPDX-License-Identifier: BSD-3-Clause
"""One number chosen by evidence: against every model fitted, a grid of both numbers, and known rates."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import BayesianLogisticRegression, Gaussian, LogisticRegression, evidence_surface
from separatrix.basis import RBF, Polynomial
from separatrix.bayesian.tune_model import SCALE_TOL, TOL, tune_model
from separatrix.datasets import make_label_noise, make_rbf_experiment, make_xor_clusters


def of_width(width):
    return BayesianLogisticRegression(basis=RBF(width=width), tune="evidence", standardize=False)


def of_degree(degree):
    return BayesianLogisticRegression(basis=Polynomial(degree), tune="evidence", approximation="laplace")


def test_no_point_of_a_fine_grid_of_widths_and_scales_is_better():
    X, y, _, _ = make_rbf_experiment(80, n_test=0)
    found = tune_model(of_width, X, y, bounds=(0.1, 5.0))
    grid = evidence_surface(
        X,
        y,
        basis_of_width=lambda width: RBF(width=width),
        widths=np.geomspace(0.1, 5.0, 24),
        scales=np.geomspace(0.05, 50.0, 16),
    )
    best = max(trial.log_evidence for trial in found.tried)
    assert best > grid.log_evidence.max() - TOL - SCALE_TOL
    assert found.value == pytest.approx(grid.best[0], rel=0.3)
    assert len(found.tried) < 12
    assert not found.at_boundary


def test_each_value_is_judged_by_the_evidence_of_its_model():
    X, y = make_xor_clusters(150, std=0.7)
    found = tune_model(of_degree, X, y, values=[2, 3])
    assert [trial.value for trial in found.tried] == [2, 3]
    for degree, log_evidence in found.tried:
        assert log_evidence == pytest.approx(of_degree(degree).fit(X, y).log_evidence_, abs=SCALE_TOL)


def test_a_prior_that_is_not_tuned_is_taken_as_it_is():
    X, y = make_xor_clusters(150, std=0.7)

    def fixed(degree):
        return BayesianLogisticRegression(Gaussian(0.7), basis=Polynomial(degree), approximation="laplace")

    found = tune_model(fixed, X, y, values=[1, 2])
    for degree, log_evidence in found.tried:
        assert log_evidence == pytest.approx(fixed(degree).fit(X, y).log_evidence_, abs=1e-6)
    assert found.model.prior_.scale == 0.7


def test_the_model_that_is_returned_is_the_best_one_fitted_as_usual():
    X, y = make_xor_clusters(150, std=0.7)
    found = tune_model(of_degree, X, y, values=[1, 2, 3])
    assert found.value == 2
    np.testing.assert_array_equal(found.model.predict_proba(X), of_degree(2).fit(X, y).predict_proba(X))


def test_a_rate_of_wrong_labels_is_found_from_the_labels_alone():
    X, y, _ = make_label_noise(1500, noise=0.15)
    found = tune_model(
        lambda noise: BayesianLogisticRegression(likelihood="label_noise", noise=noise, tune="evidence"),
        X,
        y,
        bounds=(0.01, 0.4),
    )
    assert found.value == pytest.approx(0.15, abs=0.03)  # three standard errors of a share of 1500


def test_bounds_that_leave_the_best_outside_are_said_to():
    X, y, _, _ = make_rbf_experiment(80, n_test=0)
    assert tune_model(of_width, X, y, bounds=(0.02, 0.1)).at_boundary
    assert tune_model(of_degree, *make_xor_clusters(150, std=0.7), values=[1, 2]).at_boundary


def test_a_weight_of_two_is_the_row_twice():
    X, y = make_xor_clusters(150, std=0.7)
    weighted = tune_model(of_degree, X, y, values=[1, 2], sample_weight=np.full(150, 2.0))
    twice = tune_model(of_degree, np.vstack([X, X]), np.append(y, y), values=[1, 2])
    for one, other in zip(weighted.tried, twice.tried, strict=True):
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-6)


@pytest.mark.parametrize("asked", [{}, {"bounds": (0.1, 1.0), "values": [1]}])
def test_bounds_or_values_and_not_both(asked):
    with pytest.raises(ValueError, match="either bounds=.* or values="):
        tune_model(of_width, *make_xor_clusters(20), **asked)


@pytest.mark.parametrize("bounds", [0.5, (0.1,), ("narrow", "wide")])
def test_bounds_are_two_numbers(bounds):
    with pytest.raises(ValueError, match="must be two numbers"):
        tune_model(of_width, *make_xor_clusters(20), bounds=bounds)


def test_a_model_without_evidence_is_refused():
    with pytest.raises(TypeError, match=r"returned LogisticRegression.*must return a BayesianLogisticRegression"):
        tune_model(lambda alpha: LogisticRegression(alpha), *make_xor_clusters(20), bounds=(0.1, 10.0))
