"""Ramps: broken lines along some columns, through knots that rows have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from separatrix import BayesianLogisticRegression
from separatrix.exceptions import ApproximationWarning, DataError
from separatrix.tables import Ramps
from separatrix.tables.ramps import marks

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=500), RNG.integers(0, 2, 500), RNG.exponential(size=500)])


def test_a_sum_of_ramps_is_linear_interpolation_between_the_knots():
    basis = Ramps([2], n_knots=6).fit(X)
    functions = basis.functions_
    knots = np.append(functions.low, functions.high[-1])
    heights = RNG.normal(size=len(knots))
    x = np.linspace(-1, X[:, 2].max() + 2, 200)
    rows = np.column_stack([np.zeros(200), np.zeros(200), x])
    broken = basis.transform(rows)[:, 2:] @ np.diff(heights) + heights[0]
    assert_allclose(broken, np.interp(x, knots, heights), atol=1e-12)


def test_other_columns_and_those_of_two_values_stay_as_they_are():
    basis = Ramps([1, 2], n_knots=5).fit(X)
    assert_array_equal(basis.functions_.straight, [0, 1])
    assert_array_equal(basis.transform(X)[:, :2], X[:, :2])
    assert basis.get_feature_names_out()[:2].tolist() == ["x0", "x1"]
    assert len(set(basis.get_feature_names_out())) == basis.transform(X).shape[1]


def test_knots_are_the_ends_what_many_rows_share_and_quantiles_of_the_rest():
    x = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    found = marks(x, 6)
    assert found[0] == 0
    assert found[-1] == 100
    assert len(found) == 6
    assert_allclose(np.diff(found[1:]), 99 / 4, atol=1)
    assert_array_equal(marks(np.array([3.0, 1.0, 2.0, 1.0]), 6), [1, 2, 3])


def test_whatever_the_sample_the_ends_are_those_of_all_rows():
    x = np.append(RNG.normal(size=50_000), [1e6, -1e6])
    functions = Ramps([0], n_knots=5).fit(x[:, None]).functions_
    assert functions.low[0] == -1e6
    assert functions.high[-1] == 1e6


@pytest.mark.parametrize("convert", [sparse.csr_array, lambda rows: rows.astype(np.float32)])
def test_sparse_and_single_precision_rows_give_the_same_functions(convert):
    basis = Ramps([0, 2]).fit(X)
    Phi = basis.transform(convert(X))
    dense = Phi.toarray() if sparse.issparse(Phi) else Phi
    assert_allclose(dense, basis.transform(X), atol=1e-5)


def test_values_that_are_not_finite_are_refused_and_do_not_count_as_an_end():
    with pytest.raises(ValueError, match="x0"):
        Ramps([0]).fit(X).transform(np.where(X[0, 0] == X, np.inf, X))
    functions = Ramps([0]).fit(X).functions_
    assert np.isnan(functions.evaluate(np.array([[np.inf, 0.0, 0.0]]))[0, 2:]).all()


def test_a_curve_is_found_where_there_is_one():
    x = RNG.uniform(-3, 3, size=(2000, 1))
    p = 1 / (1 + np.exp(-2 * np.cos(2 * x[:, 0])))
    y = RNG.random(2000) < p
    model = BayesianLogisticRegression(tune="evidence", basis=Ramps([0])).fit(x, y)
    with pytest.warns(ApproximationWarning, match="irrelevant"):  # no line goes through a cosine
        straight = BayesianLogisticRegression(tune="evidence").fit(x, y)
    assert np.abs(model.predict_proba(x)[:, 1] - p).mean() < 0.05
    assert model.log_evidence_ > straight.log_evidence_ + 50


def test_frozen_ramps_are_the_same_functions_for_any_rows():
    fitted = Ramps([0, 1, 2], n_knots=6).fit(X)
    again = fitted.frozen().fit(X[:3] * 100)
    assert_array_equal(again.transform(X), fitted.transform(X))
    assert again.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert set(fitted.functions_.knots) == {0, 2}  # the second column has two values


def test_knots_may_be_given():
    basis = Ramps([0], knots=[[0.0, 1.0, 4.0]]).fit(X)
    assert_allclose(basis.transform([[2.5, 7.0, 8.0]]), [[7.0, 8.0, 1.0, 0.5]])


@pytest.mark.parametrize("knots", [[[0.0, 1.0], [0.0, 1.0]], [[1.0]], [[0.0, 0.0]], [[1.0, 0.0]], [[0.0, np.nan]]])
def test_knots_that_do_not_rise_or_belong_to_no_column_are_an_error(knots):
    with pytest.raises(ValueError, match="knots"):
        Ramps([0], knots=knots).fit(X)


def test_names_tell_knots_apart():
    knots = np.array([1.0, 1.0001, 1.0002])
    names = Ramps([0]).fit(np.repeat(knots, 3)[:, None]).get_feature_names_out(["age"])
    assert names.tolist() == ["age from 1 to 1.0001", "age from 1.0001 to 1.0002"]


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(DataError, match="names column 7, but there are 3"):
        Ramps([7]).fit(X)
    with pytest.raises(ValueError, match="n_knots"):
        Ramps([0], n_knots=2).fit(X)


def test_it_is_a_scikit_learn_transformer():
    check_estimator(Ramps((0,)), on_skip=None)
