import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

import separatrix as sx
from separatrix.comparison.evidence import model_probabilities, read_evidence


class Stating(LogisticRegression):
    """A classifier that states an evidence."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.log_evidence_, self.bic_, self.aic_ = -10.0, 22.0, 21.0
        return self


class OfUnknownOrigin(StandardScaler):
    """A transformer of the user's own."""


@pytest.fixture
def table(rng):
    return rng.normal(size=(30, 3)), np.arange(30) % 2


def test_a_model_is_taken_at_its_word(table):
    assert read_evidence(Stating().fit(*table)) == (-10.0, 22.0, 21.0, True)


def test_a_model_that_states_none_has_none(table):
    found = read_evidence(LogisticRegression().fit(*table))
    assert np.isnan(found[:3]).all()
    assert not found.of_labels


def test_a_pipeline_that_looks_at_inputs_alone_has_the_evidence_of_its_last_step(table):
    columns = ColumnTransformer([("a", make_pipeline(SimpleImputer(), StandardScaler()), [0]), ("b", "drop", [1, 2])])
    model = make_pipeline(columns, "passthrough", make_pipeline(PCA(), Stating()))
    assert read_evidence(model.fit(*table)).log_evidence == -10.0


@pytest.mark.parametrize(
    "step",
    [
        SelectKBest(k=2),
        TargetEncoder(target_type="binary", cv=2),
        ColumnTransformer([("a", SelectKBest(k=1), [0, 1])]),
        OfUnknownOrigin(),
    ],
)
def test_a_pipeline_that_may_look_at_labels_first_has_none(table, step):
    model = make_pipeline(step, Stating()).fit(*table)
    assert np.isnan(read_evidence(model).log_evidence)


def test_a_frozen_model_learnt_from_other_rows(table):
    model = FrozenEstimator(Stating().fit(*table))
    assert model.log_evidence_ == -10.0
    assert np.isnan(read_evidence(model).log_evidence)


def test_the_evidence_of_a_generative_model_is_not_one_of_labels(table):
    model = sx.LinearDiscriminantAnalysis().fit(*table)
    model.log_evidence_ = -99.0
    assert read_evidence(model).log_evidence == -99.0
    assert not read_evidence(model).of_labels


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_evidence_that_is_not_finite_is_not_compared(table, value):
    model = Stating().fit(*table)
    model.log_evidence_ = value
    assert not read_evidence(model).of_labels


def test_probabilities_are_bayes_theorem():
    evidence, prior = {"a": np.log(0.2), "b": np.log(0.3), "c": np.log(0.01)}, {"b": 1, "a": 6, "c": 0}
    joint = np.array([0.2 * 6, 0.3 * 1, 0.0])
    assert list(model_probabilities(evidence, prior).values()) == pytest.approx(list(joint / joint.sum()))


def test_evidences_far_below_what_floats_hold():
    p = model_probabilities({"a": -1e5, "b": -1e5 - np.log(3)})
    assert p["a"] == pytest.approx(0.75)


def test_without_evidence_there_is_no_probability():
    with pytest.raises(ValueError, match="No model states an evidence"):
        model_probabilities({})


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"a": 1}, "a weight for each model.*see 'b'"),
        ({"a": 1, "b": 1, "z": 1}, "see 'z'"),
        ({"a": 1, "b": -1}, "none negative"),
        ({"a": 0, "b": 0}, "not all zero"),
        ({"a": 1, "b": np.inf}, "finite"),
    ],
)
def test_a_prior_that_is_none(prior, message):
    with pytest.raises(ValueError, match=message):
        model_probabilities({"a": -1.0, "b": -2.0}, prior)
