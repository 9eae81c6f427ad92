# SPDX-License-Identifier: BSD-3-Clause
"""Least squares, Fisher's discriminant and the perceptron."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from problems import blobs, separable
from separatrix.exceptions import DataError, NotSeparableWarning
from separatrix.rows import as_source
from separatrix.rules._online import perceptron_rows, start, storage
from separatrix.rules.fisher import fit_fisher
from separatrix.rules.least_squares import fit_least_squares
from separatrix.stats import ClassScatter, FactoredScatter, PooledScatter, class_moments, collect_moments


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_least_squares_with_more_columns_than_rows_equals_the_dense_computation(fit_intercept, alpha):
    X, y = blobs(60)
    source = as_source(X, y)
    tall = collect_moments(source, 3, PooledScatter)
    wide = source.reduce(lambda block: class_moments(block, 3, FactoredScatter))
    a, b = (fit_least_squares(m, alpha=alpha, fit_intercept=fit_intercept) for m in (tall, wide))
    assert_allclose(b.W, a.W, rtol=1e-8, atol=1e-10)
    assert_allclose(b.w0, a.w0, rtol=1e-8, atol=1e-10)


def test_least_squares_takes_one_pass():
    X, y = blobs(60)
    model = sx.LeastSquaresClassifier().fit(X, y)
    assert (model.n_passes_, model.n_steps_) == (1, 1)
    assert model.solution_.status is sx.solvers.Status.SOLVED


@pytest.mark.parametrize("convention", ["pooled", "mean"])
@pytest.mark.parametrize("shrinkage", [0.2, 1.0])
def test_fisher_with_more_columns_than_rows_equals_the_dense_computation(convention, shrinkage):
    X, y = blobs(60)
    source = as_source(X, y)
    a, b = (
        fit_fisher(
            source.reduce(lambda block, kind=kind: class_moments(block, 3, kind)),
            convention=convention,
            shrinkage=shrinkage,
            columns=source.columns,
        )
        for kind in (ClassScatter, FactoredScatter)
    )
    assert_allclose(b.ratio, a.ratio, rtol=1e-9)
    assert_allclose(b.V, a.V, rtol=1e-7, atol=1e-9)


def test_a_class_of_one_row_uses_the_spread_of_the_other():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    model = sx.FisherDiscriminant(threshold="normal").fit(X, [0, 0, 0, 1])
    assert model.predict([[1.0], [9.0]]).tolist() == [0, 1]


def test_classes_with_equal_means_have_no_direction():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    model = sx.FisherDiscriminant().fit(X, [0, 0, 1, 1])
    assert model.scalings_.shape == (2, 0)
    assert_allclose(model.coef_, 0)


def test_fewer_components_keep_the_best_ones():
    X, y = blobs(200, n_features=5, n_classes=4)
    full, two = sx.FisherDiscriminant().fit(X, y), sx.FisherDiscriminant(n_components=2).fit(X, y)
    assert_allclose(two.transform(X), full.transform(X)[:, :2])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.ascontiguousarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_compiled_perceptron_equals_plain_python(n_classes, kind, bias, rng):
    X, y = blobs(80, n_classes=n_classes, distance=0.5)
    X = np.where(np.abs(X) < 0.7, 0.0, X).astype(np.float32).astype(np.float64)
    step = rng.choice([0.0, 0.5, 1.0], size=80)
    outputs = 1 if n_classes == 2 else n_classes
    compiled, plain = start(outputs, 4), start(outputs, 4)
    for _ in range(3):
        mistakes = perceptron_rows(storage(kind(X)), y, step, bias, compiled)
        assert mistakes == perceptron_rows.py_func(storage(kind(X)), y, step, bias, plain)
        assert mistakes > 0
    for a, b in zip(compiled, plain, strict=True):
        assert_allclose(a, b, rtol=1e-5 if kind(X).dtype == np.float32 else 1e-10, atol=1e-5)


def test_mistakes_are_counted_by_epoch_and_the_last_epoch_has_none():
    X, y = separable(80, gap=0.05)
    model = sx.Perceptron(max_epochs=1000).fit(X, y)
    assert model.mistakes_per_epoch_[-1] == 0
    assert model.n_mistakes_ == sum(model.mistakes_per_epoch_)
    assert model.n_steps_ == model.n_passes_ == len(model.mistakes_per_epoch_)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("weights", ["last", "average", "pocket"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_equation_4_54_the_criterion_is_the_sum_of_what_misclassified_rows_lack(rng, weights, n_classes):
    X = rng.normal(size=(90, 3))
    y, weight = rng.integers(0, n_classes, size=90), rng.integers(0, 3, size=90).astype(float)
    model = sx.Perceptron(weights=weights, max_epochs=5).fit(X, y, sample_weight=weight)
    a = model.decision_function(X)
    A = np.column_stack([-a, a]) / 2 if n_classes == 2 else a  # the difference of both is a
    lack = A.max(axis=1) - A[np.arange(90), y]
    assert model.criterion_ == pytest.approx(weight @ lack, rel=1e-12)
    assert model.criterion_ > 0


def test_the_criterion_of_separated_rows_is_zero():
    assert sx.Perceptron(max_epochs=1000).fit(*separable(80, gap=0.05)).criterion_ == 0


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


def test_a_weight_scales_the_step():
    model = sx.Perceptron(max_epochs=1)
    with pytest.warns(NotSeparableWarning):
        model.fit([[2.0], [-2.0]], [1, 0], sample_weight=[3.0, 1.0])
    assert model.coef_.tolist() == [[6.0]]  # the first row moves w by 3 · 2, and the second row is then correct


def test_pocket_weights_separate_separable_classes():
    X, y = separable(60)
    assert sx.Perceptron(weights="pocket").fit(X, y).score(X, y) == 1


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


@pytest.mark.parametrize("empty", [0, 1])
def test_fisher_targets_need_weight_in_both_classes(empty):
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(DataError, match=r"add up to .*targets='one-of-K'"):
        sx.LeastSquaresClassifier(targets="fisher").fit(X, y, sample_weight=(y != empty).astype(float))
