# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from separatrix.basis import RBF, AbstractBasis, Linear, Polynomial, Sigmoid, Union
from separatrix.exceptions import DataError
from separatrix.rows import as_source, memory

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


@pytest.fixture
def _small_blocks(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**15)
    monkeypatch.setattr("separatrix._threads.LIMIT", "2")  # each thread may hold two blocks that wait their turn


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("basis", [RBF("grid", 8), StandardScaler()], ids=lambda basis: type(basis).__name__)
def test_the_functions_of_a_table_are_held_once(basis):
    rows = np.random.default_rng(1).normal(size=(50_000, 2))
    fitted = Union([basis]).fit(rows)
    tracemalloc.start()
    Phi = fitted.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.25 * Phi.nbytes + 2**20
    np.testing.assert_allclose(Phi[::999], fitted.transform(rows[::999]), rtol=1e-12)


@pytest.mark.usefixtures("_small_blocks")
def test_the_functions_of_a_sparse_table_are_stacked_in_order():
    rows = sparse.random_array((9_000, 5), density=0.1, rng=np.random.default_rng(2), format="csr")
    Phi = Square().fit(rows).transform(rows)
    assert isinstance(Phi, sparse.csr_array)
    np.testing.assert_array_equal(Phi.toarray(), rows.toarray() ** 2)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_do_not_change_the_precision_of_the_table(dtype):
    Phi = Square().fit(X).transform(np.ones((9_000, 2), dtype))
    assert Phi.dtype == dtype


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
