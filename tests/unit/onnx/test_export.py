"""`to_onnx`: what the file says of itself, how it is written, and that every classifier goes in or says why not."""

import builtins
import errno
import json
import os

import numpy as np
import onnx
import pandas as pd
import pytest

import separatrix as sx
from problems import GENERATIVE, MODELS, TWO_CLASSES, blobs
from separatrix.onnx import ExportError, to_onnx
from separatrix.onnx.answer import answer

X, Y = blobs(90, distance=1.0)


def properties(proto):
    return {each.key: each.value for each in proto.metadata_props}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", MODELS | GENERATIVE | TWO_CLASSES)
def test_every_classifier_of_the_shared_list(name, K, agree):
    if name in TWO_CLASSES and K > 2:
        pytest.skip("of two classes alone")
    X, y = blobs(90, n_classes=K, distance=1.0)
    agree((MODELS | GENERATIVE | TWO_CLASSES)[name]().fit(X, y), X)


def test_every_public_classifier_has_a_converter():
    """A new one is added to the table of converters, or named here with a reason."""
    public = [kind for name in dir(sx) if isinstance(kind := getattr(sx, name), type) and "predict" in dir(kind)]
    assert len(public) > 15
    unknown = [kind for kind in public if answer.dispatch(kind) is answer.dispatch(object)]
    assert unknown == [sx.TableClassifier]  # its inputs are columns: see `export`


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_of_what_goes_in_and_comes_out(dtype, agree):
    found = agree(sx.LogisticRegression().fit(X, Y), X, dtype=dtype)
    assert found["probabilities"].dtype == dtype
    with pytest.raises(ValueError, match="dtype='float16'"):
        to_onnx(sx.LogisticRegression().fit(X, Y), dtype="float16")


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
def test_labels_of_any_kind(labels, said, meaning, ask):
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    model.classes_ = labels
    codes = sx.LinearDiscriminantAnalysis().fit(X, Y).predict(X)
    assert ask(model, X)["label"].tolist() == [said[code] for code in codes]
    assert properties(to_onnx(model))["label"] == meaning


def test_booleans(ask):
    model = sx.LogisticRegression().fit(X, Y > 0)
    np.testing.assert_array_equal(ask(model, X)["label"].astype(bool), model.predict(np.float32(X)))


def test_what_the_file_says_of_itself():
    model = sx.LogisticRegression().fit(pd.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[Y])
    proto = to_onnx(model)
    assert (proto.producer_name, proto.producer_version) == ("separatrix", sx.__version__)
    about = properties(proto)
    assert about["model"] == "LogisticRegression"
    assert json.loads(about["columns"]) == list("abcd")
    assert json.loads(about["classes"]) == ["x", "y", "z"]


def test_a_file_is_written_whole_and_never_over_another(tmp_path, monkeypatch):
    model, path = sx.LogisticRegression().fit(X, Y), tmp_path / "model.onnx"
    proto = to_onnx(model, path)
    assert onnx.load(path) == proto
    with pytest.raises(ExportError, match=r"exists. Choose another name, or pass force=True"):
        to_onnx(model, path)
    to_onnx(model, path, force=True)

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        to_onnx(model, path, force=True)
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


def test_a_model_that_is_not_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        to_onnx(sx.LogisticRegression())


def test_without_the_library(monkeypatch):
    real = builtins.__import__

    def absent(name, *arguments, **more):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install 'separatrix\[onnx\]'"):
        to_onnx(sx.LogisticRegression())


def test_a_level_that_is_none():
    model = sx.BayesianLogisticRegression(approximation="laplace").fit(X, Y > 0)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        to_onnx(model, intervals=True, level=1.0)
