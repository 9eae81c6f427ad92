"""Tables with columns of every kind: one input for each column, and the same probabilities."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.onnx import to_onnx
from separatrix.onnx.table import _month

N = 240
RNG = np.random.default_rng(0)


def make_table(gaps=True):
    day = pd.Timestamp("2019-01-15 06:00") + pd.to_timedelta(RNG.integers(0, 2000 * 24, size=N), unit="h")
    table = pd.DataFrame(
        {
            "size": RNG.normal(size=N) * 30 + 500,
            "colour": RNG.choice(["red", "green", "blue", "mauve"], p=[0.5, 0.3, 0.19, 0.01], size=N),
            "member": RNG.choice(["yes", "no"], size=N),
            "visits": RNG.poisson(3.0, size=N),
            "joined": day,
        }
    )
    if gaps:
        for column in ("size", "colour", "member", "joined"):
            table.loc[RNG.random(N) < 0.1, column] = None
    return table


def feed(table, model):
    """The table as tensors."""
    tensors = {}
    for column in model.encoder_.schema_.inputs:
        values = table[column]
        if pd.api.types.is_datetime64_any_dtype(values):
            days = (values - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
            tensors[column] = days.to_numpy(np.float64)[:, None]
        elif pd.api.types.is_numeric_dtype(values):
            tensors[column] = values.to_numpy(np.float32)[:, None]
        else:
            tensors[column] = values.fillna("").to_numpy().astype(str)[:, None]
    return tensors


# Labels are noise here: what is tested is that the graph says what the model says, and not what it doubts.
pytestmark = pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")

ESTIMATORS = {
    "logistic": sx.LogisticRegression(),
    "bayesian": sx.BayesianLogisticRegression(prior=sx.Gaussian(0.3), approximation="laplace"),
    "lda": sx.LinearDiscriminantAnalysis(shrinkage=0.1),
}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_table_of_every_kind_of_column(name, gaps, run):
    table = make_table(gaps)
    table["size"] = np.float32(table["size"].astype(float)).astype(float)
    y = np.array(["low", "mid", "high"])[RNG.integers(3, size=N)]
    model = sx.TableClassifier(ESTIMATORS[name]).fit(table, y)
    table.loc[:3, "colour"] = "ultraviolet"  # never seen
    table.loc[4:6, "size"] = np.nan
    found = run(to_onnx(model), feed(table, model))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(table), atol=1e-5)
    np.testing.assert_array_equal(found["label"], model.predict(table))


@pytest.mark.parametrize("drop", ["none", "first"])
def test_a_reference_level_and_curves(drop, run):
    table = make_table()
    table["size"] = np.float32(table["size"].astype(float)).astype(float)
    model = sx.TableClassifier(sx.LogisticRegression(), drop=drop, curved=True).fit(table, RNG.integers(2, size=N))
    found = run(to_onnx(model), feed(table, model))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(table), atol=1e-5)


def test_intervals_of_a_table(run):
    table = make_table()[["colour", "visits"]]
    model = sx.TableClassifier(sx.BayesianLogisticRegression()).fit(table, RNG.integers(2, size=N))
    found = run(to_onnx(model, intervals=True), feed(table, model))
    bounds = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_allclose(bounds, model.predict_interval(table), atol=1e-5)


def test_months_of_four_centuries(evaluate):
    days = np.arange(-80_000, 80_000, 13)
    expected = [(dt.date(1970, 1, 1) + dt.timedelta(days=int(day))).month - 1 for day in days]
    np.testing.assert_array_equal(evaluate(_month, days.astype(float)), expected)


def test_hashed_levels_are_refused_by_name():
    from separatrix.onnx.graph import ExportError
    from separatrix.study import TableClassifier

    table = pd.DataFrame({"zip": RNG.integers(10_000, 10_200, size=N * 4).astype(str)})
    model = TableClassifier(sx.LogisticRegression(), types={"zip": "categorical"}, hashing=16)
    model.fit(table, RNG.integers(2, size=len(table)))
    with pytest.raises(ExportError, match="column 'zip' are hashed into 16 columns.*hashing=None"):
        to_onnx(model)
