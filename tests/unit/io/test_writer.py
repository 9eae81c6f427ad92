"""A model as a tree: what is in it, and what is refused."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import separatrix as sx
from problems import blobs
from separatrix.io.archive import FileError
from separatrix.io.writer import FUNCTIONS, Writer, is_ours
from separatrix.solvers.result import Status

X, Y = blobs(40, n_features=2, n_classes=2)


def node(value):
    return Writer().node(value, "value")


def test_numbers_that_json_does_not_have():
    assert node(float("nan")) == {"is": "float", "value": "nan"}
    assert node([1.5, float("inf")]) == {"is": "list", "items": [1.5, {"is": "float", "value": "inf"}]}


def test_the_tree_of_a_model_is_json_by_the_letter():
    model = sx.BayesianLogisticRegression(approximation="laplace").fit(X, Y)
    model.pareto_k_ = float("nan")
    json.dumps(node(model), allow_nan=False)


def test_arrays_stand_apart():
    writer = Writer()
    tree = writer.node({"a": np.ones(3), "b": np.float32(2), "c": sparse.csr_array(np.eye(2))}, "value")
    assert len(writer.arrays) == 5
    assert tree["items"][0] == ["a", {"is": "array", "array": 0}]


def test_an_enumeration_by_name():
    assert node(Status.SOLVED) == {"is": "enum", "class": "separatrix.solvers.result:Status", "name": "SOLVED"}


def test_only_functions_of_the_list_are_written():
    name, function = next(iter(FUNCTIONS.items()))
    assert node(function) == {"is": "function", "name": name}
    with pytest.raises(FileError, match="value is a builtins.function, which is not of this package"):
        node(lambda a: a)


def test_a_transformer_is_kept_as_its_arguments():
    tree = node(PolynomialFeatures(2, include_bias=False).fit(X))
    assert tree["class"] == "PolynomialFeatures"
    assert tree["arguments"]["degree"] == 2
    assert tree["columns"] == 2
    with pytest.raises(FileError, match="StandardScaler, which is not of this package"):
        node(StandardScaler().fit(X))


def test_training_rows_are_no_part_of_a_model():
    model = sx.GeneralizedLinearModel("poisson").fit(X, Y)
    assert node(model)["fields"]["_fit"] is None


def test_what_is_ours():
    assert is_ours(sx.LogisticRegression)
    assert not is_ours(StandardScaler)


def test_a_class_of_a_function_is_refused():
    class Local:
        pass

    Local.__module__ = "separatrix.local"
    with pytest.raises(FileError, match="not of this package"):
        node(Local())
