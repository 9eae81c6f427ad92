"""A tree as a model again: only what a model is made of, and only as much of it as there is."""

import io
import math

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

import separatrix as sx
from separatrix.discriminative.logistic import LogisticRegression
from separatrix.io.archive import FileError
from separatrix.io.reader import Reader
from separatrix.io.writer import Writer
from separatrix.solvers.result import Solution

MODULE = "separatrix.discriminative.logistic:LogisticRegression"


def record(name, **fields):
    return {"is": "record", "class": name, "fields": fields}


def read(node, **members):
    return Reader(members).value(node)


def through(value):
    """A value written and read."""
    writer = Writer()
    node = writer.node(value, "value")
    return Reader({f"arrays/{i}.npy": data for i, data in enumerate(writer.arrays)}).value(node)


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
def test_plain_values_come_back(value):
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
def test_arrays_come_back(array):
    again = through(array)
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype
    assert again.flags.writeable


def test_a_generator_goes_on_where_it_was():
    rng = np.random.default_rng(3)
    rng.random(5)
    assert through(rng).random() == rng.random()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("os:system", "not of the models"),
        ("separatrix:load", "not of the models"),
        ("separatrix.cli:main", "not of the models"),
        ("separatrix.__main__:app", "not of the models"),
        ("separatrix.io.archive:FileError", "not of the models"),
        ("separatrix_evil.x:Y", "not of the models"),
        ("separatrix.solvers.newton:np", "not an estimator or record"),
        ("separatrix.solvers.newton:Nothing", "not an estimator or record"),
        ("separatrix.solvers.newton:Newton.__class__", "not an estimator or record"),
        ("separatrix.estimator:Classifier", "not of the models"),
        ("separatrix.exceptions:DataError", "not an estimator or record"),
        ("separatrix.generative.gaussian:DataError", "not an estimator or record"),
        ("separatrix.solvers.result:Status", "an enumeration, and no record"),
    ],
)
def test_classes_that_no_model_has(name, why):
    with pytest.raises(FileError, match=why):
        read(record(name))


def test_a_class_is_found_where_its_file_became_a_folder():
    again = read(record("separatrix.solvers:Newton", tol=1e-3, max_steps=5, trace=False))
    assert (type(again), again.tol) == (sx.solvers.Newton, 1e-3)


def test_a_record_has_the_fields_of_its_class():
    whole = {"value": 1, "status": None, "steps": 1, "passes": 1}
    assert isinstance(read(record("separatrix.solvers.result:Solution", **whole)), Solution)  # the rest by default
    with pytest.raises(FileError, match="Solution lacks its field 'status'"):
        read(record("separatrix.solvers.result:Solution", value=1))
    with pytest.raises(FileError, match="Solution has no field 'colour'"):
        read(record("separatrix.solvers.result:Solution", **whole, colour=1))


def test_fields_of_a_later_revision_are_left_out():
    whole = {"value": 1, "status": None, "steps": 1, "passes": 1, "colour": 2}
    again = Reader({}, newer=True).value(record("separatrix.solvers.result:Solution", **whole))
    assert "colour" not in vars(again)


def test_arguments_that_are_new_since_then_have_their_defaults():
    again = read(record(MODULE, alpha=2.0))
    assert (again.alpha, again.solver) == (2.0, "auto")
    with pytest.raises(FileError, match="OneVsRest lacks its argument 'estimator'"):
        read(record("separatrix.reductions.one_vs_rest:OneVsRest", ambiguous="resolve"))


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
        {"is": "enum", "class": MODULE, "name": "x"},
        {"is": "objects", "items": [1, 2], "shape": [3]},
        {"is": "generator", "state": {"is": "dict", "items": []}},
        {"no": "kind"},
    ],
)
def test_a_tree_that_is_none(node):
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
def test_an_array_that_claims_more_than_it_has(header):
    """Nothing is allocated before the claim is compared with the bytes."""
    with pytest.raises(FileError, match="claims to be"):
        Reader(npy(header, b"x" * 8)).value({"is": "array", "array": 0})


def test_arrays_of_objects_are_not_opened():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match="no type of number or text"):
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


def test_nothing_of_a_class_is_called(monkeypatch):
    def shout(self, alpha=1.0):
        raise AssertionError("called")

    # Not __new__: CPython does not restore a class that once had one.
    for name in ("__init__", "__setstate__", "__setattr__", "__getattribute__", "fit"):
        monkeypatch.setattr(LogisticRegression, name, shout)
    made = read(record(MODULE, coef_=3))
    assert object.__getattribute__(made, "coef_") == 3


# -- files that would fill the memory, or be something else than a model -----------------------------------------------


def test_an_array_stands_in_one_place():
    """Else a small file could ask for as many copies of an array as it has room for its number."""
    node = {"is": "array", "array": 0}
    with pytest.raises(FileError, match="array 0 stands in two places"):
        Reader(npy({"descr": "<f8", "fortran_order": False, "shape": (1,)}, b"x" * 8)).value(
            {"is": "list", "items": [node, node]}
        )


@pytest.mark.parametrize("descr", ["<U0", "|S0"])
def test_items_without_size_cannot_be_any_number(descr):
    with pytest.raises(FileError, match="claims to be"):
        Reader(npy({"descr": descr, "fortran_order": False, "shape": (10**8,)})).value({"is": "array", "array": 0})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("junk", "no argument 'junk'"),
        ("predict", "no argument 'predict'"),
        ("_activation", "defines '_activation' itself"),
        ("__class__", "defines '__class__' itself"),
        ("__sklearn_tags__", "defines '__sklearn_tags__' itself"),
    ],
)
def test_a_model_has_arguments_and_what_fitting_leaves_and_no_method_from_a_file(name, said):
    with pytest.raises(FileError, match=said):
        read(record(MODULE, **{name: 1}))


def test_properties_cannot_be_replaced():
    with pytest.raises(FileError, match="defines 'sources_' itself"):
        read(record("separatrix.tables.classifier:TableClassifier", sources_=1))


def test_arguments_of_a_later_revision_are_left_out():
    again = Reader({}, newer=True).value(record(MODULE, alpha=2.0, colour="red"))
    assert again.alpha == 2.0
    assert "colour" not in vars(again)


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
def test_a_basis_has_a_size_that_bases_have(kind, columns, arguments):
    with pytest.raises(FileError, match="a basis of|whole number"):
        read({"is": "transformer", "class": kind, "columns": columns, "arguments": arguments})


@pytest.mark.parametrize("degree", [3, (0, 2)])
def test_a_basis_of_some_size_is_made(degree):
    X = np.random.default_rng(0).normal(size=(5, 8))
    made = PolynomialFeatures(degree).fit(X)
    np.testing.assert_array_equal(through(made).transform(X), made.transform(X))
