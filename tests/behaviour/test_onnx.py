"""Exported graphs give the predictions of the model; parts that ONNX cannot express are refused by name."""

import datetime as dt
import json
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

import separatrix as sx
from problems import DISCRIMINATIVE, GENERATIVE, SUM_MODELS, blobs
from separatrix.basis import RBF, Linear, MultiScaleRBF, Polynomial, RandomFourier, Sigmoid
from separatrix.export import to_onnx
from separatrix.export.graph import Graph
from separatrix.export.onnx import _step
from separatrix.export.onnx_models import functions
from separatrix.likelihoods import LIKELIHOODS
from separatrix.study import PriorOnly
from separatrix.table_model import Ramps

RNG = np.random.default_rng(0)
X, Y = blobs(90, distance=1.0)
TOLERANCE = 1e-5


def run_graph(proto, feed, *, check=True):
    """Outputs of a graph by name, after the checker has accepted it."""
    if check:
        onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, feed), strict=True))


def export(model, rows, dtype="float32", **options):
    """Outputs of an exported model for a table of numbers."""
    return run_graph(to_onnx(model, dtype=dtype, **options), {"X": np.asarray(rows, dtype=dtype)})


def agree(model, rows, dtype="float32", **options):
    """Compare labels, and probabilities or scores, of the graph and of the model."""
    rows = np.asarray(rows, dtype=dtype).astype(np.float64)
    found = export(model, rows, dtype, **options)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    if "probabilities" in found:
        assert found["probabilities"].dtype == dtype
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=0, atol=TOLERANCE)
    else:
        scores = model.decision_function(rows)
        assert found["scores"].shape == scores.shape
        np.testing.assert_allclose(found["scores"], scores, rtol=TOLERANCE, atol=TOLERANCE)
    return found


def evaluate(function, *arrays):
    """Run a function of values on arrays, in double precision."""
    graph = Graph()
    inputs = [graph.input(f"x{i}", "double", [None] * np.ndim(a)) for i, a in enumerate(arrays)]
    found = function(*inputs)
    outputs = found if isinstance(found, tuple) else (found,)
    named = {f"y{i}": (each, "double", None) for i, each in enumerate(outputs)}
    feed = {f"x{i}": np.asarray(a, dtype=np.float64) for i, a in enumerate(arrays)}
    results = list(run_graph(graph.assemble(named, "function"), feed, check=False).values())
    return results if isinstance(found, tuple) else results[0]


# Models

RULES = SUM_MODELS | {"perceptron": lambda: sx.Perceptron(max_epochs=50), "prior_only": PriorOnly}
NORMAL = {name: make for name, make in GENERATIVE.items() if name.startswith(("lda", "qda"))}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", RULES | DISCRIMINATIVE | NORMAL)
def test_linear_models_and_discriminant_analysis(name, K):
    rows, y = blobs(150, n_classes=K)
    agree((RULES | DISCRIMINATIVE | NORMAL)[name]().fit(rows, y), np.vstack([rows, 4 * rows]))


@pytest.mark.parametrize(
    "model",
    [
        sx.LogisticRegression(),
        sx.LinearDiscriminantAnalysis(),
        sx.QuadraticDiscriminantAnalysis(basis=Linear()),
        sx.BayesianLogisticRegression(sx.Gaussian(1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_columns_far_from_zero_keep_their_digits(model):
    """Single precision has seven digits, and an offset of 3e5 would use up five of them."""
    rows, y = blobs(150, n_classes=2)
    moved = np.float32(rows + 3e5).astype(float)
    agree(model.fit(moved, y), moved)


@pytest.mark.parametrize(("family", "link"), [(family, link) for family in LIKELIHOODS for link in LIKELIHOODS[family]])
def test_the_mean_of_a_regression(family, link):
    rng = np.random.default_rng(0)
    X = np.float32(rng.normal(size=(80, 2))).astype(float)
    t = rng.integers(2, size=80) if family in ("bernoulli", "binomial") else 2 + rng.poisson(3.0, size=80)
    model = sx.GeneralizedLinearModel(family, link).fit(X, t)
    np.testing.assert_allclose(export(model, X)["mean"], model.predict(X), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")  # 20 rows of three classes are few
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        sx.LinearDiscriminantAnalysis(shrinkage=0.3, estimate="predictive"),
        sx.QuadraticDiscriminantAnalysis(shrinkage=0.3, estimate="predictive"),
        sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="dual"),
        sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="dual", fit_intercept=False),
    ],
    ids=str,
)
def test_more_columns_than_rows(model, K):
    rows, y = blobs(20, n_features=60, n_classes=K)
    agree(model.fit(rows, y), np.vstack([rows, np.random.default_rng(1).normal(size=(10, 60))]))


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
@pytest.mark.parametrize("N", [150, 20])
@pytest.mark.parametrize(
    "model",
    [
        *(make() for make in NORMAL.values()),
        sx.FisherDiscriminant(shrinkage=0.1),
        sx.FisherDiscriminant(threshold="normal"),
        sx.NaiveBayes("normal"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_collinear_columns(model, N):
    rows, y = blobs(N, n_features=30, n_classes=3)
    rows[:, 4] = 3.0
    rows[:, 7] = np.where(y == 1, 2.0, -1.0)
    agree(model.fit(rows, y), rows)


def test_discriminant_analysis_of_a_row_with_a_missing_value_is_nan():
    rows, y = blobs(60, n_classes=2)
    model = sx.LinearDiscriminantAnalysis().fit(rows, y)
    rows[1, 2] = np.nan
    P = export(model, rows)["probabilities"]
    assert np.isnan(P[1]).all()
    assert np.isfinite(P[[0, 2]]).all()


T = np.arange(90) % 3
ROWS = {
    "bernoulli": (RNG.random((90, 3)) < 0.2 + 0.2 * T[:, None]).astype(float),
    "categorical": RNG.integers(1 + T[:, None], 5, size=(90, 3)).astype(float),
    "normal": RNG.normal(T[:, None], 1.0, size=(90, 3)),
    "normal_known_variance": RNG.normal(T[:, None], 1.0, size=(90, 3)),
}


@pytest.mark.parametrize("estimate", ["ml", "map", "predictive"])
@pytest.mark.parametrize("family", ROWS)
@pytest.mark.parametrize("K", [2, 3])
def test_generative_models_of_normal_bernoulli_and_categorical_columns(family, estimate, K):
    model = sx.ExponentialFamilyClassifier(family, estimate=estimate, shared_scale=False)
    agree(model.fit(ROWS[family][T < K], T[T < K]), ROWS[family], dtype="float64")


@pytest.mark.parametrize("estimate", ["map", "predictive"])
@pytest.mark.parametrize("temper", [False, 0.3])
def test_naive_bayes_of_columns_of_several_families_with_missing_values(estimate, temper):
    kinds = ["normal", "bernoulli", "categorical"]
    rows = np.hstack([ROWS[kind][:, :1] for kind in kinds])
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    model = sx.NaiveBayes(dict(enumerate(kinds)), estimate=estimate, temper=temper).fit(rows, T)
    rows[5, 2] = 99.0  # a new value
    rows[6] = np.nan  # nothing is observed: the prior
    agree(model, rows, dtype="float64")


def test_an_impossible_row_has_the_prior():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = sx.NaiveBayes("bernoulli", estimate="ml").fit(X, [0, 0, 1, 1])
    agree(model, np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))


def test_naive_bayes_of_text_columns():
    table = pd.DataFrame({"plan": ["free", "pro", None, "pro"] * 5, "visits": [0.0, 2.0, 1.0, np.nan] * 5})
    model = sx.NaiveBayes({"visits": "normal"}).fit(table, np.arange(20) % 3)
    asked = pd.DataFrame({"plan": ["free", "pro", None, "gold"], "visits": [1.0, np.nan, 3.0, 4.0]})
    texts = np.array([["free"], ["pro"], [""], ["gold"]])
    found = run_graph(to_onnx(model), {"plan": texts, "visits": asked[["visits"]].to_numpy(np.float32)})
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(asked), atol=1e-5)


# Bayesian predictives

OPTIONS = {
    "default": {},
    "no_intercept": {"fit_intercept": False},
    "laplace": {"approximation": "laplace"},
    "diagonal": {"structure": "diagonal"},
    "by_class": {"structure": "by class"},
    "probit_rule": {"predictive": "probit"},
    "map": {"predictive": "map"},
    "importance": {"approximation": "importance", "rng": 0},
    "wide_prior": {"prior": sx.Gaussian(scale=30.0), "approximation": "laplace"},
    "basis": {"basis": RBF("kmeans", n_centres=5), "approximation": "laplace"},
}


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(
    ("name", "K"),
    [
        pytest.param(name, K, marks=[pytest.mark.slow] * (K == 3 and name in ("basis", "no_intercept", "wide_prior")))
        for name in OPTIONS
        for K in (2, 3)
    ],
)
def test_bayesian_predictives(name, K):
    if name == "by_class" and K == 2:
        pytest.skip("one factor for each contrast needs three classes")
    rows, y = blobs(80, n_classes=K, n_features=3)
    agree(sx.BayesianLogisticRegression(**OPTIONS[name]).fit(rows, y), np.vstack([rows, 20 * rows]))


def test_averages_over_narrowed_activations():
    rows, y = blobs(80, n_classes=3, n_features=3)
    model = sx.BayesianLogisticRegression(sx.Gaussian(30.0), structure="diagonal").fit(rows, y)
    before = model.predict_proba(rows)
    model.posterior_ = replace(model.posterior_, variance_factor=0.25)
    assert np.abs(model.predict_proba(rows) - before).max() > 0.01
    agree(model, rows)


@pytest.mark.parametrize("likelihood", ["logit", "probit", "label_noise"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_two_classes(likelihood, level):
    rows, y = blobs(80, n_classes=2)
    rows = np.float32(rows).astype(float)
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0), likelihood=likelihood).fit(rows, y)
    found = agree(model, rows, intervals=True, level=level)
    bounds = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_allclose(bounds, model.predict_interval(rows, level), atol=1e-5)


@pytest.mark.parametrize("likelihood", ["logit", "probit"])
@pytest.mark.parametrize("level", [0.95, 0.999])
def test_intervals_from_draws(likelihood, level):
    rows = np.float32(np.random.default_rng(0).normal(size=(12, 2))).astype(float)
    options = {"likelihood": likelihood, "approximation": "hmc", "rng": 0}
    model = sx.BayesianLogisticRegression(sx.Gaussian(30.0), **options).fit(rows, rows[:, 0] > 0.2)
    assert model.draws_ is not None
    found = export(model, rows, "float64", intervals=True, level=level)
    bounds = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_allclose(bounds, model.predict_interval(rows, level), atol=1e-5)


# Bases

POINTS = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 30.0] + [0.0, 500.0]
BASES = {
    "linear": Linear(),
    "polynomial": Polynomial(3),
    "interactions": Polynomial(2, interaction_only=True),
    "rbf": RBF("kmeans", n_centres=5, width=20.0),
    "rbf_far_apart": RBF([[0.0, 0.0], [1e6, 1e6], [0.5, 500.0]], width=1.0),
    "multi_scale": MultiScaleRBF(n_centres=3, n_scales=2),
    "sigmoid": Sigmoid(),
    "fourier": RandomFourier(12),
    "union": Linear() + Sigmoid(n_centres=3) + Polynomial(2),
    "ramps": Ramps([1], n_knots=5),
}


@pytest.mark.parametrize("name", BASES)
def test_functions_of_a_basis(name):
    basis = BASES[name].fit(POINTS)
    beyond = np.vstack([POINTS, POINTS.mean(axis=0) + 3 * (POINTS - POINTS.mean(axis=0))])
    expected = basis.transform(beyond)
    found = evaluate(lambda x: functions(basis, x), beyond)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


# Tables

N = 240


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
    """The table as input tensors."""
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


TABLE_MODELS = {
    "logistic": sx.TableClassifier(sx.LogisticRegression()),
    "curved": sx.TableClassifier(sx.LogisticRegression(), curved=True),
    "curved with a reference level": sx.TableClassifier(sx.LogisticRegression(), drop="first", curved=True),
    "interactions": sx.TableClassifier(sx.LogisticRegression(), interactions=[("colour", "size"), ("visits", "size")]),
    "bayesian": sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.3), approximation="laplace")),
    "lda": sx.TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)),
}


@pytest.mark.filterwarnings("ignore:Some columns have values")
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", TABLE_MODELS)
def test_a_table_of_every_kind_of_column(name, gaps):
    table = make_table(gaps)
    table["size"] = np.float32(table["size"].astype(float)).astype(float)
    y = np.array(["low", "mid", "high"])[RNG.integers(3, size=N)]
    model = TABLE_MODELS[name].fit(table, y)
    table.loc[:3, "colour"] = "ultraviolet"  # a new level
    table.loc[4:6, "size"] = np.nan
    found = run_graph(to_onnx(model), feed(table, model))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(table), atol=1e-5)
    np.testing.assert_array_equal(found["label"], model.predict(table))


def test_intervals_of_a_table():
    table = make_table()[["colour", "visits"]]
    model = sx.TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0))).fit(table, RNG.integers(2, size=N))
    found = run_graph(to_onnx(model, intervals=True), feed(table, model))
    bounds = np.column_stack([found["lower"], found["upper"]])
    np.testing.assert_allclose(bounds, model.predict_interval(table), atol=1e-5)


def test_months_of_four_centuries():
    days = np.arange(-80_000, 80_000, 13)
    expected = [(dt.date(1970, 1, 1) + dt.timedelta(days=int(day))).month - 1 for day in days]
    np.testing.assert_array_equal(evaluate(lambda day: _step(day, "month"), days.astype(float)), expected)


# Outputs and metadata


def properties(proto):
    return {each.key: each.value for each in proto.metadata_props}


@pytest.mark.parametrize(
    ("labels", "said", "meaning"),
    [
        (np.array([3, 5, 9]), [3, 5, 9], "the class"),
        (np.array(["ash", "birch", "cedar"]), ["ash", "birch", "cedar"], "the class"),
        (np.array(["ash", "birch", "cedar"], dtype=object), ["ash", "birch", "cedar"], "the class"),
        (np.array([1.0, 2.0, 4.0]), [1, 2, 4], "the class as a whole number"),
        (pd.to_datetime(["2020", "2021", "2022"]).to_numpy(), [0, 1, 2], "the position of the class in 'classes'"),
    ],
)
def test_labels_of_any_kind(labels, said, meaning):
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    model.classes_ = labels
    codes = sx.LinearDiscriminantAnalysis().fit(X, Y).predict(X)
    assert export(model, X)["label"].tolist() == [said[code] for code in codes]
    assert properties(to_onnx(model))["label"] == meaning


def test_metadata_name_the_model_its_columns_and_classes():
    model = sx.LogisticRegression().fit(pd.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[Y])
    proto = to_onnx(model)
    assert (proto.producer_name, proto.producer_version) == ("separatrix", sx.__version__)
    about = properties(proto)
    assert about["model"] == "LogisticRegression"
    assert json.loads(about["columns"]) == list("abcd")
    assert json.loads(about["classes"]) == ["x", "y", "z"]


def test_the_graph_is_written_to_a_file_and_replaced_only_by_force(tmp_path):
    model, path = sx.LogisticRegression().fit(X, Y), tmp_path / "model.onnx"
    assert to_onnx(model, path) == onnx.load(path)
    to_onnx(model, path, force=True)


def test_without_the_library_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'separatrix\[onnx\]'"):
        to_onnx(sx.LogisticRegression())
