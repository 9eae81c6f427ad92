"""Fits and predictions do not depend on where the rows are stored: files, queries, Dask, tensors or memory.

Every estimator is tested on three problems in every place. Each solver, likelihood and basis is tested on the weighted
problem. Fitted attributes and predictions must agree with those of the same rows in memory to 1e-8 relative, at default
tolerances. Models that cannot be fitted in a place must raise an error with the reason.
"""

import inspect
from functools import cache, partial

import dask
import dask.array as da
import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, is_regressor

import separatrix as sx
from problems import ESTIMATORS, ONE_AGAINST_THE_REST, SETTINGS, blobs, names
from separatrix.bayesian import inference, joint
from separatrix.discriminative.model import SOLVERS
from separatrix.exceptions import DataError
from separatrix.files import scan
from separatrix.rows import memory

pytestmark = [
    pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning"),
    pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning"),
]

EVERY_MODEL = ESTIMATORS | SETTINGS
RTOL = 1e-8
#: Rows of float32 have 7 digits. Sums over blocks use float64, but products within a block may not. Results are
#: compared with those of the same rounded numbers in float64.
SINGLE_RTOL = 1e-4
N = 200
ALIKE = 70  # the first rows have one class, so the first row group and the first partition have one class too


# -- problems: rows, labels, weights, and settings for models that have them -----------------------------------------


def two_classes():
    X, y = blobs(N, n_classes=2, seed=3, distance=0.7)
    return *sorted_at_first(X, y), None, {}


def three_classes():
    """Labels are text, and one column has counts."""
    X, y = blobs(N, n_features=3, n_classes=3, seed=4, distance=0.7)
    X[:, 2] = np.abs(X[:, 2]).round()
    X, y = sorted_at_first(X, y)
    return X, np.array(["few", "lot", "none"])[y], None, {}


def weighted():
    """One row in eight has the rare class; some weights are zero; the basis is quadratic."""
    rng = np.random.default_rng(5)
    X, y = blobs(N, n_features=2, n_classes=2, seed=5)
    y = np.where(rng.random(N) < 0.75, 0, y)
    weight = rng.integers(0, 4, size=N) / 2
    return *sorted_at_first(X, y), weight, {"basis": sx.basis.Polynomial(2)}


def sorted_at_first(X, y):
    first = np.flatnonzero(y == 0)[:ALIKE]
    order = np.concatenate([first, np.delete(np.arange(len(y)), first)])
    return X[order], y[order]


PROBLEMS = {"two": two_classes, "three": three_classes, "weighted": weighted}


@cache
def posed(problem, kind="labels"):
    """The problem with targets for this kind of model: labels, one class against the rest, numbers, or soft targets."""
    X, y, weight, settings = PROBLEMS[problem]()
    classes, codes = np.unique(y, return_inverse=True)
    if kind == "shares":
        y = 0.7 * np.eye(len(classes))[codes] + 0.3 / len(classes)
    elif kind == "numbers":
        y = codes.astype(float)
    elif kind == "one" and len(classes) > 2:
        y = codes == 1
    return X, y, weight, settings


def kind_of(name):
    if name.endswith("_soft"):
        return "shares"
    return "numbers" if is_regressor(EVERY_MODEL[name]()) else "one" if name in ONE_AGAINST_THE_REST else "labels"


# -- places: rows, labels, weights -> the same three, elsewhere -----------------------------------------------------


def in_blocks(rows):
    def place(X, y, weight, folder, monkeypatch):
        monkeypatch.setattr(memory, "block_rows", lambda width: rows)
        return X, y, weight

    return place


def dask_array(chunks, label_chunks=None):
    """Labels and weights are lazy with ``label_chunks``, else in memory."""

    def place(X, y, weight, folder, monkeypatch):
        rows = da.from_array(X, chunks=chunks)
        if label_chunks is None:
            return rows, y, weight
        lazy_weight = None if weight is None else da.from_array(weight, chunks=label_chunks)
        return rows, da.from_array(y, chunks=(label_chunks, -1)[: y.ndim]), lazy_weight

    return place


def dask_frame(X, y, weight, folder, monkeypatch):
    """Dask data frame that is persisted, as on a cluster."""
    lazy = dd.from_pandas(table(X, y, weight), chunksize=120)
    beside = lazy[["weight"]] if y.ndim > 1 else lazy[["y", "weight"]]
    rows, beside = dask.persist(lazy[names(X)], beside)
    return rows, beside["y"] if y.ndim == 1 else y, None if weight is None else beside["weight"]


def torch_tensor(X, y, weight, folder, monkeypatch):
    """Labels and weights are tensors too, except text labels."""
    torch = pytest.importorskip("torch", reason="torch is not installed: make test and .ci/run check no tensors")
    torch.set_num_threads(1)
    labels = y if y.dtype.kind == "U" else torch.from_numpy(y)
    return torch.from_numpy(X), labels, None if weight is None else torch.from_numpy(weight)


def parquet_file(**how):
    """Soft targets are passed in memory, because they are not one column of the file."""

    def place(X, y, weight, folder, monkeypatch):
        path = folder / "rows.parquet"
        if not path.exists():
            table(X, y, weight).to_parquet(path, row_group_size=ALIKE - 3)
        return scan(path, **roles(X, y, weight), **how), *beside(y)

    return place


def roles(X, y, weight):
    """Columns of a scan: features, target and weight."""
    return {"columns": names(X), "target": "y" if y.ndim == 1 else None, "weight": None if weight is None else "weight"}


def beside(y):
    """Labels and weights in memory, if they are not columns of the table."""
    return None if y.ndim == 1 else y, None


def query(order):
    """The connection and its table live as long as the scan."""

    def place(X, y, weight, folder, monkeypatch):
        connection = duckdb.connect()
        connection.register("given", pa.Table.from_pandas(table(X, y, weight).assign(position=range(len(X)))))
        return scan(f"SELECT * FROM given ORDER BY {order}", connection=connection, **roles(X, y, weight)), *beside(y)

    return place


def stream(X, y, weight, folder, monkeypatch):
    """A reader that can be read only once."""
    batches = pa.Table.from_pandas(table(X, y, weight), preserve_index=False).to_batches(ALIKE - 3)
    return scan(pa.RecordBatchReader.from_batches(batches[0].schema, batches), **roles(X, y, weight)), *beside(y)


def libsvm_file(X, y, weight, folder, monkeypatch):
    """Labels are in the file; weights and soft targets are passed in memory."""
    path = folder / "rows.svm"
    written, labels = (y, None) if y.ndim == 1 else (np.zeros(len(y)), y)
    path.write_text("".join(f"{label} {line(row)}\n" for label, row in zip(written, X.tolist(), strict=True)))
    return scan(path), labels, weight


def line(row):
    return " ".join(f"{d}:{value!r}" for d, value in enumerate(row, start=1) if value)


def table(X, y, weight):
    found = pd.DataFrame(X, columns=names(X)).assign(weight=1.0 if weight is None else weight)
    return found.assign(y=y) if y.ndim == 1 else found


DASK = {
    "dask_even": dask_array((100, -1)),
    "dask_ragged": dask_array(((1, ALIKE - 1, 0, N - ALIKE), -1), 77),
    "dask_columns_apart": dask_array((130, 1), 150),
    "dask_frame": dask_frame,
}
#: Places that are tested on one problem only.
BESIDES = {
    "blocks_of_37": in_blocks(37),
    "scan_by_workers": parquet_file(client=True),
    "libsvm": libsvm_file,
    "query": query("position"),
    "stream": stream,
}
PLACES = {"scan": parquet_file(), "torch": torch_tensor, **DASK, **BESIDES}
# Places and models that only `make test-all` compares.
SLOW = {"dask_even", "dask_frame", "dask_columns_apart", "libsvm", "scan_by_workers"}
SLOW |= {"bayesian_relevance", "bayesian_importance", "bayesian_hmc", "bayesian_variational", "average"}
SLOW_PAIRS = {("two", "dask_ragged"), ("three", "scan")}  # both places are compared on the other two problems
ASKED = "three", "dask_ragged"  # the Dask case in which all methods are compared; elsewhere only the first
FIRST, WEIGHTED = "two", "weighted"  # the problem for all places, and the problem for all settings


# -- refusals: what cannot be fitted in a place, and what the error says ----------------------------------------------

IN_ORDER = ("perceptron", "logistic_stochastic")
ENCODED = [name for name, make in EVERY_MODEL.items() if isinstance(make(), sx.TableClassifier)]
REFUSALS = {
    **{(name, place): "one row after the other" for name in IN_ORDER for place in DASK},
    **{(name, "scan_by_workers"): r"one row after the other.*scan\(\.\.\.\) without client=" for name in IN_ORDER},
    **{(name, place): "an encoder would load all of it into memory" for name in ENCODED for place in DASK},
    **{(name, "libsvm"): "only numbers" for name in ENCODED},
    **{
        ("one_vs_one", place): "by number.*OneVsRest"
        for place in ("dask_frame", "scan", "scan_by_workers", "query", "stream")
    },
    ("calibrated", "dask_frame"): "by number",
    **{("calibrated", place): "FrozenEstimator" for place in ("scan", "scan_by_workers", "libsvm", "query", "stream")},
}


def is_slow(name, problem, place):
    return bool(SLOW & {name, place}) or (problem, place) in SLOW_PAIRS


def is_refused(name, problem, place):
    """With two classes, one-vs-one has one pair and needs no selection of rows."""
    return (name, place) in REFUSALS and (name != "one_vs_one" or problem == "three")


CASES = [
    (name, problem, place)
    for name in EVERY_MODEL
    for problem in (PROBLEMS if name in ESTIMATORS else [WEIGHTED])
    for place in PLACES
    if (problem == FIRST or place not in BESIDES) and not is_refused(name, problem, place)
]


# -- the law --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder by problem and kind of target; its files are written once."""
    return cache(lambda problem, kind: tmp_path_factory.mktemp(f"{problem}_{kind}"))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """For 200 rows, starting threads would take longer than the work."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """Use few draws: the same weights are drawn in every place."""
    monkeypatch.setattr(joint, "N_DRAWS", 256)
    monkeypatch.setattr(joint, "importance", partial(joint.importance, n=1024))


def made(name, settings):
    """The model with those settings of the problem that are arguments of the model and None."""
    model = EVERY_MODEL[name]()
    own = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in settings.items() if key in own and own[key] is None})


def fitted(name, problem, place, folder, monkeypatch):
    """Model fitted to the rows in a place, and these rows."""
    kind = kind_of(name)
    X, y, weight, settings = posed(problem, kind)
    rows, labels, weights = place(X, y, weight, folder(problem, kind), monkeypatch)
    return made(name, settings).fit(rows, labels, sample_weight=weights), rows


@cache
def expected(name, problem):
    """Fitted attributes and predictions of the fit in memory, the reference."""
    X, y, weight, settings = posed(problem, kind_of(name))
    model = made(name, settings).fit(X, y, sample_weight=weight)
    return knowledge(model), answers(model, X)


METHODS = ["predict_proba", "predict", "decision_function", "log_density", "predict_interval"]
METHODS += ["transform", "expected_cost"]


def knowledge(model):
    """Fitted attributes that are floats or arrays of floats."""
    arrays = {name: np.asarray(value) for name, value in vars(model).items() if isinstance(value, float | np.ndarray)}
    return {name: array for name, array in arrays.items() if name.endswith("_") and array.dtype.kind == "f"}


def answers(model, X, most=None):
    """Results of the methods that the model has, as arrays in memory; the first ``most`` methods."""
    said = {method: getattr(model, method)(X) for method in [m for m in METHODS if m in dir(model)][:most]}
    return dict(zip(said, map(np.asarray, dask.compute(*said.values())), strict=True))


def assert_same(found, wanted, rtol):
    assert found.keys() == wanted.keys()
    for what, value in wanted.items():
        if value.dtype.kind == "f":
            unit = 1.0 if what.endswith("error_") else 0.0  # differences of probabilities
            largest = np.abs(value).max(initial=unit, where=np.isfinite(value))
            np.testing.assert_allclose(found[what], value, rtol, atol=rtol * largest, err_msg=what)
        else:
            np.testing.assert_array_equal(found[what], value, err_msg=what)


@pytest.mark.parametrize(
    ("name", "problem", "place"),
    [pytest.param(*case, marks=[pytest.mark.slow] * is_slow(*case)) for case in CASES],
)
def test_fits_and_predictions_are_equal_in_every_place(name, problem, place, folder, monkeypatch):
    model, rows = fitted(name, problem, PLACES[place], folder, monkeypatch)
    learnt, said = expected(name, problem)
    assert_same(knowledge(model), learnt, RTOL)
    found = answers(model, rows, most=1 if place in DASK and (problem, place) != ASKED else None)
    assert_same(found, {method: said[method] for method in found}, RTOL)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if kind_of(name) != "shares"])
def test_predictions_of_a_query_belong_to_its_rows_and_a_stream_need_be_read_only_once(name, monkeypatch):
    """The query returns its rows in another order in every pass; the predictions are those of memory, reordered."""
    X, y, weight, settings = posed("three" if name != "one_vs_one" else FIRST, kind_of(name))
    frame = pd.DataFrame(X, columns=names(X))
    model = made(name, settings).fit(frame, y)
    for method, wanted in answers(model, frame).items():
        once = np.asarray(getattr(model, method)(stream(X, y, weight, None, monkeypatch)[0]))
        assert_same({method: once}, {method: wanted}, RTOL)
        found = np.asarray(getattr(model, method)(query("random()")(X, y, weight, None, monkeypatch)[0]))
        assert_same({method: in_order(found)}, {method: in_order(wanted)}, RTOL)


def in_order(rows):
    """Sort the rows, so that results for rows in different orders can be compared."""
    flat = rows.reshape(len(rows), -1)
    return flat[np.lexsort(flat.T[::-1].round(10) if flat.dtype.kind == "f" else flat.T[::-1])]


@pytest.mark.parametrize("place", ["blocks_of_37", "dask_ragged", "torch", "scan"])
@pytest.mark.parametrize(
    "name", ["least_squares", "lda", "qda", "naive_bayes", "logistic", "bayesian", "poisson_model"]
)
def test_float32_rows_give_the_predictions_of_float64(name, place, monkeypatch, tmp_path):
    X, y, *_ = posed(FIRST)
    X = X.astype(np.float32)
    wanted = answers(made(name, {}).fit(X.astype(np.float64), y), X.astype(np.float64))
    rows, labels, _ = PLACES[place](X, y, None, tmp_path, monkeypatch)
    assert_same(answers(made(name, {}).fit(rows, labels), rows), wanted, SINGLE_RTOL)


@pytest.mark.parametrize("place", PLACES)
def test_separability_and_evidence_are_equal_in_every_place(place, folder, monkeypatch):
    X, y, weight, _ = posed(FIRST)
    X = X + 3 * y[:, None]  # separable, so that there is a margin
    rows, labels, _ = PLACES[place](X, y, weight, folder("separable", "labels"), monkeypatch)
    grid = {"basis_of_width": lambda width: sx.basis.RBF(X[:5], width=width), "widths": [1.0, 3.0], "scales": [1.0]}
    places = (rows, labels), (X, y)
    there, here = ([sx.is_separable(*place), sx.evidence_surface(*place, **grid).log_evidence] for place in places)
    assert there[0].status == here[0].status == "complete"
    assert there[0].margin == pytest.approx(here[0].margin, rel=RTOL)
    np.testing.assert_allclose(there[1], here[1], rtol=RTOL)


@pytest.mark.parametrize(("name", "place"), REFUSALS)
def test_models_that_cannot_be_fitted_in_a_place_raise_with_the_reason(name, place, folder, monkeypatch):
    problem = next(problem for problem in PROBLEMS if is_refused(name, problem, place))
    with pytest.raises(DataError, match=REFUSALS[name, place]):
        fitted(name, problem, PLACES[place], folder, monkeypatch)


def test_no_estimator_basis_approximation_or_solver_is_left_out():
    models = [make() for make in EVERY_MODEL.values()]
    assert estimators_of(sx) == {type(model) for model in models}
    assert estimators_of(sx.basis) <= {type(m.basis) for m in models if "basis" in m.get_params(deep=False)}
    assert set(inference.METHODS) == {m.approximation for m in models if isinstance(m, sx.BayesianLogisticRegression)}
    assert set(SOLVERS) == {m.solver for m in models if isinstance(m, sx.LogisticRegression)}


def estimators_of(module):
    public = (getattr(module, name) for name in module.__all__)
    kinds = (value for value in public if inspect.isclass(value) and not inspect.isabstract(value))
    return {kind for kind in kinds if issubclass(kind, BaseEstimator)}
