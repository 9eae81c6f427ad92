"""Saved models: the same answers, no pickle, and an error for every file that is not what it should be."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from problems import GENERATIVE, MODELS, blobs
from separatrix.io import FORMAT, FileError, load, save

X, Y = blobs(90, distance=3.0)
LABELS = np.array(["ash", "birch", "cedar"])[Y]

EVERY = (
    MODELS
    | GENERATIVE
    | {
        "logistic": lambda: sx.LogisticRegression(),
        "logistic_rbf": lambda: sx.LogisticRegression(basis=sx.basis.Linear() + sx.basis.RBF("kmeans", n_centres=4)),
        "label_noise": lambda: sx.LabelNoiseLogisticRegression(noise=0.1),
        "bayesian": lambda: sx.BayesianLogisticRegression(approximation="laplace"),
        "one_vs_rest": lambda: sx.OneVsRest(sx.LogisticRegression()),
        "decision_rule": lambda: sx.DecisionRule(sx.LogisticRegression(), costs=1 - np.eye(3)),
    }
)


@pytest.fixture
def saved(tmp_path):
    return save(sx.LogisticRegression().fit(X, LABELS), tmp_path / "model.sx")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", EVERY)
def test_a_loaded_model_gives_the_same_answers(name, tmp_path):
    model = EVERY[name]().fit(pd.DataFrame(X, columns=list("abcd")), LABELS)
    again = load(save(model, tmp_path / "model.sx"))
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    if "predict_proba" in dir(model):
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_model_of_two_classes_and_a_regression(tmp_path):
    posterior = sx.BayesianLogisticRegression().fit(X, Y > 0)
    again = load(save(posterior, tmp_path / "posterior.sx"))
    np.testing.assert_array_equal(again.predict_interval(X), posterior.predict_interval(X))
    assert again.log_evidence_ == posterior.log_evidence_
    glm = sx.GeneralizedLinearModel("poisson").fit(X, Y)
    np.testing.assert_array_equal(load(save(glm, tmp_path / "glm.sx")).predict(X), glm.predict(X))


def test_the_file_is_a_zip_of_json_and_arrays(saved):
    with zipfile.ZipFile(saved) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        for name in archive.namelist():
            if name.endswith(".npy"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
    assert manifest["format"] == FORMAT
    assert manifest["model"] == "LogisticRegression"


def test_nothing_is_replaced_unless_asked(saved):
    before = saved.read_bytes()
    other = sx.LogisticRegression(alpha=3.0).fit(X, LABELS)
    with pytest.raises(FileError, match=r"exists. Choose another name, or pass force=True"):
        save(other, saved)
    assert saved.read_bytes() == before
    save(other, saved, force=True)
    assert load(saved).alpha == 3.0
    assert [path.name for path in saved.parent.iterdir()] == ["model.sx"]


def test_what_cannot_be_saved_is_refused_and_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileError, match="not a model of this package"):
        save(LogisticRegression().fit(X, Y), tmp_path / "a.sx")
    with pytest.raises(FileError, match=r"model.estimator is a sklearn.*which is not of this package"):
        save(sx.OneVsRest(LogisticRegression()).fit(X, Y), tmp_path / "b.sx")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        save(sx.LogisticRegression(), tmp_path / "a.sx")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_an_error(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileError, match=r"damaged|not a model"):
        load(saved)


def test_a_flipped_byte_is_an_error(saved):
    data = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    for position in rng.choice(len(data) // 2, size=25, replace=False):
        broken = data.copy()
        broken[position] ^= 0xFF
        saved.write_bytes(broken)
        try:
            again = load(saved)
        except FileError:
            continue
        # a byte that means nothing, such as a time stamp: then the model is unharmed
        np.testing.assert_array_equal(again.coef_, sx.LogisticRegression().fit(X, LABELS).coef_)


def rewritten(path, change):
    """The archive with some members changed, checksums right."""
    import hashlib

    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    manifest["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "node",
    [
        {"is": "record", "class": "os:system", "fields": {}},
        {"is": "record", "class": "separatrix.io:os", "fields": {}},
        {"is": "record", "class": "separatrix.io:Path", "fields": {}},
        {"is": "record", "class": "separatrix.io:save", "fields": {}},
        {"is": "record", "class": "separatrix.nothing:Such", "fields": {}},
        {"is": "read", "array": 0},
        {"is": "class", "class": "x"},
        {"is": "array", "array": 10_000},
        {"is": "enum", "class": "separatrix.discriminative.logistic:LogisticRegression", "name": "x"},
        [1, 2],
        7,
    ],
)
def test_a_hostile_tree_is_an_error(saved, node):
    def change(manifest, members):
        members["model.json"] = json.dumps(node).encode()

    rewritten(saved, change)
    with pytest.raises(FileError):
        load(saved)


def test_pickled_arrays_are_not_opened(saved):
    def change(manifest, members):
        buffer = io.BytesIO()
        np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
        members["arrays/0.npy"] = buffer.getvalue()

    rewritten(saved, change)
    with pytest.raises(FileError, match="cannot be read"):
        load(saved)


def test_a_later_format_says_what_to_do(saved):
    rewritten(saved, lambda manifest, members: manifest.update(format=FORMAT + 1, version="9.0"))
    with pytest.raises(FileError, match=r"version 9.0 in format 2; .* Upgrade separatrix"):
        load(saved)


def test_another_zip_and_no_file(tmp_path):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match="not one of a model"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.sx")
