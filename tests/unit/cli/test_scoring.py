from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from problems import MODELS
from separatrix.cli.errors import CommandError
from separatrix.cli.scoring import Scorer, Tally
from separatrix.exceptions import DataError
from separatrix.metrics import log_likelihoods
from separatrix.study import TableClassifier


def test_scores_are_the_predictions_of_the_model(loans, fitted):
    scores = Scorer(fitted, level=0.9, target=None).score(loans)
    X = loans.drop(["outcome"])
    P, bounds = fitted.predict_proba(X), fitted.predict_interval(X, 0.9)
    assert scores.column_names == [
        *("predicted", "p_defaulted", "lower_defaulted", "upper_defaulted"),
        *("p_repaid", "lower_repaid", "upper_repaid"),
    ]
    np.testing.assert_array_equal(scores["predicted"].to_pylist(), fitted.predict(X))
    np.testing.assert_array_equal(np.column_stack([scores["p_defaulted"], scores["p_repaid"]]), P)
    np.testing.assert_array_equal(np.column_stack([scores["lower_repaid"], scores["upper_repaid"]]), bounds)


def test_of_two_classes_the_intervals_mirror_each_other(loans, fitted):
    scores = Scorer(fitted, level=0.9, target=None).score(loans).to_pandas()
    np.testing.assert_allclose(scores["lower_defaulted"], 1 - scores["upper_repaid"], rtol=0, atol=1e-15)
    assert (scores["lower_defaulted"] <= scores["upper_defaulted"]).all()


def test_batches_add_up_to_the_whole(loans, fitted):
    whole, parts = (Scorer(fitted, level=None, target="outcome") for _ in range(2))
    whole.score(loans)
    for batch in loans.to_batches(max_chunksize=77):
        parts.score(batch)
    assert (parts.marks.rows, parts.marks.right, parts.marks.gaps) == (300, whole.marks.right, whole.marks.gaps)
    assert parts.marks.log_loss == pytest.approx(whole.marks.log_loss, rel=1e-12)


def test_marks_against_metrics(loans, fitted):
    scorer = Scorer(fitted, level=None, target="outcome")
    scorer.score(loans)
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    assert scorer.marks.log_loss == pytest.approx(-log_likelihoods(P, codes).sum(), rel=1e-12)
    assert scorer.marks.right == (P.argmax(axis=1) == codes).sum()
    assert scorer.marks.gaps == {"income": loans["income"].null_count}


def test_unseen_values_and_foreign_labels_are_counted(loans, fitted):
    few = loans.slice(0, 5).to_pydict()
    few["purpose"][:2] = ["yacht", "yacht"]
    few["outcome"] = ["repaid", "defaulted", "unclear", None, "repaid"]
    scorer = Scorer(fitted, level=None, target="outcome")
    scorer.score(pa.table(few))
    assert scorer.marks.unseen == {"purpose": Tally(2, Counter(yacht=2))}
    assert scorer.marks.unknown_labels == Tally(1, Counter(unclear=1))
    assert scorer.marks.labelled == 3


def test_a_column_that_holds_no_labels_is_told_and_not_compared_with(loans, fitted):
    scorer = Scorer(fitted, level=None, target="amount")
    scorer.score(loans)
    assert (scorer.marks.labelled, scorer.marks.unknown_labels.rows) == (0, 300)
    scorer = Scorer(fitted, level=None, target="applied")
    scorer.score(loans)
    assert scorer.marks.labelled == 0
    assert "dates" in scorer.marks.doubt


def test_a_model_of_named_numbers_and_one_without_names(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    table = pa.table({"b": X[:, 1], "a": X[:, 0]})
    named = sx.LinearDiscriminantAnalysis().fit(table.select(["a", "b"]), y)
    scorer = Scorer(named, level=0.95, target=None)
    assert scorer.inputs == ("a", "b")
    assert scorer.level is None
    np.testing.assert_allclose(scorer.score(table)["p_1"], named.predict_proba(table.select(["a", "b"]))[:, 1])
    with pytest.raises(CommandError, match="does not know the names"):
        Scorer(sx.LinearDiscriminantAnalysis().fit(X, y), level=None, target=None).inputs  # noqa: B018


def test_a_rule_without_probabilities_gives_classes_alone(loans, rng):
    table = pa.table({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    rule = sx.LeastSquaresClassifier().fit(table, np.arange(40) % 2)
    scorer = Scorer(rule, level=0.95, target=None)
    assert scorer.score(table).column_names == ["predicted"] == list(scorer.outputs)


def test_three_classes(rng):
    X, y = sx.datasets.make_overlapping(120, n_classes=3, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = sx.BayesianLogisticRegression(approximation="laplace", rng=0).fit(table, y)
    scores = Scorer(model, level=0.95, target=None).score(table)
    assert len(scores.column_names) == 1 + 3 * 3
    np.testing.assert_array_equal(scores["upper_2"], model.predict_interval(table)[:, 2, 1])


RULES = MODELS | {
    "costs": lambda: sx.DecisionRule(sx.LinearDiscriminantAnalysis(), costs=[[0, 1], [9, 0]]),
    "reject": lambda: sx.DecisionRule(sx.LogisticRegression(), reject=0.8),
}


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("name", RULES)
def test_classes_are_as_the_model_decides(name):
    """Costs of errors, and rows that a rule rejects, are part of a decision."""
    X, y = sx.datasets.make_overlapping(80, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = RULES[name]().fit(table, np.array(["no", "yes"])[y])
    scorer = Scorer(model, level=None, target=None)
    decided = model.predict(table)
    assert scorer.score(table)["predicted"].to_pylist() == decided.tolist()
    assert scorer.marks.predicted == Counter(map(str, decided.tolist()))


def test_the_memory_of_a_tally_is_that_of_a_few_values():
    tally = Tally()
    for start in range(0, 1000, 100):
        tally.add({f"id {i}": 2 for i in range(start, start + 100)})
    tally.add({"id 3": 1})
    assert tally.rows == 2001
    assert dict(tally.values) == {"id 0": 2, "id 1": 2, "id 2": 2, "id 3": 3, "id 4": 2}
    assert str(tally).endswith(", ...")


def test_gaps_where_training_had_none_are_told_apart(loans, fitted):
    few = loans.slice(0, 4).to_pydict()
    few["age"][0] = None
    few["purpose"][1:3] = [None, None]
    scorer = Scorer(fitted, level=None, target=None)
    scorer.score(pa.table(few))
    assert scorer.marks.first_gaps == {"age": 1, "purpose": 2}
    assert scorer.marks.unseen == {}


@pytest.mark.parametrize("curved", [False, True])
def test_numbers_far_from_all_of_training_are_counted_and_none_of_training_is(loans, curved):
    X = loans.select(["age", "income", "applied"])
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    model = TableClassifier(estimator, curved=curved).fit(X, loans["outcome"].to_pylist())
    scorer = Scorer(model, level=None, target=None)
    scorer.score(loans)
    assert scorer.marks.outside == {}
    few = X.slice(0, 3).to_pydict()
    few["age"][:2] = [9999.0, -5000.0]
    scorer.score(pa.table(few))
    assert scorer.marks.outside == {"age": Tally(2, Counter({"-5000": 1, "9999": 1}))}


def test_a_row_is_numbered_in_the_whole_file(loans, fitted):
    scorer = Scorer(fitted, level=None, target=None)
    scorer.score(loans)
    bad = loans.slice(0, 3).to_pydict()
    bad["age"] = ["41", "n.k.", "50"]
    with pytest.raises(DataError, match=r"'n\.k\.'.* row 302\b"):
        scorer.score(pa.table(bad))


def test_no_rows_have_the_columns_of_rows(loans, fitted):
    scorer = Scorer(fitted, level=0.9, target=None)
    assert scorer.nothing().schema == scorer.score(loans).schema
