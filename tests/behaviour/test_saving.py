"""Saved models: identical predictions after loading, and errors for damaged or malicious files."""

import errno
import hashlib
import io
import json
import math
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from problems import DISCRIMINATIVE, FAMILIES, GENERATIVE, MODELS, blobs
from separatrix.export import FORMAT, FileError, load, read_about, save
from separatrix.export.archive import read_archive, write_archive
from separatrix.export.reader import Reader
from separatrix.export.writer import Writer

X, Y = blobs(90, distance=3.0)
LABELS = np.array(["ash", "birch", "cedar"])[Y]

EVERY = (
    MODELS
    | GENERATIVE
    | DISCRIMINATIVE
    | {
        "logistic_rbf": lambda: sx.LogisticRegression(basis=sx.basis.Linear() + sx.basis.RBF("kmeans", n_centres=4)),
        "logistic_spline": lambda: sx.LogisticRegression(
            basis=sx.basis.Spline(knots="quantile") + sx.basis.Sigmoid(n_centres=3) + sx.basis.Polynomial(2)
        ),
        "logistic_fourier": lambda: sx.LogisticRegression(basis=sx.basis.RandomFourier(6)),
        "bayesian": lambda: sx.BayesianLogisticRegression(approximation="laplace"),
        "by_class": lambda: sx.BayesianLogisticRegression(structure="by class"),
        "diagonal": lambda: sx.BayesianLogisticRegression(structure="diagonal"),
        "importance": lambda: sx.BayesianLogisticRegression(approximation="importance", rng=1),
        "model_average": lambda: sx.ModelAverage({"a": sx.BayesianLogisticRegression()}),
        "one_vs_rest": lambda: sx.OneVsRest(sx.LogisticRegression()),
        "decision_rule": lambda: sx.DecisionRule(sx.LogisticRegression(), costs=1 - np.eye(3)),
    }
)
LOGISTIC = "separatrix.discriminative:LogisticRegression"
SOLUTION = "separatrix.solvers:Solution"
MEMBERS = {"model.json": b"{}", "arrays/0.npy": b"numbers" * 40}


@pytest.fixture
def saved(tmp_path):
    return save(sx.LogisticRegression().fit(X, LABELS), tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EVERY)
def test_a_loaded_model_gives_the_same_predictions(name, tmp_path):
    model = EVERY[name]().fit(pd.DataFrame(X, columns=list("abcd")), LABELS)
    again = load(save(model, tmp_path / "model.sx"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    if "predict_proba" in dir(model):
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_classifier_of_every_family_is_saved(family, tmp_path, rng):
    rows, y = FAMILIES[family](rng), np.arange(60) % 2
    model = sx.ExponentialFamilyClassifier(family).fit(rows, y)
    again = load(save(model, tmp_path / "model.sx"))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize(("family", "link"), [("poisson", None), ("binomial", "probit"), ("binomial", "cloglog")])
def test_a_regression_is_saved_without_its_training_rows(family, link, tmp_path):
    wide = np.tile(X, (40, 1))
    few, many = (sx.GeneralizedLinearModel(family, link).fit(rows, np.arange(len(rows)) % 3 % 2) for rows in (X, wide))
    paths = [save(model, tmp_path / f"{len(model.coefficient_names_)}{i}.sx") for i, model in enumerate((few, many))]
    assert paths[1].stat().st_size < paths[0].stat().st_size + 500
    np.testing.assert_array_equal(load(paths[1]).predict(X), many.predict(X))


def test_a_table_classifier_is_saved(tmp_path):
    table, y = sx.datasets.make_mixed_types(200, as_frame=True, rng=0)
    table["joined"] = pd.Timestamp("2021-03-04") + pd.to_timedelta(np.arange(200), unit="D")
    model = sx.TableClassifier().fit(table, y)
    again = load(save(model, tmp_path / "table.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_naive_bayes_of_a_table_with_text_is_saved(tmp_path):
    table = pd.DataFrame({"plan": ["free", "pro", None, "pro"] * 5, "visits": np.arange(20) % 7, "part": 0.5})
    table.loc[::3, "part"] = 0.25
    model = sx.NaiveBayes({"visits": "poisson", "part": "beta"}).fit(table, np.arange(20) % 2)
    again = load(save(model, tmp_path / "table.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_naive_bayes_of_an_encoded_table_is_saved(tmp_path):
    """The mean of a column of 0 and 1 is outside the support of a Bernoulli family."""
    table = pd.DataFrame({"on": np.array([0, 1, 1, 0, 1, 0] * 5, dtype=float), "size": np.arange(30.0)})
    model = sx.TableClassifier(sx.NaiveBayes("auto")).fit(table, (np.arange(30) % 7 > 2).astype(int))
    load(save(model, tmp_path / "model.sx"))


def test_the_header_keeps_names(tmp_path, saved):
    model = sx.LogisticRegression().fit(X, LABELS)
    about = {"target": "tree", "positive": None, "model": "logistic"}
    assert read_about(save(model, tmp_path / "named.sx", about=about)) == {"target": "tree", "model": "logistic"}
    assert read_about(saved) == {}


def test_the_file_is_a_zip_of_json_and_arrays(saved):
    with zipfile.ZipFile(saved) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        for name in archive.namelist():
            if name.endswith(".npy"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    assert manifest["format"] == FORMAT
    assert manifest["model"] == "LogisticRegression"


def test_a_failed_save_leaves_the_file_and_the_folder_as_they_were(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FileError, match="not part of this package"):
        save(sx.OneVsRest(LogisticRegression()).fit(X, Y), saved, force=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match=r"No space left on device\). Nothing was changed"):
            save(sx.LogisticRegression(alpha=3.0).fit(X, LABELS), saved, force=True)
    with pytest.raises(FileError, match="exists"):
        save(sx.LogisticRegression(alpha=3.0).fit(X, LABELS), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.sx"]
    save(sx.LogisticRegression(alpha=3.0).fit(X, LABELS), saved, force=True)
    assert load(saved).alpha == 3.0


# Damaged and malicious archives


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "a.sx").write_bytes(write_archive(MEMBERS, {"version": "1.2", "model": "Thing"}))
    return tmp_path / "a.sx"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rows, y = blobs(40, n_features=2, n_classes=2)
    path = save(sx.LinearDiscriminantAnalysis().fit(rows, y), tmp_path_factory.mktemp("io") / "lda.sx")
    return path.read_bytes(), rows, load(path).predict_proba(rows)


def rewrite(path, members, **manifest):
    """Write an archive with a correct checksum for every member."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    content = {"magic": "separatrix model", "format": FORMAT, "sha256": sums} | manifest
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", json.dumps(content))
        for name, data in members.items():
            file.writestr(name, data)


def test_a_file_cut_off_anywhere_is_an_error(model, tmp_path):
    data, _, _ = model
    path = tmp_path / "cut.sx"
    for end in np.unique(np.linspace(0, len(data) - 1, 200).astype(int)):
        path.write_bytes(data[:end])
        with pytest.raises(FileError):
            load(path)


def test_a_changed_byte_is_an_error_or_has_no_effect(model, tmp_path):
    """A changed time stamp, for example, has no effect. No other exception and no other model may result."""
    data, X, P = model
    path, rng, refused = tmp_path / "changed.sx", np.random.default_rng(0), 0
    for position in rng.choice(len(data), size=300, replace=False):
        broken = bytearray(data)
        broken[position] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            again = load(path)
        except FileError:
            refused += 1
        else:
            np.testing.assert_array_equal(again.predict_proba(X), P)
    assert refused > 150


def test_a_wrong_checksum(archive):
    _, members = read_archive(archive)
    rewrite(archive, members | {"model.json": b"[]"}, sha256=dict.fromkeys(members, "0" * 64))
    with pytest.raises(FileError, match="checksum of model.json is wrong"):
        read_archive(archive)


def test_a_bomb_is_not_opened(tmp_path):
    """Zip bomb of many members, whose total size is impossible for a file of this size."""
    path = tmp_path / "bomb.sx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", "{}")
        for i in range(12):
            file.writestr(f"arrays/{i}.npy", bytes(2**23))
    with pytest.raises(FileError, match=r"would take 402653186 bytes of memory, more than any model"):
        read_archive(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "arrays/../x.npy", "arrays/01.npy", "notes.txt"])
def test_members_with_other_names_are_ignored(archive, name):
    rewrite(archive, MEMBERS | {name: b"boo"})
    assert read_archive(archive)[1] == MEMBERS


@pytest.mark.parametrize("manifest", [{"magic": "other"}, {"sha256": []}, {"sha256": None}])
def test_other_zip_files_are_refused(archive, manifest):
    rewrite(archive, MEMBERS, **manifest)
    with pytest.raises(FileError, match="not a saved model"):
        read_archive(archive)


@pytest.mark.parametrize("number", [0, -1, "2", 2.0, None, True])
def test_an_invalid_format_number_is_refused(archive, number):
    rewrite(archive, MEMBERS, format=number)
    with pytest.raises(FileError, match="its format is"):
        read_archive(archive)


def test_a_later_format_is_an_error_that_suggests_an_upgrade(archive):
    rewrite(archive, MEMBERS, format=FORMAT + 1, version="9.0")
    with pytest.raises(FileError, match=rf"by separatrix 9.0 in format {FORMAT + 1}; .* Upgrade separatrix"):
        read_archive(archive)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("coef_", "text"), ("classes_", None), ("intercept_", {}), ("basis_", 3)],
)
def test_a_model_that_cannot_predict_is_refused(attribute, value, tmp_path):
    model = sx.LogisticRegression().fit(X, Y > 0)
    setattr(model, attribute, value)
    with pytest.raises(FileError, match="LogisticRegression that cannot predict"):
        load(save(model, tmp_path / "half.sx"))


def test_a_record_is_not_a_model(tmp_path):
    node = record("separatrix.solvers:Newton", tol=1.0)
    (tmp_path / "a.sx").write_bytes(write_archive({"model.json": json.dumps(node).encode()}, {}))
    with pytest.raises(FileError, match="Newton, which is not a model"):
        load(tmp_path / "a.sx")


# Trees of values


def record(name, **fields):
    return {"is": "record", "class": name, "fields": fields}


def read(node, **members):
    return Reader(members).value(node)


def through(value):
    """Write a value and read it."""
    writer = Writer()
    node = writer.node(value, "value")
    return Reader({f"arrays/{i}.npy": bytearray(data) for i, data in enumerate(writer.arrays)}).value(node)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        "text",
        (1, [2, {3}]),
        {"a": (1,)},
        {1: frozenset({2})},
        range(2, 9, 3),
        slice(None, 4),
        -math.inf,
    ],
)
def test_plain_values_are_restored(value):
    again = through(value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["ash", "birch"]),
        np.array([True, False]),
        np.zeros((0, 3)),
        np.array(2.5),
        np.array(["2021-03-04"], dtype="datetime64[D]"),
        np.array(["a", None, 3], dtype=object),
    ],
)
def test_arrays_are_restored(array):
    again = through(array)
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype
    assert again.flags.writeable


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("os:system", "not a class that a model"),
        ("separatrix:load", "not a class that a model"),
        ("separatrix.cli:main", "not a class that a model"),
        ("separatrix.__main__:app", "not a class that a model"),
        ("separatrix.export.archive:FileError", "not a class that a model"),
        ("separatrix_evil.x:Y", "not a class that a model"),
        ("separatrix.solvers.newton:np", "not an estimator or record"),
        ("separatrix.solvers.newton:Nothing", "not an estimator or record"),
        ("separatrix.solvers.newton:Newton.__class__", "not an estimator or record"),
        ("separatrix.estimator:Classifier", "not a class that a model"),
        ("separatrix.exceptions:DataError", "not an estimator or record"),
        ("separatrix.generative.gaussian:DataError", "not an estimator or record"),
        ("separatrix.solvers.result:Status", "an enumeration, not a record"),
    ],
)
def test_classes_that_are_not_part_of_models_are_refused(name, why):
    with pytest.raises(FileError, match=why):
        read(record(name))


def test_a_record_has_the_fields_of_its_class():
    whole = {"value": 1, "status": None, "steps": 1, "passes": 1}
    assert isinstance(read(record(SOLUTION, **whole)), sx.solvers.Solution)  # other fields have defaults
    with pytest.raises(FileError, match="Solution lacks its field or argument 'status'"):
        read(record(SOLUTION, value=1))
    with pytest.raises(FileError, match="Solution has no field or argument 'colour'"):
        read(record(SOLUTION, **whole, colour=1))


def test_fields_of_a_later_revision_are_ignored():
    whole = {"value": 1, "status": None, "steps": 1, "passes": 1, "colour": 2}
    again = Reader({}, newer=True).value(record(SOLUTION, **whole))
    assert "colour" not in vars(again)


def test_new_arguments_get_their_defaults():
    again = read(record(LOGISTIC, alpha=2.0))
    assert (again.alpha, again.solver) == (2.0, "auto")
    with pytest.raises(FileError, match="OneVsRest lacks its field or argument 'estimator'"):
        read(record("separatrix.reductions:OneVsRest", ambiguous="resolve"))


@pytest.mark.parametrize(
    "node",
    [
        [1, 2],
        {"is": "read"},
        {"is": ["list"]},
        {"is": "__init__"},
        {"is": "function", "name": "system"},
        {"is": "transformer", "class": "FunctionTransformer", "arguments": {}, "columns": 1},
        {"is": "float", "value": "1e9"},
        {"is": "dtype", "name": "O"},
        {"is": "range", "items": [0, 1e9, 1]},
        {"is": "array", "array": 5},
        {"is": "array", "array": "../x"},
        {"is": "dict", "items": [[{"is": "list", "items": []}, 1]]},
        {"is": "enum", "class": LOGISTIC, "name": "x"},
        {"is": "objects", "items": [1, 2], "shape": [3]},
        {"is": "generator", "state": {"is": "dict", "items": []}},
        {"no": "kind"},
    ],
)
def test_an_invalid_tree_is_refused(node):
    with pytest.raises((FileError, LookupError, TypeError, ValueError)):
        read(node)


def npy(header, data=b""):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    return {"arrays/0.npy": buffer.getvalue() + data}


@pytest.mark.parametrize(
    "header",
    [
        {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)},
        {"descr": "<f8", "fortran_order": False, "shape": (3,)},
        {"descr": "|S0", "fortran_order": False, "shape": (1, 5)},
    ],
)
def test_an_array_with_less_data_than_its_header_states(header):
    """The size is checked before memory is allocated."""
    with pytest.raises(FileError, match="do not match"):
        Reader(npy(header, b"x" * 8)).value({"is": "array", "array": 0})


def test_arrays_of_objects_are_not_opened():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match="neither a numeric type nor text"):
        Reader({"arrays/0.npy": buffer.getvalue()}).value({"is": "array", "array": 0})


def test_indices_of_a_sparse_matrix_are_checked():
    parts = [np.ones(2), np.array([0, 7], dtype=np.int32), np.array([0, 1, 2], dtype=np.int32)]
    members = {}
    for i, part in enumerate(parts):
        buffer = io.BytesIO()
        np.save(buffer, part)
        members[f"arrays/{i}.npy"] = buffer.getvalue()
    with pytest.raises(ValueError, match="indices"):
        Reader(members).value({"is": "csr", "parts": [0, 1, 2], "shape": [2, 3]})


def test_loading_calls_no_method_of_a_class(monkeypatch):
    def shout(self, alpha=1.0):
        raise AssertionError("called")

    # Not __new__: CPython does not restore a class that once had one.
    for name in ("__init__", "__setstate__", "__setattr__", "__getattribute__", "fit"):
        monkeypatch.setattr(sx.LogisticRegression, name, shout)
    made = read(record(LOGISTIC, coef_=3))
    assert object.__getattribute__(made, "coef_") == 3


def test_an_array_may_be_referenced_only_once():
    """Otherwise a small file could create any number of copies of an array."""
    node = {"is": "array", "array": 0}
    with pytest.raises(FileError, match="array 0 is used twice"):
        Reader(npy({"descr": "<f8", "fortran_order": False, "shape": (1,)}, b"x" * 8)).value(
            {"is": "list", "items": [node, node]}
        )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("junk", "argument 'junk'"),
        ("predict", "argument 'predict'"),
        ("_activation", "'_activation' is a method or property"),
        ("__class__", "'__class__' is a method or property"),
        ("__sklearn_tags__", "'__sklearn_tags__' is a method or property"),
    ],
)
def test_a_file_cannot_define_methods_of_a_model(name, said):
    with pytest.raises(FileError, match=said):
        read(record(LOGISTIC, **{name: 1}))


@pytest.mark.parametrize(
    ("kind", "columns", "arguments"),
    [
        ("SplineTransformer", 10**9, {}),
        ("SplineTransformer", 1, {"n_knots": 10**8}),
        ("SplineTransformer", 1000, {"n_knots": 5000}),
        ("SplineTransformer", 1, {"degree": 10**8}),
        ("SplineTransformer", -1, {}),
        ("PolynomialFeatures", 1000, {"degree": 5}),
        ("PolynomialFeatures", 100, {"degree": 100}),
        ("PolynomialFeatures", 100, {"degree": {"is": "tuple", "items": [1, 9]}}),
        ("PolynomialFeatures", 2, {"degree": 1e3}),
    ],
)
def test_the_size_of_a_basis_is_limited(kind, columns, arguments):
    with pytest.raises(FileError, match="a basis of|integer"):
        read({"is": "transformer", "class": kind, "columns": columns, "arguments": arguments})


def test_sparse_matrices_and_scalars_are_restored():
    again = through({"a": np.float32(2), "b": sparse.csr_array(np.eye(2))})
    assert again["a"] == 2
    assert again["a"].dtype == np.float32
    np.testing.assert_array_equal(again["b"].toarray(), np.eye(2))


def test_only_listed_functions_are_saved():
    with pytest.raises(FileError, match=r"value is a builtins.function, which is not part of this package"):
        through(lambda a: a)
