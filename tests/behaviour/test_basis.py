"""Laws of every basis: fitting, names, unions, scikit-learn transformers as bases."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
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
from separatrix.basis import RBF, AbstractBasis, Linear, Polynomial, Sigmoid, Union, fit_basis, survey
from separatrix.exceptions import DataError
from separatrix.rows import as_source

X = np.random.default_rng(0).normal(size=(90, 2))
SOURCE = replace(as_source(X, np.zeros(90, int)), height=20)


@dataclass(frozen=True)
class Squares:
    def evaluate(self, X):
        return X**2

    def names(self, columns):
        return tuple(f"{c}²" for c in columns)


class Square(AbstractBasis):
    def _functions(self, source):
        return Squares()


def test_a_custom_basis_needs_one_method_and_one_record():
    basis = Square().fit(X)
    np.testing.assert_array_equal(basis.transform(X), X**2)
    assert (Linear() + Square()).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x0²", "x1²"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_table_keeps_its_order_storage_and_precision(dtype):
    rows = sparse.random_array((90_000, 5), density=0.1, rng=np.random.default_rng(2), format="csr", dtype=dtype)
    Phi = Square().fit(rows).transform(rows)
    assert isinstance(Phi, sparse.csr_array)
    assert Phi.dtype == dtype
    assert abs(Phi - rows**2).max() == 0


FRAME = pd.DataFrame(X, columns=["age", "dose"])


@pytest.mark.parametrize(("library", "frame"), [("pandas", FRAME), ("polars", pl.DataFrame(FRAME))])
def test_data_frames_go_in_and_come_out(library, frame):
    basis = Polynomial().fit(frame)
    np.testing.assert_array_equal(basis.transform(frame), Polynomial().fit_transform(X))
    out = basis.set_output(transform=library).transform(frame)
    assert list(out.columns) == ["age", "dose", "age^2", "age dose", "dose^2"]


@pytest.mark.parametrize("when", ["fit", "transform"])
@pytest.mark.parametrize("basis", [Linear(), Polynomial(), RBF(), Sigmoid()], ids=lambda b: type(b).__name__)
def test_a_value_that_is_not_finite_names_its_column(basis, when):
    bad = FRAME.copy()
    bad.loc[[3, 7], "dose"] = [np.nan, np.inf]
    with pytest.raises(DataError, match=r"NaN or infinity in column 'dose' \(2 of 90 rows\)"):
        basis.fit(FRAME if when == "transform" else bad).transform(bad)


class Spy(TransformerMixin, BaseEstimator):
    """Records the arguments of fit."""

    seen = ()

    def fit(self, *arguments):
        type(self).seen = arguments
        return self

    def transform(self, rows):
        return rows


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


def test_a_transformer_selects_columns_by_position_not_by_name():
    t = X[:, 1] > 0
    by_name, by_position = (ColumnTransformer([("scaled", StandardScaler(), [which])]) for which in ("dose", 1))
    expected = make_pipeline(by_name, LeastSquaresClassifier()).fit(FRAME, t).decision_function(FRAME)
    model = LeastSquaresClassifier(basis=by_position).fit(FRAME, t)
    np.testing.assert_allclose(model.decision_function(FRAME), expected, rtol=1e-12)
    assert model.basis_.names(("age", "dose")) == ("scaled__dose",)
    with pytest.raises(ValueError, match="strings") as caught:
        LeastSquaresClassifier(basis=by_name).fit(FRAME, t)
    assert "without column names" in caught.value.__notes__[0]
    assert "sklearn.pipeline.Pipeline" in caught.value.__notes__[0]


def test_a_union_is_its_parts_side_by_side():
    parts = [Polynomial(), RBF("grid", 3), Sigmoid()]
    expected = np.hstack([clone(part).fit_transform(X) for part in parts])
    np.testing.assert_array_equal(Union(parts).fit_transform(X), expected)
    a, b, c = parts
    assert ((a + b) + c).bases == (a + (b + c)).bases == parts


def test_a_union_of_sparse_parts_is_sparse_and_one_dense_part_makes_it_dense():
    rows = sparse.csr_array(np.where(X > 1, X, 0.0))
    assert isinstance((Linear() + Polynomial()).fit_transform(rows), sparse.csr_array)
    assert isinstance((Linear() + Sigmoid()).fit_transform(rows), np.ndarray)


def test_a_part_is_replaced_by_its_number_and_the_users_list_is_unchanged():
    parts = [Linear(), RBF(width=1.0)]
    basis = clone(Union(parts)).set_params(**{"0": Polynomial(3)})
    assert basis.get_params()["0__degree"] == 3
    assert clone(basis).fit_transform(X).shape == (90, 9 + 90)
    model = clone(LeastSquaresClassifier(Union(parts))).set_params(basis__0=Polynomial(3))  # as in a grid search
    assert model.fit(X, X[:, 0] > 0).coef_.shape == (1, 9 + 90)
    Union(parts).set_params(**{"0": Sigmoid()})
    assert isinstance(parts[0], Linear)


def test_a_sample_is_uniform_over_the_rows_and_without_replacement():
    numbers = np.arange(20.0)[:, None]
    rng = np.random.default_rng(1)
    draws = [survey(replace(as_source(numbers), height=3), 5, rng).sample.ravel() for _ in range(200)]
    assert all(len(np.unique(draw)) == 5 for draw in draws)
    counts = np.bincount(np.concatenate(draws).astype(int), minlength=20)
    assert stats.chisquare(counts).pvalue > 1e-3
