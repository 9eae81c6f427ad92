import numpy as np
import pytest

import separatrix as sx
from separatrix.datasets.loans import LOAN_WEIGHTS, make_loans


def test_a_logistic_model_of_many_rows_finds_the_weights_it_was_made_with():
    X, y = make_loans(20_000, missing=0.0, rng=3)
    Z = np.column_stack(
        [
            np.log(X["income"] / 45) / 0.5,
            np.log(X["amount"] / 12) / 0.6,
            X["debts"],
            X["owns_home"] == "yes",
            X["purpose"] == "business",
            X["purpose"] == "travel",
            X["purpose"] == "education",
            (X["age"] - 42) / 12,
        ]
    ).astype(float)
    model = sx.LogisticRegression(alpha=0).fit(Z, y == "defaulted")
    names = (
        "income",
        "amount",
        "debts",
        "owns_home=yes",
        "purpose=business",
        "purpose=travel",
        "purpose=education",
        "age",
    )
    expected = np.array([LOAN_WEIGHTS[name] for name in names])
    assert np.abs(model.coef_[0] - expected).max() < 0.15  # four standard errors of the least certain, a travel


def test_the_same_seed_gives_the_same_rows_and_gaps_are_where_they_should_be():
    (X, y), (again, y_again) = make_loans(500, rng=1), make_loans(500, rng=1)
    assert all((X[name] == again[name]).all() for name in X if name != "income")
    assert (y == y_again).all()
    assert 0.01 < np.isnan(X["income"]).mean() < 0.08
    assert len(set(X["application"])) == 500


def test_as_a_data_frame():
    X, y = make_loans(10, as_frame=True)
    assert (X.shape, y.name) == ((10, 9), "outcome")


@pytest.mark.parametrize(("name", "value"), [("missing", 1.5), ("n", 0)])
def test_wrong_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        make_loans(**{name: value})
