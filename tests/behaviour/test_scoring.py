"""Predictions of a table in batches, and the counts of unusual rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from problems import MODELS
from separatrix.datasets import make_loans
from separatrix.exceptions import DataError
from separatrix.metrics import log_likelihoods
from separatrix.study import BatchScorer, ValueCounts
from separatrix.table_model import TableClassifier

RULES = MODELS | {
    "costs": lambda: sx.DecisionRule(sx.LinearDiscriminantAnalysis(), costs=[[0, 1], [9, 0]]),
    "reject": lambda: sx.DecisionRule(sx.LogisticRegression(), reject=0.8),
}


@pytest.fixture(scope="module")
def loans():
    X, y = make_loans(300, missing=0.04, rng=1)
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in X.items()} | {"outcome": y})


@pytest.fixture(scope="module")
def fitted(loans):
    y = loans.column("outcome").to_pylist()
    return TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")).fit(
        loans.drop(["outcome"]), y
    )


def test_scores_are_the_predictions_of_the_model(loans, fitted):
    scorer = BatchScorer(fitted, level=0.9)
    scores, X = scorer.score(loans), loans.drop(["outcome"])
    P, bounds = fitted.predict_proba(X), fitted.predict_interval(X, 0.9)
    assert scores.column_names == list(scorer.outputs)
    np.testing.assert_array_equal(scores["predicted"].to_pylist(), fitted.predict(X))
    np.testing.assert_array_equal(np.column_stack([scores["p_defaulted"], scores["p_repaid"]]), P)
    np.testing.assert_array_equal(np.column_stack([scores["lower_repaid"], scores["upper_repaid"]]), bounds)
    np.testing.assert_allclose(scores["lower_defaulted"], 1 - scores["upper_repaid"].to_numpy(), atol=1e-15)
    assert scorer.empty().schema == scores.schema


def test_intervals_of_three_classes_are_those_of_the_model():
    X, y = sx.datasets.make_overlapping(120, n_classes=3, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace", rng=0).fit(table, y)
    scores = BatchScorer(model, level=0.95).score(table)
    assert len(scores.column_names) == 1 + 3 * 3
    np.testing.assert_array_equal(scores["upper_2"], model.predict_interval(table)[:, 2, 1])


def test_batches_add_up_to_the_whole_and_agree_with_the_metrics(loans, fitted):
    whole, parts = (BatchScorer(fitted, target="outcome") for _ in range(2))
    whole.score(loans)
    for batch in loans.to_batches(max_chunksize=77):
        parts.score(batch)
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    for counts in (whole.counts, parts.counts):
        assert (counts.rows, counts.labelled) == (300, 300)
        assert counts.correct == (P.argmax(axis=1) == codes).sum()
        assert counts.log_loss == pytest.approx(-log_likelihoods(P, codes).sum(), rel=1e-12)
        assert counts.missing == {"income": loans["income"].null_count}


def test_new_values_unknown_labels_and_first_missing_values_are_counted(loans, fitted):
    few = loans.slice(0, 5).to_pydict()
    few["purpose"][:3] = ["yacht", "yacht", None]
    few["age"][0] = None
    few["outcome"] = ["repaid", "defaulted", "unclear", None, "repaid"]
    scorer = BatchScorer(fitted, target="outcome")
    scorer.score(pa.table(few))
    assert scorer.counts.new_values == {"purpose": ValueCounts(2, Counter(yacht=2))}
    assert scorer.counts.first_missing == {"age": 1, "purpose": 1}
    assert scorer.counts.unknown_labels == ValueCounts(1, Counter(unclear=1))
    assert scorer.counts.labelled == 3


@pytest.mark.parametrize("column", ["amount", "applied"])
def test_a_column_that_is_not_the_target_is_not_compared_with(loans, fitted, column):
    scorer = BatchScorer(fitted, target=column)
    scorer.score(loans)
    assert scorer.counts.labelled == 0
    assert scorer.counts.unknown_labels.rows == 300 or "dates" in scorer.counts.label_problem


@pytest.mark.parametrize("curved", [False, True])
def test_numbers_far_outside_the_training_range_are_counted(loans, curved):
    X = loans.select(["age", "income", "applied"])
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    scorer = BatchScorer(TableClassifier(estimator, curved=curved).fit(X, loans["outcome"].to_pylist()))
    scorer.score(loans)
    assert scorer.counts.far == {}
    few = X.slice(0, 3).to_pydict()
    few["age"][:2] = [9999.0, -5000.0]
    scorer.score(pa.table(few))
    assert scorer.counts.far == {"age": ValueCounts(2, Counter({"-5000": 1, "9999": 1}))}


def test_a_value_outside_the_support_is_named_with_its_row_in_the_whole_table():
    rng = np.random.default_rng(0)
    X, y = rng.gamma(2.0, size=(60, 1)), np.arange(60) % 2
    scorer = BatchScorer(TableClassifier(sx.NaiveBayes("gamma")).fit(pa.table({"amount": X[:, 0]}), y))
    scorer.score(pa.table({"amount": X[:, 0]}))
    X[7] = -5
    with pytest.raises(DataError, match=r"'amount' contains -5 in row 68 \(counted from 1\), but .* missing"):
        scorer.score(pa.table({"amount": X[:, 0]}))


def test_odd_values_are_missing_and_named_with_their_row_in_the_whole_table(loans, fitted):
    scorer = BatchScorer(fitted)
    scorer.score(loans)
    bad = loans.slice(0, 3).to_pydict()
    bad["age"] = ["41", "n.k.", "50"]
    odd = scorer.score(pa.table(bad))
    assert "'n.k.' in row 302" in str(scorer.counts.odd["age"])
    scorer.score(pa.table(bad))
    assert "2 values" in str(scorer.counts.odd["age"])
    assert "'n.k.' in row 302" in str(scorer.counts.odd["age"])
    assert "age" not in scorer.counts.new_values
    blank = BatchScorer(fitted).score(pa.table(bad | {"age": [41.0, None, 50.0]}))
    assert odd.equals(blank)


def test_a_model_of_numbers_needs_column_names(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    table = pa.table({"b": X[:, 1], "a": X[:, 0]})
    named = sx.LinearDiscriminantAnalysis().fit(table.select(["a", "b"]), y)
    scorer = BatchScorer(named, level=0.95)
    assert (scorer.inputs, scorer.level) == (("a", "b"), None)
    np.testing.assert_allclose(scorer.score(table)["p_1"], named.predict_proba(table.select(["a", "b"]))[:, 1])
    with pytest.raises(DataError, match="without column names"):
        BatchScorer(sx.LinearDiscriminantAnalysis().fit(X, y)).inputs  # noqa: B018


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("name", RULES)
def test_classes_follow_the_models_own_rule(name):
    X, y = sx.datasets.make_overlapping(80, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = RULES[name]().fit(table, np.array(["no", "yes"])[y])
    scorer = BatchScorer(model)
    predicted = model.predict(table).tolist()
    scores = scorer.score(table)
    assert scores["predicted"].to_pylist() == predicted
    assert scores.column_names == list(scorer.outputs)
    assert scorer.counts.predicted == Counter(map(str, predicted))


def test_only_the_first_values_are_kept():
    counts = ValueCounts()
    for start in range(0, 1000, 100):
        counts.add({f"id {i}": 2 for i in range(start, start + 100)})
    counts.add({"id 3": 1})
    assert counts.rows == 2001
    assert dict(counts.values) == {"id 0": 2, "id 1": 2, "id 2": 2, "id 3": 3, "id 4": 2}
    assert str(counts).endswith(", ...")
