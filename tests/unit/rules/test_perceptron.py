import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from problems import blobs, separable
from separatrix.exceptions import NotSeparableWarning
from separatrix.rules import perceptron
from separatrix.solvers import directions, separation


def test_mistakes_are_counted_by_epoch_and_the_last_epoch_has_none():
    X, y = separable(80, gap=0.05)
    model = sx.Perceptron(max_epochs=1000).fit(X, y)
    assert model.mistakes_per_epoch_[-1] == 0
    assert model.n_mistakes_ == sum(model.mistakes_per_epoch_)
    assert model.n_steps_ == model.n_passes_ == len(model.mistakes_per_epoch_)


def test_the_learning_rate_scales_the_weights_and_nothing_else():
    X, y = separable(80, gap=0.05)
    a, b = (sx.Perceptron(learning_rate=eta, max_epochs=1000).fit(X, y) for eta in (1.0, 0.25))
    assert a.n_mistakes_ == b.n_mistakes_
    assert_allclose(b.coef_, a.coef_ / 4)


def test_shuffling_repeats_with_its_seed_and_differs_between_epochs():
    X, y = separable(80, gap=0.05)
    options = {"shuffle": True, "max_epochs": 1000}
    a, b, c = (sx.Perceptron(rng=seed, **options).fit(X, y).coef_ for seed in (None, None, 5))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_no_intercept_means_none():
    X, y = separable(80, gap=0.05)
    model = sx.Perceptron(fit_intercept=False, max_epochs=10_000).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.score(X, y) == 1


def test_a_weight_scales_the_step():
    model = sx.Perceptron(max_epochs=1)
    with pytest.warns(NotSeparableWarning):
        model.fit([[2.0], [-2.0]], [1, 0], sample_weight=[3.0, 1.0])
    assert model.coef_.tolist() == [[6.0]]  # the first row moved w by 3 · 2, after which the second was right


def test_pocket_weights_separate_where_the_last_ones_do():
    X, y = separable(60)
    assert sx.Perceptron(weights="pocket").fit(X, y).score(X, y) == 1


def test_large_data_are_not_put_through_a_linear_program(monkeypatch):
    monkeypatch.setattr(perceptron, "PROOF_SIZE", 10)
    X, y = blobs(60, n_classes=2, distance=0.1)
    with pytest.warns(NotSeparableWarning, match="is_separable decides"):
        sx.Perceptron(max_epochs=2).fit(X, y)


def test_the_trace_has_one_entry_per_mistake():
    X, y = blobs(60, n_classes=3, distance=20.0)
    model = sx.Perceptron(trace=True).fit(X, y)
    assert len(model.solution_.trace) == model.n_mistakes_
    assert model.solution_.trace[0].W.shape == (3, 4)
    assert_allclose(model.solution_.trace[-1].W, model.coef_)


def test_columns_far_from_zero_are_named_with_the_remedy():
    X, y = separable(60)
    with pytest.warns(NotSeparableWarning, match=r"can be separated.*far from zero, such as 'x0'.*StandardScaler"):
        sx.Perceptron(max_epochs=5).fit(X + 1000, y)


def test_a_limit_reached_where_rounding_hides_the_answer_says_so(monkeypatch):
    monkeypatch.setattr(directions, "PATIENCE", 0)
    monkeypatch.setattr(separation, "SECONDS", -np.inf)
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    with pytest.warns(NotSeparableWarning, match="lost in rounding, as columns are nearly collinear"):
        sx.Perceptron(max_epochs=5).fit(X, y)
