"""The builder: arithmetic on values is arithmetic on arrays when the graph runs."""

import numpy as np
import pytest

from separatrix.onnx.graph import Graph, Value

A = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.5]])
B = np.array([[2.0, 4.0, -1.0], [1.0, 5.0, 8.0]])


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b,
        lambda a, b: 1.0 - a / b,
        lambda a, b: 2 / b - 3 * a,
        lambda a, b: -a * B + B,
        lambda a, b: B / b,
    ],
)
def test_arithmetic(function, evaluate):
    np.testing.assert_allclose(evaluate(function, A, B), function(A, B), rtol=1e-15)


@pytest.mark.parametrize(
    ("of_values", "of_arrays"),
    [
        (lambda a: a @ B.T, lambda a: a @ B.T),
        (lambda a: a.exp().log(), lambda a: a),
        (lambda a: a.square().sqrt(), np.abs),
        (lambda a: a.abs(), np.abs),
        (lambda a: a.floor(), np.floor),
        (lambda a: a.sigmoid(), lambda a: 1 / (1 + np.exp(-a))),
        (lambda a: a.softmax(), lambda a: np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)),
        (lambda a: a.at_least(0.0).at_most(1.0), lambda a: np.clip(a, 0, 1)),
        (lambda a: a.sum(1), lambda a: a.sum(axis=1)),
        (lambda a: a.max(1, keep=True), lambda a: a.max(axis=1, keepdims=True)),
        (lambda a: a.columns([2, 0]), lambda a: a[:, [2, 0]]),
        (lambda a: a.column(1), lambda a: a[:, 1]),
        (lambda a: a.turned(1, 0), np.transpose),
        (lambda a: a.expand(1), lambda a: a[:, None]),
        (lambda a: (a > 0.0).as_double(), lambda a: (a > 0).astype(float)),
        (lambda a: a.where(a < 0.0, 7.0 * a), lambda a: np.where(a < 0, a, 7 * a)),
        (lambda a: a.argmax().as_double(), lambda a: a.argmax(axis=1).astype(float)),
        (lambda a: a.graph.stack([a.column(0), a.column(2)]), lambda a: a[:, [0, 2]]),
        (lambda a: a.graph.join([a, a]), lambda a: np.hstack([a, a])),
        (lambda a: (a.equals(0.5) & (a > 0.0)).as_double(), lambda a: (a == 0.5).astype(float)),
        (lambda a: (0.0 / (a - a)).is_nan().as_double(), np.ones_like),
    ],
)
def test_functions(of_values, of_arrays, evaluate):
    np.testing.assert_allclose(evaluate(of_values, A), of_arrays(A), rtol=1e-14)


def test_equal_constants_are_kept_once():
    graph = Graph()
    x = graph.input("x", "double", [None])
    _ = x * 2.0 + 2.0 - np.float64(2.0)
    assert len(graph.constants) == 1


def test_numbers_are_double_and_positions_are_whole():
    graph = Graph()
    kinds = [graph.constants[graph.constant(each).name].dtype.str for each in (1, np.float32(1), np.arange(2), [1, 2])]
    assert kinds == ["<f8", "<f8", "<i8", "<f8"]


def test_texts_have_codes(run):
    graph = Graph()
    codes = graph.codes_of(graph.input("t", "string", ["N", 1]), {"red": 0, "blue": 1}, 9)
    proto = graph.assemble({"code": (codes, "int64", ["N", 1])}, "texts")
    assert run(proto, {"t": np.array([["blue"], ["green"], ["red"]])})["code"].ravel().tolist() == [1, 9, 0]


def test_an_output_has_its_name_and_precision(run):
    graph = Graph()
    x = graph.input("x", "float", ["N"])
    assert isinstance(x, Value)
    proto = graph.assemble({"half": (x.as_double() / 2, "float", ["N"])}, "half")
    assert run(proto, {"x": np.ones(2, dtype=np.float32)})["half"].dtype == np.float32
