"""Saved models: identical predictions after loading, and errors for damaged or malicious files."""

import errno
import hashlib
import io
import json
import math
import os
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from problems import DISCRIMINATIVE, FAMILIES, GENERATIVE, MODELS, blobs
from separatrix.export import FORMAT, FileError, load, read_about, save
from separatrix.export.archive import read_archive, write_archive
from separatrix.export.reader import Reader
from separatrix.export.writer import Writer
from separatrix.study import PriorOnly

X, Y = blobs(90, distance=3.0)
LABELS = np.array(["ash", "birch", "cedar"])[Y]
FRAME = pd.DataFrame(X, columns=list("abcd"))

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
        "bayesian": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace"),
        "by_class": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="by class"),
        "diagonal": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="diagonal"),
        "importance": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="importance", rng=1),
        "hmc": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="hmc", rng=1),
        "model_average": lambda: sx.ModelAverage({"a": sx.BayesianLogisticRegression(sx.Gaussian(1.0))}),
        "one_vs_rest": lambda: sx.OneVsRest(sx.LogisticRegression()),
        "decision_rule": lambda: sx.DecisionRule(sx.LogisticRegression(), costs=1 - np.eye(3)),
        "calibrated": lambda: sx.Calibrated(sx.LinearDiscriminantAnalysis()),
        "calibrated_isotonic": lambda: sx.Calibrated(sx.Perceptron(max_epochs=5), "isotonic", cv=2),
        "calibrated_frozen": lambda: sx.Calibrated(FrozenEstimator(sx.LogisticRegression().fit(FRAME, LABELS)), "beta"),
    }
)
LOGISTIC = "separatrix.discriminative:LogisticRegression"
SOLUTION = "separatrix.solvers:Solution"
MEMBERS = {"model.json": b"{}", "arrays/0.npy": b"numbers" * 40}


def test_a_tuned_model_of_a_wide_table_can_be_loaded(tmp_path, rng):
    wide = rng.normal(size=(30, 130))
    model = sx.BayesianLogisticRegression().fit(wide, wide[:, 0] > 0)
    assert model.posterior_.structure == "dual"
    np.testing.assert_array_equal(model.tuning_.column_factors, np.full(130, model.tuning_.factors[0]))
    again = load(save(model, tmp_path / "model.sx"))
    np.testing.assert_allclose(again.predict_proba(wide), model.predict_proba(wide), rtol=1e-13)


@pytest.fixture
def saved(tmp_path):
    return save(sx.LogisticRegression().fit(X, LABELS), tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("name", EVERY)
def test_a_loaded_model_gives_the_same_predictions(name, tmp_path):
    model, frame = EVERY[name]().fit(FRAME, LABELS), FRAME
    again = load(save(model, tmp_path / "model.sx"))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    if "predict_proba" in dir(model):
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    if "predict_set" in dir(model):
        np.testing.assert_array_equal(again.predict_set(frame), model.predict_set(frame))


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


ROW = np.arange(240)
NUMBERS = pd.DataFrame({"on": ROW % 2 + 0.0, "size": ROW + 0.0, "part": 0.25 + ROW % 2 / 4})
TEXT = NUMBERS.assign(plan=np.array(["free", "pro", None], dtype=object)[ROW % 3])
HASHING = sx.TableClassifier(sx.LogisticRegression(), types={"zip": "categorical"}, hashing=32)
TABLES = {
    "dates and text": (sx.TableClassifier(sx.LogisticRegression()), TEXT.assign(day=pd.to_datetime(ROW, unit="D"))),
    "families": (sx.NaiveBayes({"size": "poisson", "part": "beta"}), TEXT),
    "zeros and ones": (sx.TableClassifier(sx.NaiveBayes("auto")), NUMBERS),  # a mean outside Bernoulli's support
    "hashed levels": (HASHING, NUMBERS.assign(zip=ROW % 200)),
    "squares that overflow": (sx.TableClassifier(PriorOnly()), NUMBERS.assign(size=np.where(ROW % 2, 1e300, -1e300))),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_model_of_a_table_is_saved(kind, tmp_path):
    model, table = TABLES[kind]
    model.fit(table, ROW % 11 > 4)
    again = load(save(model, tmp_path / "table.sx"))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


# Wrappers: what `save` accepts, `load` returns

MIXED = pd.DataFrame(
    {
        "status": np.array(["new", "old", "gone", None], dtype=object)[ROW * 7 % 4],
        "age": np.sin(ROW) * 9 + 40,
        "joined": pd.to_datetime(ROW * 37 % 400, unit="D"),
    }
)
KINDS = {
    "numpy": lambda: MIXED[["age"]].to_numpy() + np.arange(3),
    "pandas": lambda: MIXED,
    "polars": lambda: pl.from_pandas(MIXED),
    "sparse": lambda: sparse.csr_array(np.maximum(np.sin(np.outer(ROW + 1.0, [1.0, 2.0, 3.0])), 0.0)),
}
TABLE_MODELS = {
    "table": lambda: sx.TableClassifier(),
    "table of families": lambda: sx.TableClassifier(sx.NaiveBayes()),
    "logistic": lambda: sx.LogisticRegression(),
    "bayesian": lambda: sx.BayesianLogisticRegression(sx.Gaussian(1.0)),
    "naive bayes": lambda: sx.NaiveBayes(),
}
WRAPPERS = {
    "rule": lambda model: sx.DecisionRule(model, costs={(2, 1): 5}),
    "calibrated": lambda model: sx.Calibrated(model, cv=2),
    "one vs rest": sx.OneVsRest,
    "one vs one": sx.OneVsOne,
    "rule of reduction": lambda model: sx.DecisionRule(sx.OneVsRest(model), reject=0.5),
    "calibrated reduction": lambda model: sx.Calibrated(sx.OneVsOne(model), "temperature", cv=2),
    "reduction of calibrated": lambda model: sx.OneVsRest(sx.Calibrated(model, "platt", cv=2)),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_set")
CODES = (MIXED["age"] > 40).to_numpy().astype(int) + (ROW % 3 == 0)
RESTORED = [
    (wrapper, model, kind)
    for wrapper in WRAPPERS
    for model in TABLE_MODELS
    for kind in (("numpy", "pandas", "polars") if model.startswith("table") else ("numpy", "sparse"))
]


def assert_restored(model, rows, path):
    again = load(save(model, path))
    for name in METHODS:
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(again, name)(rows), getattr(model, name)(rows), err_msg=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("wrapper", "model", "kind"), RESTORED)
def test_a_wrapper_is_restored(wrapper, model, kind, tmp_path):
    rows = KINDS[kind]()
    assert_restored(WRAPPERS[wrapper](TABLE_MODELS[model]()).fit(rows, CODES), rows, tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrapper", [sx.DecisionRule, sx.OneVsRest, lambda model: model])
def test_a_wrapper_fitted_to_a_scan_is_restored(wrapper, tmp_path):
    MIXED.assign(y=CODES).to_parquet(tmp_path / "table.parquet")
    model = wrapper(sx.TableClassifier()).fit(sx.scan(tmp_path / "table.parquet", target="y"))
    assert_restored(model, MIXED, tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore")
def test_wrappers_of_fitted_tables_are_restored(tmp_path):
    fitted = sx.TableClassifier(sx.LogisticRegression()).fit(MIXED, CODES)
    rule = sx.DecisionRule(fitted, reject=0.4, prefit=True)
    assert_restored(rule, MIXED, tmp_path / "rule.sx")
    calibrated = sx.Calibrated(FrozenEstimator(fitted), "temperature").fit(MIXED, CODES)
    assert_restored(calibrated, MIXED, tmp_path / "calibrated.sx")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars"])
def test_an_average_of_table_models_is_restored(kind, tmp_path):
    rows = KINDS[kind]()
    models = {"line": sx.TableClassifier(), "curve": sx.TableClassifier(curved=True)}
    if kind == "numpy":
        models["array"] = sx.BayesianLogisticRegression()
    average = sx.ModelAverage(models).fit(rows, CODES)
    evidence = {name: getattr(model, "estimator_", model).log_evidence_ for name, model in average.models_.items()}
    odds = np.exp(evidence["line"] - evidence["curve"])
    assert average.weights_["line"] / average.weights_["curve"] == pytest.approx(odds)
    assert_restored(average, rows, tmp_path / "average.sx")
    assert_restored(sx.DecisionRule(average, reject=0.5, prefit=True), rows, tmp_path / "rule.sx")


def test_a_table_model_that_searched_for_interactions_has_no_evidence():
    average = sx.ModelAverage({"searched": sx.TableClassifier(interactions=True)})
    with pytest.raises(ValueError, match=r"'searched' reports no evidence .* not searched for"):
        average.fit(MIXED, CODES > 0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GridSearchCV(sx.LogisticRegression(), {"alpha": [1.0]}, cv=2), "Save the LogisticRegression in it"),
        (lambda: make_pipeline(StandardScaler(), sx.LogisticRegression()), "Save the LogisticRegression in it"),
        (lambda: LogisticRegression(), "LogisticRegression is not a model of this package"),
        (
            lambda: sx.OneVsRest(GridSearchCV(sx.LogisticRegression(), {"alpha": [1.0]}, cv=2)),
            "is a sklearn.*GridSearchCV",
        ),
        (
            lambda: sx.Calibrated(sx.LogisticRegression(), cv=StratifiedKFold(2)),
            "model.cv is a sklearn.*StratifiedKFold",
        ),
    ],
)
def test_objects_of_other_packages_are_refused_and_named(make, said, tmp_path):
    with pytest.raises(FileError, match=said):
        save(make().fit(X, Y), tmp_path / "model.sx")
    assert not list(tmp_path.iterdir())


def test_a_model_whose_copy_differs_is_not_saved(tmp_path, monkeypatch):
    model = sx.LogisticRegression().fit(X, Y)
    monkeypatch.setattr(type(model), "__getstate__", lambda self: vars(self) | {"intercept_": self.intercept_ + 1})
    with pytest.raises(FileError, match=r"LogisticRegression was not saved.*a copy predicts"):
        save(model, tmp_path / "model.sx")
    assert not list(tmp_path.iterdir())


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

    with pytest.raises(FileError, match="LogisticRegression, which is not part of this package"):
        save(sx.Calibrated(LogisticRegression()).fit(X, Y), saved, force=True)
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


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        *(({"format": number}, "its format is") for number in (0, -1, "2", 2.0, None, True)),
        *((other, "not a saved model") for other in ({"magic": "other"}, {"sha256": []}, {"sha256": None})),
        ({"format": FORMAT + 1, "version": "9.0"}, rf"by separatrix 9.0 in format {FORMAT + 1}; .* Upgrade separatrix"),
        ({"sha256": dict.fromkeys(MEMBERS, "0" * 64)}, "checksum of model.json is wrong"),
    ],
)
def test_other_files_formats_and_checksums_are_refused(archive, manifest, said):
    rewrite(archive, MEMBERS, **manifest)
    with pytest.raises(FileError, match=said):
        read_archive(archive)


@pytest.mark.parametrize(
    ("attribute", "value"), [("coef_", "text"), ("classes_", None), ("intercept_", {}), ("basis_", 3)]
)
def test_a_model_that_cannot_predict_is_refused(attribute, value, tmp_path):
    model = sx.LogisticRegression().fit(X, Y > 0)
    setattr(model, attribute, value)
    with pytest.raises(FileError, match="LogisticRegression that cannot predict"):
        load(save(model, tmp_path / "half.sx"))


def test_a_record_is_not_a_model(tmp_path):
    node = json.dumps(record("separatrix.solvers:Newton", tol=1.0)).encode()
    (tmp_path / "a.sx").write_bytes(write_archive({"model.json": node}, {}))
    with pytest.raises(FileError, match="Newton, which is not a model"):
        load(tmp_path / "a.sx")


# Trees of values

ARRAY = {"is": "array", "array": 0}


def record(name, **fields):
    return {"is": "record", "class": name, "fields": fields}


def read(node, **members):
    return Reader(members).value(node)


def through(value):
    """Write a value and read it."""
    writer = Writer()
    node = writer.node(value, "value")
    return Reader({f"arrays/{i}.npy": bytearray(data) for i, data in enumerate(writer.arrays)}).value(node)


PLAIN = [None, True, 3, 0.1, "text", (1, [2, {3}], {"a": 4}), {1: frozenset({2})}, range(2, 9), slice(4), -math.inf]


@pytest.mark.parametrize("value", PLAIN, ids=str)
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
        np.zeros((0, 3), dtype=bool),
        np.array(2.5, dtype=np.float32),
        np.array(["2021-03-04"], dtype="datetime64[D]"),
        np.array(["a", None, 3], dtype=object),
        np.float32(2),
        sparse.csr_array(np.eye(2)),
    ],
    ids=str,
)
def test_arrays_are_restored(array):
    again = through(array)
    assert (type(again), again.dtype) == (type(array), array.dtype)
    np.testing.assert_array_equal(*(x.toarray() if sparse.issparse(x) else x for x in (again, array)))
    assert not isinstance(again, np.ndarray) or again.flags.writeable


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
    newer = Reader({}, newer=True).value(record(SOLUTION, **whole, colour=1))  # of a later revision
    assert "colour" not in vars(newer)


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


def npy(*arrays):
    """Members of an archive with these arrays."""
    members = {}
    for i, array in enumerate(arrays):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        members[f"arrays/{i}.npy"] = buffer.getvalue()
    return members


@pytest.mark.parametrize(("descr", "shape"), [("<f8", (10**9, 10**6)), ("<f8", (3,)), ("|S0", (1, 5))])
def test_an_array_with_less_data_than_its_header_states(descr, shape):
    """The size is checked before memory is allocated."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    with pytest.raises(FileError, match="do not match"):
        Reader({"arrays/0.npy": buffer.getvalue() + b"x" * 8}).value(ARRAY)


@pytest.mark.parametrize(
    ("node", "arrays", "said"),
    [
        (ARRAY, [np.array([{"a": 1}], dtype=object)], "neither a numeric type nor text"),
        ({"is": "list", "items": [ARRAY, ARRAY]}, [np.ones(1)], "array 0 is used twice"),  # a small file, many copies
        ({"is": "csr", "parts": [0, 1, 2], "shape": [2, 3]}, [np.ones(2), np.int32([0, 7]), np.arange(3)], "indices"),
    ],
    ids=["objects", "used twice", "indices of a sparse matrix"],
)
def test_invalid_arrays_are_refused(node, arrays, said):
    with pytest.raises(ValueError, match=said):
        Reader(npy(*arrays)).value(node)


def test_loading_calls_no_method_of_a_class(monkeypatch):
    def shout(self, alpha=1.0):
        raise AssertionError("called")

    # Not __new__: CPython does not restore a class that once had one.
    for name in ("__init__", "__setstate__", "__setattr__", "__getattribute__", "fit"):
        monkeypatch.setattr(sx.LogisticRegression, name, shout)
    made = read(record(LOGISTIC, coef_=3))
    assert object.__getattribute__(made, "coef_") == 3


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


def test_only_listed_functions_are_saved():
    with pytest.raises(FileError, match=r"value is a builtins.function, which is not part of this package"):
        through(lambda a: a)


@pytest.mark.parametrize(("rule", "factor"), [(None, 1.0), (None, 0.3), ("map", 1.0)])
@pytest.mark.parametrize("approximation", ["variational", "importance"])
def test_a_posterior_of_format_3_has_fields_of_its_model(approximation, rule, factor):
    X, y = blobs(30, n_classes=3)
    model = sx.BayesianLogisticRegression(sx.Gaussian(2.0), approximation=approximation, rng=0).fit(X, y)
    model.posterior_ = replace(model.posterior_, variance_factor=0.0 if rule else factor)
    writer = Writer()
    node = writer.node(model, "model")
    posterior = node["fields"]["posterior_"]
    posterior["class"] = "separatrix.bayesian:WeightPosterior"
    del posterior["fields"]["variance_factor"]
    node["fields"] |= {"draws_": posterior["fields"].pop("draws"), "_rule": rule, "_variance_factor": factor}
    again = Reader({f"arrays/{i}.npy": bytearray(data) for i, data in enumerate(writer.arrays)}).value(node)
    for method in ("predict_proba", "predict_interval", "decision_function"):
        assert np.array_equal(getattr(again, method)(X), getattr(model, method)(X))
    assert (again.draws_ is None) == (approximation == "variational")
