"""Which models are offered, by the size of the problem."""

import pytest
from sklearn.base import clone

from separatrix.study import MODELS, candidates
from separatrix.study.candidates import selected


def test_a_table_of_moderate_size_gets_all_models_simple_ones_first():
    assert tuple(candidates(1000, 10, 2, n_numbers=5)) == MODELS


@pytest.mark.parametrize(
    ("size", "left_out"),
    [
        ((50, 5, 2, 5), {"logistic, curved (Bayesian)"}),  # few rows
        ((100, 300, 2, 5), {"quadratic discriminant", "logistic, curved (Bayesian)"}),  # fewer rows than columns
        ((5000, 500, 2, 500), {"quadratic discriminant", "logistic, curved (Bayesian)"}),  # very many curves
        ((5000, 9, 2, 0), {"logistic, curved (Bayesian)"}),  # nothing to bend
        ((50_000, 60, 40, 20), {"quadratic discriminant", "logistic, curved (Bayesian)"}),  # very many weights
        ((9000, 3000, 2, 0), {"linear discriminant", "quadratic discriminant", "logistic, curved (Bayesian)"}),
    ],
)
def test_what_a_table_cannot_carry_is_left_out(size, left_out):
    n_rows, n_columns, n_classes, n_numbers = size
    assert set(MODELS) - set(candidates(n_rows, n_columns, n_classes, n_numbers=n_numbers)) == left_out


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "approximation"),
    [(300, 10, 2, "auto"), (30_000, 100, 2, "laplace"), (550, 70, 19, "auto"), (4000, 200, 2, "auto")],
)
def test_laplaces_gaussian_is_trusted_where_rows_are_many_for_each_weight(n_rows, n_columns, n_classes, approximation):
    found = candidates(n_rows, n_columns, n_classes)["logistic (Bayesian)"].estimator
    assert found.approximation == approximation


def test_types_are_handed_on_and_models_can_be_cloned():
    for model in candidates(1000, 10, 2, n_numbers=1, types={"zip": "categorical"}).values():
        assert clone(model).types == {"zip": "categorical"}


def test_models_by_name():
    offered = candidates(40, 5, 2)
    assert list(selected(offered, ["naive Bayes", "prior only", "naive Bayes"])) == ["naive Bayes", "prior only"]
    with pytest.raises(ValueError, match="no model 'naive bays'. Did you mean 'naive Bayes'"):
        selected(offered, ["naive bays"])
    with pytest.raises(ValueError, match="'logistic, curved .Bayesian.' does not suit a table of this size"):
        selected(offered, ["logistic, curved (Bayesian)"])
    with pytest.raises(ValueError, match="models is empty"):
        selected(offered, [])
