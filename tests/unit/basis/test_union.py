# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import StandardScaler

from separatrix import LeastSquaresClassifier
from separatrix.basis import RBF, Linear, Polynomial, Sigmoid, Union

X = np.random.default_rng(0).normal(size=(40, 2))


def test_a_union_is_its_parts_side_by_side():
    parts = [Polynomial(), RBF("grid", 3), Sigmoid()]
    expected = np.hstack([clone(part).fit_transform(X) for part in parts])
    np.testing.assert_array_equal(Union(parts).fit_transform(X), expected)
    theirs = FeatureUnion([(str(m), part) for m, part in enumerate(parts)])
    np.testing.assert_array_equal(theirs.fit_transform(X), expected)


def test_plus_is_union_and_is_flat():
    a, b, c = Linear(), RBF(), Sigmoid()
    assert (a + b).bases == [a, b]
    assert ((a + b) + c).bases == (a + (b + c)).bases == [a, b, c]


@pytest.mark.parametrize("other", [1, None, StandardScaler()])
def test_only_bases_add(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        Linear() + other


def test_transformers_of_scikit_learn_may_be_parts():
    Phi = Union([StandardScaler(), Linear()]).fit_transform(X)
    np.testing.assert_allclose(Phi, np.hstack([StandardScaler().fit_transform(X), X]))


def test_names_stay_plain_where_they_differ_and_are_numbered_where_they_clash():
    plain = (Linear() + RBF([[0.0, 0.0]])).fit(X).get_feature_names_out()
    assert plain.tolist() == ["x0", "x1", "rbf0"]
    clash = (RBF([[0.0, 0.0]]) + RBF([[0.0, 0.0]], width=2.0)).fit(X).get_feature_names_out()
    assert clash.tolist() == ["0__rbf0", "1__rbf0"]


def test_a_union_of_sparse_parts_is_sparse_and_one_dense_part_makes_it_dense():
    rows = sparse.csr_array(np.where(X > 1, X, 0.0))
    assert isinstance((Linear() + Polynomial()).fit_transform(rows), sparse.csr_array)
    assert isinstance((Linear() + Sigmoid()).fit_transform(rows), np.ndarray)


def test_arguments_of_a_part_are_reached_by_its_number():
    basis = clone(Linear() + RBF(width=1.0))
    assert basis.get_params()["1__width"] == 1.0
    basis.set_params(**{"1__width": 3.0})
    assert basis.fit(X).functions_.maps[1].width_ == 3.0


def test_a_whole_part_is_replaced_by_its_number_and_the_users_list_stays_as_it_was():
    parts = [Linear(), RBF(width=1.0)]
    basis = clone(Union(parts)).set_params(**{"0": Polynomial(3)})
    assert basis.get_params()["0__degree"] == 3
    assert clone(basis).fit_transform(X).shape == (40, 9 + 40)
    Union(parts).set_params(**{"0": Sigmoid()})
    assert isinstance(parts[0], Linear)


def test_the_list_is_set_before_its_parts_and_a_part_before_its_arguments():
    basis = Linear() + Linear()
    basis.set_params(**{"1__width": 2.0, "1": RBF(), "bases": [Sigmoid(), Linear()]})
    assert isinstance(basis.bases[0], Sigmoid)
    assert basis.bases[1].width == 2.0


def test_a_grid_search_over_a_part_tries_each_of_them():
    t = (X**2).sum(axis=1) < 1.5  # a disc, for which a plane will not do
    model = LeastSquaresClassifier(Linear() + Sigmoid(n_centres=1), alpha=1e-3)
    search = GridSearchCV(model, {"basis__0": [Linear(), Polynomial(2)]}, cv=2).fit(X, t)
    assert isinstance(search.best_estimator_.basis.bases[0], Polynomial)
    assert search.cv_results_["mean_test_score"][0] < search.cv_results_["mean_test_score"][1]


@pytest.mark.parametrize("name", ["2", "-1", "00", "part"])
def test_a_part_that_is_not_there_cannot_be_set(name):
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}'"):
        (Linear() + RBF()).set_params(**{name: Sigmoid()})


@pytest.mark.parametrize("bases", [[], 4, "RBF", RBF()])
def test_a_union_needs_a_list_of_bases(bases):
    with pytest.raises(TypeError, match="give a list of at least one basis"):
        Union(bases).fit(X)


@pytest.mark.parametrize(("bases", "message"), [([None], "number 0 is None"), ([RBF], "RBF is a class")])
def test_a_part_that_is_no_basis_is_named(bases, message):
    with pytest.raises(TypeError, match=message):
        Union(bases).fit(X)
