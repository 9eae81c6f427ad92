# SPDX-License-Identifier: BSD-3-Clause
"""Columns that are constant, combinations of others, or constant within classes, for models of normal classes."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA

import separatrix as sx
from problems import blobs
from separatrix.exceptions import CollinearError, CollinearWarning, NoEstimateError

LDA, QDA = sx.LinearDiscriminantAnalysis, sx.QuadraticDiscriminantAnalysis
both = pytest.mark.parametrize("kind", [LDA, QDA])
OPTIONS = [{}, {"shrinkage": 0.3}, {"shrinkage": "evidence"}, {"shrinkage": "ledoit-wolf"}]
OPTIONS += [{"estimate": "map"}, {"estimate": "predictive"}, {"priors": [0.2, 0.3, 0.5]}]


def fitted(model, X, y, match=None, **options):
    with pytest.warns(CollinearWarning, match=match) as caught:
        model.fit(X, y, **options)
    assert len(caught) == 1
    return model


@pytest.fixture
def table(rng):
    X, y = blobs(150, n_features=4, n_classes=3, distance=2.0)
    combined = X[:, 0] - 3 * X[:, 2] + 5
    return X, np.column_stack([X, combined, np.full(150, 7e6)]), y


@both
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_constant_column_changes_nothing(kind, options, table):
    X, wide, y = table
    model = fitted(kind(**options), wide[:, [0, 1, 2, 3, 5]], y, "'x4' is constant. Drop those columns.$")
    alone = kind(**options).fit(X, y)
    new = X[::7] + 0.3
    for value in (7e6, -1e3, 0.0):  # the column is not used, whatever its value
        rows = np.column_stack([new, np.full(len(new), value)])
        assert_allclose(model.predict_log_proba(rows), alone.predict_log_proba(new), rtol=1e-9, atol=1e-9)
    assert_allclose(model.log_density(rows), alone.log_density(new), rtol=1e-9)
    if kind is LDA and options.get("estimate") != "predictive":
        assert_allclose(model.coef_, np.column_stack([alone.coef_, np.zeros(3)]), rtol=1e-9)


@both
def test_a_combination_changes_nothing_and_is_named(kind, table):
    X, wide, y = table
    model = fitted(kind(), wide, y, "'x5' is constant; 'x4' is a combination of 'x0' and 'x2'.*or set shrinkage")
    alone = kind().fit(X, y)
    assert_allclose(model.predict_log_proba(wide), alone.predict_log_proba(X), rtol=1e-7, atol=1e-7)
    assert_allclose(model.log_density(wide), alone.log_density(X), rtol=1e-9)
    units = np.array([1e-6, 1e3, 1.0, 1e9, 1e-3, 1e5])
    scaled = fitted(kind(), wide * units, y, "'x5' is constant; 'x4' is a combination of 'x0' and 'x2'")
    assert_allclose(scaled.predict_log_proba(wide * units), alone.predict_log_proba(X), rtol=1e-6, atol=1e-6)


@both
def test_samples_have_the_constants_and_combinations(kind, table):
    _, wide, y = table
    model = fitted(kind(), wide, y)
    X, labels = model.sample(2000, rng=0)
    assert_allclose(X[:, 5], 7e6, rtol=1e-15)
    assert_allclose(X[:, 4], X[:, 0] - 3 * X[:, 2] + 5, atol=1e-7)
    for k in range(3):
        assert_allclose(X[labels == k, :4].mean(axis=0), model.means_[k, :4], atol=0.2)


@both
def test_batches_merged_models_and_new_classes_equal_one_fit(kind, table):
    _, wide, y = table
    whole = fitted(kind(), wide, y)
    batches, first, second = kind(), kind(), kind()
    for start in range(0, 150, 30):
        batches.partial_fit(wide[start : start + 30], y[start : start + 30])
    first.partial_fit(wide[:70], y[:70])
    second.partial_fit(wide[70:], y[70:])
    with pytest.warns(CollinearWarning, match="'x5' is constant"):
        merged = first.merge(second)
    grown = fitted(kind(), wide[y < 2], y[y < 2])
    with pytest.warns(CollinearWarning, match="'x5' is constant"):
        grown.add_class(wide[y == 2], 2)
    with pytest.warns(CollinearWarning, match="'x5' is constant"):
        batches.predict(wide)  # a batch may be singular; the first prediction warns
    for model in (batches, merged, grown):
        assert_allclose(model.predict_log_proba(wide), whole.predict_log_proba(wide), rtol=1e-6, atol=1e-6)


@both
def test_weights_of_zero_and_repeated_rows_equal_their_removal(kind, table, rng):
    X, _, y = table
    column = np.where(np.arange(150) < 90, 2.0, rng.normal(size=150))  # constant in the rows of positive weight
    wide, weight = np.column_stack([X, column]), 1.0 * (np.arange(150) < 90)
    model = fitted(kind(), wide, y, "'x4' is constant", sample_weight=weight)
    assert_allclose(model.predict_proba(wide), kind().fit(X[:90], y[:90]).predict_proba(X), rtol=1e-9, atol=1e-12)


def noisy(kind, X, y, rows, std):
    """Probabilities of the fit to two copies of each row, with noise of opposite sign on the last column."""
    many = np.repeat(X, 2, axis=0)
    many[:, -1] += std * np.tile([-1.0, 1.0], len(X))
    return kind().fit(many, np.repeat(y, 2)).predict_proba(rows)


@both
def test_a_column_that_is_constant_within_classes_has_the_probabilities_of_the_limit(kind, table):
    """Class 0 has another value than classes 1 and 2, which share theirs."""
    X, _, y = table
    leak = np.column_stack([X, np.where(y == 0, 5.0, 1.0)])
    model = fitted(kind(), leak, y, "Column 'x4' is constant within (every )?class")
    rest = kind().fit(X[y > 0], y[y > 0])
    P = model.predict_proba(leak)
    assert_allclose(P[y == 0], np.tile([1.0, 0.0, 0.0], ((y == 0).sum(), 1)), atol=1e-12)
    assert_allclose(P[y > 0, 0], 0.0, atol=1e-12)
    if kind is QDA:  # the covariances of classes 1 and 2 do not depend on class 0
        assert_allclose(P[y > 0, 1:], rest.predict_proba(X[y > 0]), rtol=1e-6, atol=1e-9)
    for value, nearest in ((4.0, [0]), (2.0, [1, 2]), (-3.0, [1, 2]), (9.0, [0])):
        rows = np.column_stack([X, np.full(150, value)])
        P = model.predict_proba(rows)
        assert_allclose(P[:, nearest].sum(axis=1), 1.0, atol=1e-12)  # the nearest value
        if kind is LDA:
            assert_allclose(P, noisy(kind, leak, y, rows, 1e-3), atol=2e-4)
    assert np.isfinite(model.log_density(leak)).all()
    X_new, _ = model.sample(50, y=0)
    assert_allclose(X_new[:, 4], 5.0, rtol=1e-12)


def test_a_column_that_is_constant_in_one_class_decides_about_this_class():
    """The limit of QDA: rows with the value belong to the class, all others do not."""
    X, y = blobs(120, n_features=3, n_classes=2, distance=1.0)
    X[y == 1, 2] = 0.25
    model = fitted(QDA(), X, y, r"Column 'x2' is constant within class 1 \(\d+ rows\): rows")
    assert_allclose(model.predict_proba(X)[:, 1], y, atol=1e-2)
    X[:, 2] += np.where(y == 1, 1e-3, 0.0)
    assert_allclose(model.predict_proba(X)[:, 1], 0.0, atol=1e-3)
    X[y == 1, 2] = 0.25
    limits = [noisy(QDA, X, y, X, std)[y == 1, 1].min() for std in (1e-1, 1e-3, 1e-5)]
    assert limits[0] < limits[1] < limits[2]
    near_limit = noisy(QDA, X, y, X, 1e-5 * np.sqrt(np.cov(X[:, 2])))
    assert_allclose(model.predict_proba(X), near_limit, atol=1e-3)


@both
def test_combinations_that_are_constant_within_classes_separate_them(kind, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 2] = X[:, 0] + X[:, 1] + 4 * y
    model = fitted(kind(), X, y, "Combinations of 3 columns are constant within")
    assert_allclose(model.predict_proba(X)[:, 1], y, atol=1e-12)
    assert_allclose(model.predict_proba([[1.0, 1.0, 2.0], [1.0, 1.0, 5.5]])[:, 1], [0.0, 1.0], atol=1e-12)


@both
@pytest.mark.parametrize("options", [{"shrinkage": 0.3}, {"shrinkage": "evidence"}, {"estimate": "predictive"}])
def test_fewer_rows_than_columns_with_constants_equal_the_fit_without_them(kind, options, rng):
    X, y = rng.normal(size=(20, 30)), np.arange(20) % 2
    X[y == 1, :3] += 1.0
    wide = np.column_stack([X, np.full(20, 3.0)])
    model, alone = fitted(kind(**options), wide, y, "'x30' is constant"), kind(**options).fit(X, y)
    for holes in (X, np.where(np.arange(30) == 4, np.nan, X)):
        rows = np.column_stack([holes, np.full(20, -9.0)])
        assert_allclose(model.predict_log_proba(rows), alone.predict_log_proba(holes), rtol=1e-7, atol=1e-8)
    leak = np.column_stack([X, 1.0 * y])
    assert_allclose(fitted(kind(**options), leak, y).predict(np.column_stack([X[::-1], y])), y)


@both
def test_fewer_rows_than_columns_without_shrinkage(kind, rng):
    X, y = rng.normal(size=(20, 30)), np.arange(20) % 2
    model = fitted(kind(), X, y, "20 rows cannot determine the covariance of 30 columns.*set shrinkage")
    assert model.score(X, y) == 1
    assert model.covariance_.shape[-2:] == (30, 30)


def test_digits_have_the_probabilities_of_scikit_learn():
    X, y = load_digits(return_X_y=True)
    model = fitted(LDA(), X, y, "'x0' is constant; 'x32' is constant; 'x39' is constant")
    theirs = SklearnLDA(solver="lsqr").fit(X, y)  # with svd, version 1.8 divides the scatter by N - K
    assert_allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-10)
    assert_allclose(model.coef_[:, [0, 32, 39]], 0.0)


@both
def test_missing_values_are_fitted_if_columns_are_collinear(kind, table, rng):
    """EM on the independent columns, with missing values that another column determines filled in."""
    X, wide, y = table
    wide = wide[:, [0, 1, 2, 3, 5, 0]]
    wide[:, 5] *= -2.0
    holes = rng.random(wide.shape) < 0.1
    holes[:, 5] &= ~holes[:, 0]  # the multiple of x0 is known if x0 is missing
    holes[:, 4] = False
    some = np.where(holes, np.nan, wide)
    model = fitted(kind(), some, y, "'x4' is constant; 'x5' is a linear function of 'x0'")
    known = np.where(holes[:, :4], np.nan, X)
    known[:, 0] = X[:, 0]
    alone = kind().fit(known, y)
    assert_allclose(model.means_[:, :4], alone.means_, rtol=1e-5, atol=1e-6)
    assert_allclose(model.predict_proba(wide), alone.predict_proba(X), atol=5e-4)  # EM stops at a tolerance
    assert_allclose(model.predict_proba(np.where(np.arange(6) == 1, np.nan, wide)).sum(axis=1), 1.0)


@both
def test_unlabelled_rows_are_fitted_if_columns_are_collinear(kind, table):
    X, wide, y = table
    labels = np.where(np.arange(150) % 3 == 0, -1, y)
    model = fitted(kind(unlabelled=-1), wide, labels)
    alone = kind(unlabelled=-1).fit(X, labels)
    assert_allclose(model.predict_proba(wide), alone.predict_proba(X), atol=1e-4)  # EM stops at a tolerance


@both
def test_rows_that_are_all_equal_have_no_covariance(kind):
    with pytest.raises(CollinearError, match="Every class has one row|One row of class 'a'"):
        kind().fit([[0.5, 0.6], [0.6, 0.5]], ["a", "b"])


@pytest.mark.parametrize("kind", [LDA, QDA, sx.FisherDiscriminant], ids=lambda kind: kind.__name__)
def test_columns_that_only_repeat_the_class_predict_it(kind):
    y = np.repeat([0, 1, 2], [4, 5, 6])
    X = np.column_stack([y == 1, 2.0 * y])
    model = fitted(kind(), X, y, "constant within")
    assert_allclose(model.predict(X), y)
    assert_allclose(model.predict([[0.9, 2.1], [0.1, 3.6]]), [1, 2])


@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.3}], ids=str)
@pytest.mark.parametrize("kind", [LDA, QDA, sx.FisherDiscriminant], ids=lambda kind: kind.__name__)
def test_shrinkage_is_no_remedy_for_a_column_without_variance_within_classes(kind, options, table):
    X, _, y = table
    leak, new = np.column_stack([X, y]), np.column_stack([X[::-1], y])
    for rows, labels in ((leak, y), (da.from_array(leak, chunks=(40, 5)), da.from_array(y, chunks=40))):
        model = fitted(kind(**options), rows, labels, "^Column 'x4' is constant within .*Drop that column.$")
        assert_allclose(model.predict(new), y)


def test_a_class_of_equal_rows_is_a_point(rng):
    X, y = rng.normal(size=(40, 2)), 1 * (np.arange(40) < 3)
    X[:3] = 0.5
    model = fitted(QDA(), X, y, "Columns 'x0' and 'x1' are constant within class 1")
    assert_allclose(model.predict_proba(X)[:, 1], y, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"scatter": "mean"}, {"threshold": "normal"}, {"shrinkage": 0.1}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fisher_uses_the_independent_columns(options, n_classes, table):
    X, wide, y = table
    X, wide, y = X[y < n_classes], wide[y < n_classes], y[y < n_classes]
    names = "'x5' is constant" if "shrinkage" in options else "'x5' is constant; 'x4' is a combination of 'x0' and 'x2'"
    if "shrinkage" in options:
        X = wide[:, :5]
    model, alone = fitted(sx.FisherDiscriminant(**options), wide, y, names), sx.FisherDiscriminant(**options).fit(X, y)
    assert_allclose(model.ratio_, alone.ratio_, rtol=1e-9)
    assert_allclose(model.transform(wide), alone.transform(X), rtol=1e-6, atol=1e-7)
    assert_allclose(model.coef_[:, : X.shape[1]], alone.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.coef_[:, X.shape[1] :], 0.0)


@pytest.mark.parametrize(
    "kind", [LDA, sx.FisherDiscriminant, sx.LeastSquaresClassifier], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("small", [1e-2, 1e-5])
def test_a_sum_of_columns_of_different_scales_is_found_in_any_order(kind, small):
    """The pivot of the last column is rounding error, magnified by 1/small², with either sign."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, z = rng.normal(size=(2, 200))
        y = 1 * (x + rng.normal(size=200) > 0)
        wide = np.column_stack([x, x + small * z, z])
        model = fitted(kind(), wide, y, "'x[01]' is a combination of 'x[01]' and 'x2'")
        alone = kind().fit(wide[:, [0, 2]], y)
        expected = alone.decision_function(wide[:, [0, 2]])
        assert_allclose(model.decision_function(wide), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [60, 8])  # more rows than columns, and fewer
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_fisher_chooses_the_direction_in_which_classes_have_no_spread(n, shrinkage, rng):
    X, y = rng.normal(size=(n, 9)), np.arange(n) % 2
    X[:, 3] = np.where(y == 1, 2.0, -1.0)
    model = fitted(
        sx.FisherDiscriminant(shrinkage=shrinkage), X, y, "constant within every class, with different values"
    )
    assert model.ratio_[0] > 1e6
    assert np.isfinite(model.coef_).all()
    if n > 9 or shrinkage:
        along = model.coef_[0] / np.abs(model.coef_[0]).max()
        assert_allclose(along, np.eye(9)[3], atol=1e-6)
        assert_allclose(model.predict(np.column_stack([rng.normal(size=(n, 3)), X[:, 3], X[:, 4:]])[:, :9]), y)


def test_fisher_orders_a_direction_without_spread_before_the_others(table):
    X, _, y = table
    leak = np.column_stack([X, np.where(y == 0, 5.0, 1.0)])
    model = fitted(sx.FisherDiscriminant(), leak, y, "Column 'x4' is constant within every class")
    assert model.ratio_[0] > 1e6 > model.ratio_[1] > 0
    rows = leak[y > 0]
    assert (model.predict(rows) > 0).all()
    assert (model.predict(leak[y == 0]) == 0).all()


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
@pytest.mark.parametrize("family", ["normal", "normal_known_variance"])
def test_naive_bayes_does_not_use_a_constant_column(family, estimate, table):
    X, wide, y = table
    wide = wide[:, [0, 5, 1, 2, 3]]
    model = sx.NaiveBayes(family, estimate=estimate)
    fitted(model, wide, y, "Column 'x1' is constant in all rows and not used")
    alone = sx.NaiveBayes(family, estimate=estimate).fit(X, y)
    other = np.where(np.arange(5) == 1, 3.0, wide)
    for rows in (wide, other, np.where(np.arange(5) == 2, np.nan, other)):
        few = np.delete(rows, 1, axis=1)
        assert_allclose(model.predict_log_proba(rows), alone.predict_log_proba(few), rtol=1e-9, atol=1e-9)
        assert_allclose(model.log_density(rows), alone.log_density(few), rtol=1e-9)
    assert_allclose(model.sample(20)[0][:, 1], 7e6, rtol=1e-15)
    assert model.families_ == (family,) * 5
    if family == "normal_known_variance" and estimate != "predictive":
        assert_allclose(model.coef_, np.insert(alone.coef_, 1, 0.0, axis=1), rtol=1e-9)
    batches = sx.NaiveBayes(family, estimate=estimate)
    for rows in (slice(0, 1), slice(1, 60), slice(60, 150)):
        batches.partial_fit(wide[rows], y[rows], classes=[0, 1, 2])
    with pytest.warns(CollinearWarning, match="'x1' is constant"):
        assert_allclose(batches.predict_log_proba(wide), model.predict_log_proba(wide), rtol=1e-7, atol=1e-9)


def test_naive_bayes_by_maximum_likelihood_has_the_limit_of_a_vanishing_variance(table):
    X, _, y = table
    leak = np.column_stack([X, np.where(y == 0, 5.0, X[:, 0])])
    model = fitted(sx.NaiveBayes("normal", estimate="ml"), leak, y, "Column 'x4' is constant within class 0: rows")
    P = model.predict_proba(leak)
    assert_allclose(P[:, 0], y == 0, atol=1e-2)
    rest = sx.NaiveBayes("normal", estimate="ml").fit(leak[y > 0], y[y > 0])
    assert_allclose(P[y > 0, 1:], rest.predict_proba(leak[y > 0]), rtol=1e-6, atol=1e-9)
    both_equal = np.column_stack([X, np.where(y == 0, 5.0, 1.0)])
    shared = fitted(sx.ExponentialFamilyClassifier("normal", estimate="ml"), both_equal, y, "'x4' is constant within")
    assert_allclose(shared.predict_proba(both_equal)[:, 0], y == 0, atol=1e-12)


def test_naive_bayes_of_digits_has_the_densities_of_scipy():
    X, y = load_digits(return_X_y=True)
    model = fitted(
        sx.NaiveBayes("normal", estimate="ml"), X, y, "Columns 'x0', 'x32' and 'x39' are constant in all rows"
    )
    few = X[:, X.std(axis=0) > 0]
    variance = np.stack([np.maximum(few[y == k].var(axis=0), 1e-10 * few.var(axis=0)) for k in range(10)])
    densities = [norm(few[y == k].mean(axis=0), np.sqrt(variance[k])).logpdf(few).sum(axis=1) for k in range(10)]
    joint = np.column_stack(densities) + np.log(np.bincount(y) / len(y))
    assert_allclose(model.predict_log_proba(X), joint - logsumexp(joint, axis=1, keepdims=True), rtol=1e-5, atol=1e-5)
    assert sx.NaiveBayes().fit(X, y).score(X, y) > 0.85


def test_unlabelled_rows_of_naive_bayes_with_a_constant_column(table):
    X, wide, y = table
    labels = np.where(np.arange(150) % 3 == 0, -1, y)
    model = fitted(sx.NaiveBayes("normal", unlabelled=-1), wide[:, [0, 1, 2, 3, 5]], labels, "'x4' is constant")
    alone = sx.NaiveBayes("normal", unlabelled=-1).fit(X, labels)
    assert_allclose(model.predict_proba(wide[:, [0, 1, 2, 3, 5]]), alone.predict_proba(X), atol=1e-9)
    assert model.families_ == ("normal",) * 5


@pytest.mark.parametrize("family", ["normal", "gamma", "beta"])
def test_a_first_batch_with_one_row_of_a_class_is_not_an_error(family, rng):
    X, y = rng.beta(2.0, 3.0, size=(40, 2)), np.arange(40) % 2
    model = sx.NaiveBayes(family, estimate="ml").partial_fit(X[:3], y[:3])
    if family != "normal":
        with pytest.raises(NoEstimateError, match="all values are equal in class 1"):
            model.predict(X)
    model.partial_fit(X[3:], y[3:])
    assert_allclose(model.predict_proba(X), sx.NaiveBayes(family, estimate="ml").fit(X, y).predict_proba(X), rtol=1e-6)


def test_numbers_as_names_of_text_columns():
    frame = pd.DataFrame([["a", 1.0], ["b", 2.0], ["a", 3.0], ["b", 4.0]])
    model = sx.NaiveBayes().fit(frame, [0, 1, 0, 1])
    named = sx.NaiveBayes().fit(frame.set_axis(["text", "number"], axis=1), [0, 1, 0, 1])
    assert_allclose(model.predict_proba(frame), named.predict_proba(frame.set_axis(["text", "number"], axis=1)))
    assert frame.columns.tolist() == [0, 1]


@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.3}], ids=str)
@pytest.mark.parametrize("kind", [LDA, QDA, sx.FisherDiscriminant, sx.NaiveBayes], ids=lambda kind: kind.__name__)
def test_other_rows_and_saved_models_give_the_same_predictions(kind, options, table, tmp_path):
    _, wide, y = table
    if kind is sx.NaiveBayes:
        options = {"families": "normal", "pseudo_count": 2.0 if options else 1.0}
    model = fitted(kind(**options), wide, y, "constant")
    expected = model.decision_function(wide)
    pd.DataFrame(wide, columns=list("abcdef")).assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    scan = sx.scan(tmp_path / "table.csv", target="y")
    chunks = da.from_array(wide, chunks=(40, 6)), da.from_array(y, chunks=40)
    for rows, labels in ((sparse.csr_array(wide), y), (scan, None), chunks):
        other = fitted(kind(**options), rows, labels, "constant")
        assert_allclose(np.asarray(other.decision_function(rows)), expected, rtol=1e-6, atol=1e-6)
    sx.save(model, tmp_path / "model.sx")
    assert_allclose(sx.load(tmp_path / "model.sx").decision_function(wide), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [LDA, QDA, sx.FisherDiscriminant], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("N", [150, 5000])
def test_columns_that_are_combinations_up_to_single_precision_are_dropped(kind, N):
    X, y = blobs(N, n_features=4, n_classes=3, distance=2.0)
    wide = np.column_stack([X, X[:, 0] - 3 * X[:, 2] + 5, 2 * X[:, 1]]).astype(np.float32)
    model = fitted(kind(), wide, y, "'x4' is a combination of 'x0' and 'x2'; 'x5' is a linear function of 'x1'")
    assert_allclose(model.decision_function(wide), kind().fit(X, y).decision_function(X), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("kind", [LDA, sx.FisherDiscriminant], ids=lambda kind: kind.__name__)
def test_a_small_variance_of_float32_rows_is_not_taken_for_zero(kind, rng):
    """A direction with 1 - R² below the precision of the products, along which the classes differ by one deviation."""
    y = np.arange(4000) % 2
    x, z = rng.normal(size=(2, 4000))
    X = np.column_stack([x, x + 5e-4 * (z + y)])
    expected = kind().fit(X, y).decision_function(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearWarning)
        found = kind().fit(X.astype(np.float32), y).decision_function(X)
    assert np.abs(found).max() < 2 * np.abs(expected).max()  # not overconfident
    assert np.mean((found > 0) == (expected > 0)) > 0.95
