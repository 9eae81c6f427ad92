# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and crafted model files: an error or a model, never more memory than 10 times the file and 50 MB."""

import contextlib
import hashlib
import io
import json
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from problems import FAMILIES, GENERATIVE, MODELS, blobs
from separatrix.exceptions import FileError

SAVED = sorted((Path(__file__).parents[1] / "contract" / "saved").glob("format3/*.sx"))
MEGABYTE = 2**20


def measured(path):
    """Load a file: the model or None, after checking the largest memory in use."""
    tracemalloc.start()
    model = None
    try:
        with contextlib.suppress(FileError):
            model = sx.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 50 * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"
    return model


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}


def packed(members, *, method=zipfile.ZIP_DEFLATED, **manifest):
    """Archive with correct checksums."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    header = {"magic": "separatrix model", "format": 3, "version": "1", "sha256": sums} | manifest
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("manifest.json", json.dumps(header))
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Load every class once, so that imports do not count."""
    for path in SAVED:
        sx.load(path)


@pytest.fixture
def crafted(tmp_path):
    def load(content):
        path = tmp_path / "crafted.sx"
        path.write_bytes(content)
        return measured(path)

    return load


def lie(content, name, size):
    """Change the size that the archive states for a member."""
    changed = bytearray(content)
    for mark, offset, start in ((b"PK\x01\x02", 24, 46), (b"PK\x03\x04", 22, 30)):
        place = changed.find(mark)
        while place >= 0:
            if changed[place + start : place + start + len(name)] == name:
                changed[place + offset : place + offset + 4] = size.to_bytes(4, "little")
            place = changed.find(mark, place + 4)
    return bytes(changed)


BIG = 64 * MEGABYTE
TREES = {
    "lists": b"[" + b"[]," * 5_000_000 + b"[]]",
    "mappings": b"[" + b"{}," * 5_000_000 + b"{}]",
    "small mappings": b"[" + b'{"a":0.5},' * 1_500_000 + b"{}]",
    "numbers": b"[" + b"0.5," * 5_000_000 + b"0.5]",
    "names": b"{" + b",".join(b'"%x":1' % i for i in range(600_000)) + b"}",
    "texts": b"[" + b'"ab",' * 3_000_000 + b"0]",
    "wide characters": ("[" + '"\u5b57",' * 2_000_000 + "0]").encode(),
    "one text": b'"' + b"a" * BIG + b'"',
    "depth": b"[" * 5_000_000,
    "records": b'{"is":"list","items":['
    + b'{"is":"record","class":"separatrix.discriminative:LogisticRegression","fields":{}},' * 300_000
    + b"0]}",
}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED], ids=["deflated", "stored"])
@pytest.mark.parametrize("name", TREES)
def test_a_large_tree(crafted, name, method):
    assert crafted(packed({"model.json": TREES[name]}, method=method)) is None


@pytest.mark.parametrize("name", ["lists", "names", "one text"])
def test_a_large_manifest(crafted, name):
    text = b'{"magic": "separatrix model", "format": 3, "sha256": {}, "junk": ' + TREES[name] + b"}"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", text)
    assert crafted(buffer.getvalue()) is None


@pytest.mark.parametrize("name", [b"manifest.json", b"model.json", b"arrays/0.npy"])
@pytest.mark.parametrize("size", [0, 100, 10**6])
def test_a_member_larger_than_its_stated_size(crafted, name, size):
    zeros = {"model.json": b" " * BIG, "arrays/0.npy": bytes(BIG)}
    content = packed(zeros, junk="x" * BIG)
    for each in (b"manifest.json", b"model.json", b"arrays/0.npy"):
        content = lie(content, each, size if each == name else 100)
    assert crafted(content) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions(crafted, method):
    assert crafted(packed(parts_of(SAVED[0]) | {"arrays/99.npy": bytes(BIG)}, method=method)) is None


def test_many_entries(crafted):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", b"")
        archive.filelist *= 200_000  # all entries refer to the same member
    assert crafted(buffer.getvalue()) is None


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_the_same_name(crafted):
    buffer = io.BytesIO(SAVED[0].read_bytes())
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("model.json", parts_of(SAVED[0])["model.json"])
    assert crafted(buffer.getvalue()) is None


def walk(node, path=()):
    """All values of a tree with their paths."""
    yield path, node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from walk(child, (*path, key))


def with_value(tree, path, value):
    tree = json.loads(json.dumps(tree))
    node = tree
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return tree


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:Some columns have values that did not occur in training")
def test_huge_integers_in_a_tree(crafted, path):
    """Every integer in turn becomes 10^8: sizes, columns, degrees, numbers of arrays."""
    parts = parts_of(path)
    tree = json.loads(parts["model.json"])
    places = {}
    for place, value in walk(tree):
        if type(value) is int:
            places.setdefault(tuple(key for key in place if isinstance(key, str)), place)
    for place in places.values():
        model = crafted(packed(parts | {"model.json": json.dumps(with_value(tree, place, 10**8)).encode()}))
        if model is not None:
            used = predicted(model)
            assert used < 50 * MEGABYTE, f"{place}: predicting takes {used / MEGABYTE:.0f} MB"


def predicted(model):
    """Memory of predicting one row with a model that was loaded."""
    names = getattr(model, "feature_names_in_", None)
    row = np.full((1, int(model.n_features_in_)), 0.5)
    tracemalloc.start()
    try:
        with contextlib.suppress(ValueError):  # a message is as good as a prediction
            model.predict(row if names is None else pd.DataFrame(row, columns=names))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Arrays: one model of every class that a file can contain

X, Y = blobs(90, distance=3.0)
WIDE = np.random.default_rng(0).normal(size=(20, 30))
TABLE = pd.DataFrame({"plan": ["free", "pro", None, "pro"] * 15, "visits": np.arange(60) % 7, "part": 0.5})
TABLE.loc[::3, "part"] = 0.25
FAMILY_ROWS = {name: rows(np.random.default_rng(0)) for name, rows in FAMILIES.items()}
FITTED = {
    **{
        name: lambda make=(MODELS | GENERATIVE)[name]: make().fit(X, Y)
        for name in (
            "least_squares",
            "fisher",
            "logistic",
            "lda_ledoit_wolf",
            "lda_predictive",
            "qda",
            "qda_predictive",
        )
    },
    **{
        f"bayesian {name}": lambda options=options, K=K: sx.BayesianLogisticRegression(**{"tune": None} | options).fit(
            X, Y % K
        )
        for name, K, options in (
            ("laplace", 2, {"approximation": "laplace"}),
            ("softmax", 3, {"tune": "evidence", "approximation": "laplace"}),
            ("variational", 3, {"approximation": "variational"}),
            ("ep", 2, {"approximation": "ep"}),
            ("importance", 2, {"approximation": "importance", "rng": 1}),
            ("by class", 3, {"structure": "by class"}),
            ("diagonal", 3, {"structure": "diagonal"}),
        )
    },
    "bayesian dual": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="dual").fit(
        WIDE, np.arange(20) % 2
    ),
    "wide lda": lambda: sx.LinearDiscriminantAnalysis(shrinkage=0.3).fit(WIDE, np.arange(20) % 2),
    "singular lda": lambda: sx.LinearDiscriminantAnalysis().fit(np.column_stack([X, Y, X[:, 0]]), Y),
    "singular qda": lambda: sx.QuadraticDiscriminantAnalysis().fit(np.column_stack([X, Y, X[:, 0]]), Y),
    "elastic net": lambda: sx.LogisticRegression(prior=sx.ElasticNet(5.0, groups=[0, 1, 1, 0])).fit(X, Y),
    "poisson": lambda: sx.GeneralizedLinearModel("poisson").fit(X, Y),
    "probit": lambda: sx.ProbitRegression().fit(X, Y > 0),
    "noise": lambda: sx.LabelNoiseLogisticRegression(rates="per-class").fit(X, Y > 0),
    "one vs rest": lambda: sx.OneVsRest(sx.LogisticRegression()).fit(X, Y),
    "decision rule": lambda: sx.DecisionRule(sx.LogisticRegression(), costs=1 - np.eye(3)).fit(X, Y),
    "average": lambda: sx.ModelAverage({"a": sx.BayesianLogisticRegression(sx.Gaussian(1.0))}).fit(X, Y > 0),
    "trace": lambda: sx.Perceptron(max_epochs=1, trace=True).fit(X[:6], Y[:6] > 0),
    "naive bayes of a table": lambda: sx.NaiveBayes({"visits": "poisson", "part": "beta"}).fit(
        TABLE, np.arange(60) % 2
    ),
    "table": lambda: sx.TableClassifier(sx.LogisticRegression(alpha=1.0), curved=True).fit(TABLE, np.arange(60) % 2),
    **{
        f"basis {type(basis).__name__}": lambda basis=basis: sx.LogisticRegression(basis=basis).fit(X, Y)
        for basis in (
            sx.basis.Linear() + sx.basis.RBF("kmeans", n_centres=4),
            sx.basis.MultiScaleRBF(2, n_scales=2),
            sx.basis.Spline(knots="quantile"),
            sx.basis.Sigmoid(n_centres=3),
            sx.basis.RandomFourier(6),
            sx.basis.Polynomial(2),
        )
    },
    **{
        f"{family} {estimate}": lambda family=family, estimate=estimate: sx.ExponentialFamilyClassifier(
            family, estimate=estimate, shared_scale=False
        ).fit(FAMILY_ROWS[family], np.arange(60) % 2)
        for family in FAMILY_ROWS
        for estimate in ("ml", "predictive")
    },
}
#: Arrays whose size along an axis does not depend on any other array: rows of the training table, directions, levels.
FREE = {"mislabelled_", "widths", "straight", "eta", "factors", "gradient", "basis", "values", "_text", "scale", "counts",
        "grad", "total_u", "gap", "rows", "F", "root", "theta", "coef", "knots", "log_probability", "trials", "alpha"}  # fmt: skip
MAY_BE_NAN = {"covariance_", "_unscaled", "standard_errors_", "grad", "gradient", "eta"}


def arrays_of(parts):
    """Name of the field and number of each array of numbers in a file."""
    for place, node in walk(json.loads(parts["model.json"])):
        if isinstance(node, dict) and node.get("is") == "array":
            field = place[len(place) - place[::-1].index("fields")]
            if field not in ("values", "_text") and "densities_" not in place:  # levels, and parameters shown to users
                yield field, f"arrays/{node['array']}.npy"


@pytest.fixture(scope="module", params=FITTED)
def fitted(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted") / "model.sx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parts_of(sx.save(FITTED[request.param](), path))


def test_an_array_of_another_shape(crafted, fitted):
    for field, name in arrays_of(fitted):
        array = np.load(io.BytesIO(fitted[name]))
        assert crafted(packed(fitted | {name: npy(array[None])})) is None, f"{field}: another axis"
        for axis in range(array.ndim) if field not in FREE else ():
            longer = np.concatenate([array, array], axis=axis)
            assert crafted(packed(fitted | {name: npy(longer)})) is None, f"{field}: {longer.shape}"


def test_a_large_array_of_another_shape(crafted, fitted):
    for i, (_, name) in enumerate(arrays_of(fitted)):
        shape = ((300_000,), (300_000, 1), (1, 300_000))[i % 3]
        crafted(packed(fitted | {name: npy(np.zeros(shape))}, method=zipfile.ZIP_STORED))


def test_an_array_with_nan(crafted, fitted):
    for field, name in arrays_of(fitted):
        array = np.load(io.BytesIO(fitted[name]))
        if array.dtype.kind == "f" and array.size and field not in MAY_BE_NAN:
            array.flat[-1] = np.nan
            assert crafted(packed(fitted | {name: npy(array)})) is None, field


def test_many_centres_and_many_widths(crafted, fitted):
    """Each centre has a function of every width."""
    names = dict(arrays_of(fitted))
    if {"centres", "widths"} <= names.keys():
        columns = np.load(io.BytesIO(fitted[names["centres"]])).shape[1]
        many = {names["centres"]: npy(np.zeros((10**5, columns))), names["widths"]: npy(np.ones(10**5))}
        assert crafted(packed(fitted | many)) is None


@pytest.mark.parametrize("columns", [10**8, 10**5])
def test_plans_with_many_columns(crafted, tmp_path, columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"word": rng.permutation(np.arange(400)).astype(str), "x": rng.normal(size=400)})
    encoder = sx.TableClassifier(sx.LogisticRegression(alpha=1.0), types={"word": "categorical"}, hashing=16)
    parts = parts_of(sx.save(encoder.fit(table, table["x"] > 0), tmp_path / "hashed.sx"))
    tree = json.loads(parts["model.json"])
    place = next(place for place, _ in walk(tree) if place and place[-1] == "n_columns")
    changed = with_value(tree, place, columns)
    plans = changed
    for key in place[:-3]:
        plans = plans[key]
    plans += [plans[place[-3]]] * (5000 if columns == 10**5 else 0)
    assert crafted(packed(parts | {"model.json": json.dumps(changed).encode()})) is None


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_damaged_files(crafted, path):
    """Truncated files, changed bytes and removed members are errors, or the same model."""
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for end in rng.integers(len(content), size=8):
        assert crafted(content[:end]) is None
    for place in rng.integers(len(content), size=12):
        broken = bytearray(content)
        broken[place] ^= 1 << rng.integers(8)
        crafted(bytes(broken))
    parts = parts_of(path)
    for name in list(parts)[:4]:
        crafted(packed({other: data for other, data in parts.items() if other != name}))


def test_a_large_model_that_compresses_well_is_restored(tmp_path):
    """The writer does not compress a model whose size would look like an attack."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 3_000))
    X[:, :2] = rng.normal(size=(60, 2))
    model = sx.LogisticRegression(alpha=1.0).fit(X, X[:, 0] > 0)
    model.filler_ = np.zeros(10**7)
    again = measured(sx.save(model, tmp_path / "zeros.sx"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_model_of_many_columns_is_restored(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 3_000)), columns=[f"column {i}" for i in range(3_000)])
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(table, table["column 0"] > 0)
    again = measured(sx.save(model, tmp_path / "wide.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
