# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from separatrix import LeastSquaresClassifier
from separatrix.basis import RBF, Polynomial, fit_basis
from separatrix.rows import as_source

X = np.random.default_rng(0).normal(size=(90, 2))
SOURCE = replace(as_source(X, np.zeros(90, int)), height=20)


class Spy(TransformerMixin, BaseEstimator):
    """Notes what it is given."""

    seen = ()

    def fit(self, *arguments):
        type(self).seen = arguments
        return self

    def transform(self, rows):
        return rows


def test_no_basis_is_no_basis():
    assert fit_basis(None, SOURCE) is None


def test_a_basis_is_copied_before_it_is_fitted():
    basis = RBF("random", 5, rng=np.random.default_rng(1))
    first, second = fit_basis(basis, SOURCE), fit_basis(basis, SOURCE)
    np.testing.assert_array_equal(first.evaluate(X), second.evaluate(X))
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(basis)


@pytest.mark.parametrize(
    "transformer",
    [
        StandardScaler(),
        PolynomialFeatures(2, include_bias=False),
        SplineTransformer(),
        make_pipeline(StandardScaler(), PolynomialFeatures(3)),
        FunctionTransformer(np.abs),
        make_pipeline(FunctionTransformer(np.abs), StandardScaler()),
    ],
    ids=lambda t: type(t).__name__,
)
def test_any_transformer_of_scikit_learn_is_a_basis(transformer):
    functions = fit_basis(transformer, SOURCE)
    expected = transformer.fit(X).transform(X)
    seen = SOURCE.mapped(functions)
    np.testing.assert_allclose(seen.map(lambda Phi: Phi), expected, rtol=1e-13)
    assert len(set(seen.columns)) == len(seen.columns) == expected.shape[1]


def test_a_transformer_without_names_gets_numbers():
    assert fit_basis(FunctionTransformer(np.abs), SOURCE).names(("a", "b")) == ("phi0", "phi1")


def test_a_transformer_is_fitted_once_on_all_rows_and_never_on_targets():
    fit_basis(Spy(), SOURCE)
    (rows,) = Spy.seen
    np.testing.assert_array_equal(rows, X)


def test_sparse_rows_reach_a_transformer_sparse():
    rows = sparse.csr_array(np.where(X > 1, X, 0))
    fit_basis(Spy(), replace(as_source(rows), height=20))
    assert sparse.issparse(Spy.seen[0])
    Phi = fit_basis(MaxAbsScaler(), as_source(rows)).evaluate(rows)
    assert isinstance(Phi, sparse.csr_array)


@pytest.mark.parametrize("basis", ["rbf", 3, LogisticRegression(), np.sin])
def test_anything_else_is_refused_with_what_would_do(basis):
    with pytest.raises(TypeError, match=r"is neither a basis nor a transformer. Pass None"):
        fit_basis(basis, SOURCE)


@pytest.mark.parametrize("kind", [Polynomial, StandardScaler])
def test_a_class_in_place_of_an_object_is_noticed(kind):
    with pytest.raises(TypeError, match=rf"basis={kind.__name__} is a class; write basis={kind.__name__}\(\)"):
        fit_basis(kind, SOURCE)


def test_a_transformer_that_needs_targets_belongs_in_a_pipeline():
    with pytest.raises(TypeError, match=r"needs the targets.*Pipeline"):
        fit_basis(LinearDiscriminantAnalysis(), SOURCE)


def pipeline():
    return make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))


def test_a_pipeline_that_passes_data_frames_between_its_steps_is_a_basis():
    pytest.importorskip("pandas")
    functions = fit_basis(pipeline().set_output(transform="pandas"), SOURCE)
    np.testing.assert_allclose(functions.evaluate(X), pipeline().fit_transform(X), rtol=1e-13)
    assert functions.names(("a", "b")) == ("x0", "x1", "x0^2", "x0 x1", "x1^2")


def test_data_frames_asked_for_everywhere_change_nothing():
    pytest.importorskip("pandas")
    with sklearn.config_context(transform_output="pandas"):
        functions = fit_basis(pipeline(), SOURCE)
        Phi = functions.evaluate(X)
    np.testing.assert_allclose(Phi, pipeline().fit_transform(X), rtol=1e-13)
    assert functions.names(("a", "b")) == ("a", "b", "a^2", "a b", "b^2")


def test_columns_are_picked_by_position_and_a_name_is_answered_with_what_to_do():
    pd = pytest.importorskip("pandas")
    frame, t = pd.DataFrame(X, columns=["a", "b"]), X[:, 1] > 0
    by_name, by_position = (ColumnTransformer([("scaled", StandardScaler(), [which])]) for which in ("b", 1))
    expected = make_pipeline(by_name, LeastSquaresClassifier()).fit(frame, t).decision_function(frame)
    model = LeastSquaresClassifier(basis=by_position).fit(frame, t)
    np.testing.assert_allclose(model.decision_function(frame), expected, rtol=1e-12)
    assert model.basis_.names(("a", "b")) == ("scaled__b",)
    with pytest.raises(ValueError, match="strings") as caught:
        LeastSquaresClassifier(basis=by_name).fit(frame, t)
    assert "without column names" in caught.value.__notes__[0]
    assert "before the classifier in a sklearn.pipeline.Pipeline" in caught.value.__notes__[0]
