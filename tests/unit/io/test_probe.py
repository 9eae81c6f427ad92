"""A model that was read is asked once: half a model shows, whichever half it is."""

import json

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from problems import DISCRIMINATIVE, GENERATIVE, SUM_MODELS, blobs
from separatrix.io import FileError
from separatrix.io.probe import require_answer

X, Y = blobs(60, n_features=3, n_classes=2)
RNG = np.random.default_rng(0)
ROWS = {
    "bernoulli": RNG.integers(2, size=(60, 3)),
    "categorical": RNG.integers(4, size=(60, 3)),
    "multinomial": RNG.integers(5, size=(60, 3)),
    "poisson": RNG.poisson(2.0, size=(60, 3)),
    "exponential": RNG.exponential(size=(60, 3)),
    "gamma": RNG.gamma(2.0, size=(60, 3)),
    "beta": RNG.beta(2.0, 3.0, size=(60, 3)),
    "dirichlet": RNG.dirichlet([1.0, 2.0, 3.0], size=60),
    "normal": X,
    "multivariate_normal": X,
}


@pytest.mark.parametrize("name", [*SUM_MODELS, *GENERATIVE, *DISCRIMINATIVE])
def test_every_model_has_an_answer(name):
    require_answer((SUM_MODELS | GENERATIVE | DISCRIMINATIVE)[name]().fit(X, Y))


@pytest.mark.parametrize("family", ROWS)
def test_the_row_is_one_that_the_family_can_have(family):
    require_answer(sx.ExponentialFamilyClassifier(family).fit(ROWS[family], Y))


def test_tables_of_every_kind_of_column():
    table = pd.DataFrame(
        {
            "number": X[:, 0],
            "word": np.where(X[:, 1] > 0, "yes", "no"),
            "colour": np.array(["red", "green", "blue"])[np.arange(60) % 3],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60) * 9, unit="D"),
        }
    )
    require_answer(sx.TableClassifier(sx.LogisticRegression()).fit(table, Y))
    require_answer(sx.NaiveBayes().fit(table.drop(columns="day"), Y))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("coef_", np.ones((1, 7))), ("coef_", "text"), ("classes_", None), ("intercept_", {}), ("basis_", 3)],
)
def test_half_a_model_is_not_handed_out(attribute, value, tmp_path):
    model = sx.LogisticRegression().fit(X, Y)
    setattr(model, attribute, value)
    with pytest.raises(FileError, match="LogisticRegression that cannot predict"):
        sx.load(sx.save(model, tmp_path / "half.sx"))


def test_half_a_posterior_is_not_handed_out(tmp_path):
    model = sx.BayesianLogisticRegression(approximation="laplace").fit(X, Y)
    object.__setattr__(model.posterior_.approximation.factor, "L", np.eye(9))
    with pytest.raises(FileError, match="cannot predict"):
        sx.load(sx.save(model, tmp_path / "half.sx"))


def test_records_are_no_models(tmp_path):
    from separatrix.io.archive import archive_of

    node = {"is": "record", "class": "separatrix.solvers.newton:Newton", "fields": {"tol": 1.0}}
    (tmp_path / "a.sx").write_bytes(archive_of({"model.json": json.dumps(node).encode()}, {}))
    with pytest.raises(FileError, match="holds a Newton and no model"):
        sx.load(tmp_path / "a.sx")


def test_a_table_with_a_column_of_zeros_and_ones_has_an_answer_from_naive_bayes():
    table = {"on": np.array([0, 1, 1, 0, 1, 0] * 5, dtype=float), "size": np.arange(30.0)}
    y = (np.arange(30) % 7 > 2).astype(int)
    require_answer(sx.TableClassifier(sx.NaiveBayes("auto")).fit(pd.DataFrame(table), y))
