# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from separatrix.basis import RBF, AbstractBasis, Linear, Polynomial, Sigmoid
from separatrix.data import as_source
from separatrix.exceptions import DataError

X = np.random.default_rng(0).normal(size=(30, 2))


@dataclass(frozen=True)
class Squares:
    def evaluate(self, X):
        return X**2

    def names(self, columns):
        return tuple(f"{c}²" for c in columns)


class Square(AbstractBasis):
    def _functions(self, source):
        return Squares()


def test_a_new_basis_is_one_method_and_one_record():
    basis = Square().fit(X)
    np.testing.assert_array_equal(basis.transform(X), X**2)
    assert (Linear() + Square()).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x0²", "x1²"]


def test_fit_and_fit_source_are_the_same_fit():
    table, source = RBF().fit(X), RBF().fit_source(as_source(X))
    np.testing.assert_array_equal(table.transform(X), source.transform(X))


def test_before_fit_there_is_nothing_to_evaluate():
    with pytest.raises(NotFittedError):
        RBF().transform(X)
    with pytest.raises(NotFittedError):
        RBF().get_feature_names_out()


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_of_another_width_are_refused(columns):
    with pytest.raises(ValueError, match=f"X has {columns} features, but RBF is expecting 2 features"):
        RBF().fit(X).transform(np.zeros((2, columns)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_go_in_and_come_out(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"age": X[:, 0], "dose": X[:, 1]})
    basis = Polynomial().fit(frame)
    np.testing.assert_array_equal(basis.transform(frame), Polynomial().fit_transform(X))
    out = basis.set_output(transform=library).transform(frame)
    assert list(out.columns) == ["age", "dose", "age^2", "age dose", "dose^2"]


def test_columns_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    basis = Polynomial().fit(pd.DataFrame({"age": X[:, 0], "dose": X[:, 1]}))
    with pytest.raises(ValueError, match="feature names should match"):
        basis.transform(pd.DataFrame({"dose": X[:, 1], "age": X[:, 0]}))


def test_names_asked_for_must_be_those_of_the_fit():
    pd = pytest.importorskip("pandas")
    basis = Linear().fit(pd.DataFrame({"age": X[:, 0], "dose": X[:, 1]}))
    assert basis.get_feature_names_out(["age", "dose"]).tolist() == ["age", "dose"]
    with pytest.raises(ValueError, match=r"input_features is not equal to feature_names_in_: got \('age', 'x'\)"):
        basis.get_feature_names_out(["age", "x"])
    with pytest.raises(ValueError, match=r"length equal to number of features \(2\), got 1"):
        Linear().fit(X).get_feature_names_out(["age"])


@pytest.mark.parametrize("when", ["fit", "transform"])
@pytest.mark.parametrize("basis", [Linear(), Polynomial(), RBF(), Sigmoid()], ids=lambda b: type(b).__name__)
def test_a_value_that_is_not_finite_is_traced_to_its_column(basis, when):
    pd = pytest.importorskip("pandas")
    good = pd.DataFrame({"age": X[:, 0], "dose": X[:, 1]})
    bad = good.copy()
    bad.loc[[3, 7], "dose"] = [np.nan, np.inf]
    with pytest.raises(DataError, match=r"NaN or infinity in column 'dose' \(2 of 30 rows\)"):
        basis.fit(good if when == "transform" else bad).transform(bad)
