# SPDX-License-Identifier: BSD-3-Clause
"""Build ONNX graphs from arithmetic expressions.

    graph = Graph()
    X = graph.input("X", "double", ["N", 3])
    p = (X @ w + 1.0).sigmoid()

A `Value` is a tensor that is computed when the graph runs; its methods are ONNX operators. Arrays and numbers combined
with it become constants. Computations are in float64 even if the input is float32, which is too inaccurate for columns
far from zero. Only `Graph.assemble` needs the onnx library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Array

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # versions of 2022, which all later runtimes read
ML_DOMAIN = "ai.onnx.ml"


class _Node(NamedTuple):
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    domain: str


def _operator(kind: str, *, reflected: bool = False) -> Callable[[Any, Any], Value]:
    """Method of `Value` that adds an ONNX operator with two arguments."""

    def method(self: Value, other: Any) -> Value:
        return self.graph.op(kind, *((other, self) if reflected else (self, other)))

    return method


def _function(kind: str, **attributes: Any) -> Callable[[Any], Value]:
    """Method of `Value` that adds an ONNX operator with one argument."""

    def method(self: Value) -> Value:
        return self.graph.op(kind, self, **attributes)

    return method


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph, identified by its name."""

    graph: Graph
    name: str

    __array_ufunc__ = None  # array + value then calls Value.__radd__ instead of NumPy's addition

    __add__, __radd__ = _operator("Add"), _operator("Add", reflected=True)
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", reflected=True)
    __mul__, __rmul__ = _operator("Mul"), _operator("Mul", reflected=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", reflected=True)
    __matmul__, __gt__, __lt__ = _operator("MatMul"), _operator("Greater"), _operator("Less")
    equals, at_least, at_most = _operator("Equal"), _operator("Max"), _operator("Min")
    __neg__, exp, log, sqrt, abs = map(_function, ("Neg", "Exp", "Log", "Sqrt", "Abs"))
    floor, sigmoid, is_nan = map(_function, ("Floor", "Sigmoid", "IsNaN"))
    softmax = _function("Softmax", axis=-1)
    argmax = _function("ArgMax", axis=-1, keepdims=0)  # int64; the first index if several are largest
    as_double, as_codes = _function("Cast", to="double"), _function("Cast", to="int64")

    def where(self, condition: Value, otherwise: Any) -> Value:
        return self.graph.op("Where", condition, self, otherwise)

    def square(self) -> Value:
        return self * self

    def sum(self, axis: int, *, keep: bool = False) -> Value:
        return self.graph.op("ReduceSum", self, np.array([axis]), keepdims=int(keep))

    def max(self, axis: int, *, keep: bool = False) -> Value:
        return self.graph.op("ReduceMax", self, axes=[axis], keepdims=int(keep))

    def expand(self, axis: int) -> Value:
        """Insert an axis of length one."""
        return self.graph.op("Unsqueeze", self, np.array([axis]))

    def columns(self, which: Sequence[int] | Array) -> Value:
        """Select columns, in the order of ``which``."""
        return self.graph.op("Gather", self, np.asarray(which, dtype=np.int64), axis=1)

    def column(self, position: int) -> Value:
        """Select one column as a vector (N,)."""
        return self.graph.op("Gather", self, np.array(position, dtype=np.int64), axis=1)

    def transposed(self, *axes: int) -> Value:
        return self.graph.op("Transpose", self, perm=list(axes))


@dataclass(eq=False)
class Graph:
    """A graph: inputs (name, element type, shape), constants, and nodes in the order of computation."""

    inputs: list[tuple[str, str, tuple[str | int, ...]]] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    _nodes: list[_Node] = field(default_factory=list)
    _known: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def input(self, name: str, kind: str, shape: Sequence[str | int]) -> Value:
        """Add an input tensor; its element type ``kind`` is "float", "double" or "string"."""
        self.inputs.append((name, kind, tuple(shape)))
        return Value(self, name)

    def constant(self, array: Any) -> Value:
        """Add a constant; Python numbers become float64, integer arrays int64. Equal constants are stored once."""
        data = np.asarray(array)
        if data.dtype.kind == "f" or (data.dtype.kind in "iu" and not isinstance(array, np.ndarray | np.generic)):
            data = data.astype(np.float64)
        elif data.dtype.kind in "iu":
            data = data.astype(np.int64)
        key = (data.dtype.str, data.shape, data.tobytes())
        if key not in self._known:
            self._known[key] = f"c{len(self.constants)}"
            self.constants[self._known[key]] = data
        return Value(self, self._known[key])

    def op(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """Add a node and return its first output; inputs that are not a `Value` become constants."""
        return self.ops(kind, *inputs, n_outputs=1, domain=domain, **attributes)[0]

    def ops(self, kind: str, *inputs: Any, n_outputs: int, domain: str = "", **attributes: Any) -> list[Value]:
        """Add a node and return all its outputs."""
        names = tuple(each.name if isinstance(each, Value) else self.constant(each).name for each in inputs)
        outputs = tuple(
            f"v{len(self._nodes)}_{i}" if n_outputs > 1 else f"v{len(self._nodes)}" for i in range(n_outputs)
        )
        self._nodes.append(_Node(kind, names, outputs, attributes, domain))
        return [Value(self, name) for name in outputs]

    def join(self, values: Sequence[Value], axis: int = 1) -> Value:
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def stack(self, values: Sequence[Value], axis: int = 1) -> Value:
        return self.join([value.expand(axis) for value in values], axis)

    def codes_of(self, texts: Value, codes: Mapping[str, int], otherwise: int) -> Value:
        """Integer code of each text; ``otherwise`` if the text has no code."""
        return self.op(
            "LabelEncoder",
            texts,
            domain=ML_DOMAIN,
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=otherwise,
        )

    def assemble(self, outputs: Mapping[str, tuple[Value, str, Sequence[str | int]]], name: str) -> Any:
        """Build the ``onnx.ModelProto``; ``outputs`` maps each name to a value, its element type and its shape."""
        from onnx import helper, numpy_helper

        for label, (value, kind, _) in outputs.items():  # add a node that names the output and casts its type
            is_number = kind in ("float", "double")
            attributes = {"to": kind} if is_number else {}
            self._nodes.append(_Node("Cast" if is_number else "Identity", (value.name,), (label,), attributes, ""))
        nodes = []
        for node in self._nodes:
            settings = {key: _element(value) if key == "to" else value for key, value in node.attributes.items()}
            nodes.append(helper.make_node(node.kind, node.inputs, node.outputs, domain=node.domain, **settings))
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info(label, _element(kind), shape) for label, kind, shape in self.inputs],
            [
                helper.make_tensor_value_info(label, _element(kind), shape)
                for label, (_, kind, shape) in outputs.items()
            ],
            [
                numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, label)
                for label, array in self.constants.items()
            ],
        )
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
        return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)


def _element(kind: str) -> int:
    """Integer that identifies an element type in onnx."""
    from onnx import TensorProto

    return int(TensorProto.DataType.Value(kind.upper()))
