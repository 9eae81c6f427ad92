# SPDX-License-Identifier: BSD-3-Clause
"""Importance of columns: the increase of the log-loss by permutation, and the spread of the log-odds."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.datasets import make_loans
from separatrix.effects import importance
from separatrix.exceptions import DataError


def rows(n, seed):
    """Two columns that matter, the second half as much, and noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["strong", "weak", "noise"])
    return X, (2 * X["strong"] + X["weak"] + rng.logistic(size=n) > 0).to_numpy().astype(int)


@pytest.fixture(scope="module")
def model():
    return sx.LogisticRegression().fit(*rows(300, 0))


def test_the_increase_of_the_log_loss_is_that_of_shuffled_columns(model):
    X, y = rows(400, 1)
    found = importance(model, X, y, n_repeats=50)
    assert found.names == ("strong", "weak", "noise")
    rng = np.random.default_rng(5)

    def loss(X):
        return -model.predict_log_proba(X)[np.arange(len(y)), y].mean()

    for name, estimate, error in zip(found.names, found["estimate"], found["standard_error"], strict=True):
        shuffled = [loss(X.assign(**{name: rng.permutation(X[name])})) for _ in range(50)]
        noise = np.std(shuffled) * np.sqrt(2 / 50)
        assert estimate == pytest.approx(np.mean(shuffled) - loss(X), abs=4 * noise)
        assert error > 0
    assert found["lower"][0] > 0
    assert found["lower"][2] < 0 < found["upper"][2]


@pytest.mark.slow
def test_intervals_contain_the_importance_of_a_large_table(model):
    X, y = rows(50_000, 2)
    large = importance(model, X, y, n_repeats=5)
    truth = dict(zip(large.names, large["estimate"], strict=True))
    covered = []
    for seed in range(200):
        found = importance(model, *rows(200, 100 + seed))
        covered += [
            low < truth[name] < high
            for name, low, high in zip(found.names, found["lower"], found["upper"], strict=True)
        ]
    assert 0.92 < np.mean(covered) < 0.985


def test_the_spread_of_a_column_is_the_deviation_of_its_part_of_the_log_odds(model):
    X, _ = rows(400, 1)
    found = importance(model, X)
    assert found.names == ("strong", "weak", "noise")
    part = np.abs(model.coef_[0]) * X.to_numpy().std(axis=0)
    assert_allclose(found["estimate"][:2], part[:2], rtol=0.02)
    assert_allclose(
        found["standard_error"][:2], model.weight_distribution_.std[:2] * X.to_numpy().std(axis=0)[:2], rtol=0.1
    )
    assert (found["lower"] >= 0).all()


@pytest.mark.filterwarnings("ignore:The effects of:UserWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_spread_of_curves_and_levels_is_that_of_their_sum(n_classes):
    table, y = make_loans(300, as_frame=True, rng=0)
    y = np.where(table["age"] > 50, "old", y) if n_classes == 3 else np.asarray(y)
    model = sx.TableClassifier(sx.LogisticRegression(alpha=20.0), curved=True).fit(table, y)
    model.estimator_.weight_distribution_.approximation.covariance[:] = 0.0  # the weights are known
    found = importance(model, table, variables=["age", "purpose"])
    for name, value in zip(found.names, found["estimate"], strict=True):
        constant = table.assign(**{name: table[name].mode()[0]})
        parts = model.decision_function(table) - model.decision_function(constant)
        parts = parts.reshape(len(table), -1)
        parts = parts - parts.mean(axis=1, keepdims=True) if n_classes == 3 else parts
        assert value == pytest.approx(np.sqrt(parts.var(axis=0).mean()), rel=1e-10)


def test_any_classifier_of_a_table_has_a_loss(tmp_path):
    table, y = make_loans(400, as_frame=True, rng=0)
    new, truth = make_loans(300, as_frame=True, rng=1)
    for estimator in (sx.NaiveBayes(), sx.LinearDiscriminantAnalysis(shrinkage=0.1)):
        found = importance(sx.TableClassifier(estimator).fit(table, y), new, truth, variables=["income", "purpose"])
        assert set(found.names) == {"income", "purpose"}
    model = sx.TableClassifier(sx.LogisticRegression()).fit(table, y)
    labelled, path = new.assign(outcome=np.asarray(truth)), tmp_path / "new.csv"
    labelled.to_csv(path, index=False)
    expected = importance(model, new, truth, n_repeats=30)
    assert_allclose(importance(model, labelled, "outcome", n_repeats=30)["estimate"], expected["estimate"], rtol=1e-12)
    for data, target in ((path, "outcome"), (sx.scan(path, target="outcome"), None)):
        found = importance(model, data, target, n_repeats=30)  # other permutations
        order = [found.names.index(name) for name in expected.names]
        assert_allclose(found["estimate"][order], expected["estimate"], atol=0.01)


def test_sparse_rows_are_permuted_too(model):
    from scipy import sparse

    X, y = rows(300, 3)
    plain = sx.LogisticRegression().fit(X.to_numpy(), y)
    dense, thin = (importance(plain, data, y, rng=1) for data in (X.to_numpy(), sparse.csr_array(X.to_numpy())))
    assert_allclose(thin["estimate"], dense["estimate"], rtol=1e-10)


def test_large_tables_are_sampled_with_a_note(model, monkeypatch, tmp_path):
    monkeypatch.setattr("separatrix.effects.ranking.MAX_ROWS", 200)
    X, y = rows(1000, 4)
    assert "200 rows, chosen at random from 1,000" in str(importance(model, X, y))
    X.assign(y=y).to_parquet(tmp_path / "all.parquet")
    assert "from 1,000" in str(importance(model, tmp_path / "all.parquet", "y"))


@pytest.mark.parametrize(
    ("data", "target", "message"),
    [
        (rows(10, 0)[0], np.arange(9), "shape .9,."),
        (rows(10, 0)[0], np.full(10, 7), "label 7, which is not a class"),
        (rows(10, 0)[0], "y", "no column 'y'"),
        (rows(1, 0)[0], rows(1, 0)[1], "1 row cannot be permuted"),
    ],
)
def test_a_mistake_is_named(model, data, target, message):
    with pytest.raises(DataError, match=message):
        importance(model, data, target)


def test_models_without_parts_or_loss_are_refused(model):
    X, y = rows(100, 0)
    with pytest.raises(DataError, match="predicts no probabilities"):
        importance(sx.GeneralizedLinearModel("bernoulli").fit(X, y), X, y)
    curved = sx.LogisticRegression(basis=sx.basis.RBF(n_centres=5, centres="random")).fit(X, y)
    with pytest.raises(DataError, match="no part for each column. Pass target="):
        importance(curved, X)
    assert len(importance(curved, X, y).names) == 3
