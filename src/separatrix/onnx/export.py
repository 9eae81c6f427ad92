# SPDX-License-Identifier: BSD-3-Clause
"""A fitted model as an ONNX graph, for runtimes that know nothing of Python."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix._array import Array
from separatrix._output import write_atomically
from separatrix.generative import FamilyClassifier
from separatrix.onnx import bayesian, combined, families, gaussian, linear  # noqa: F401  (they fill the table)
from separatrix.onnx.answer import Answer, answer
from separatrix.onnx.graph import ExportError, Graph, Value
from separatrix.onnx.table import encoded_columns, text_columns
from separatrix.study import TableClassifier

__all__ = ["to_onnx"]

Output = tuple[Value, str, list[str | int]]


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float32",
    intervals: bool = False,
    level: float = 0.95,
    force: bool = False,
) -> Any:
    """A fitted model as an ONNX graph; written to a file too, where a path is given.

    Inputs: ``X`` (N, D), or for models of tables one input (N, 1) for each column, by its name. Outputs: ``label``
    (N,), integers or strings, and ``probabilities`` (N, K) in the order of ``classes_``; ``scores`` in their place for
    models that have none; for a regression ``mean`` (N,). Inside, everything is computed in float64.

    Parameters
    ----------
    model : classifier of this package
        Fitted.
    path : str or path, optional
        Where to write the graph; whole, or not at all.
    dtype : {"float32", "float64"}, default "float32"
        Of numbers that go in and come out.
    intervals : bool, default False
        Whether to add ``lower`` and ``upper`` (N,), the credible interval of the probability of ``classes_[1]``: for a
        Bayesian model of two classes.
    level : float, default 0.95
        Of those intervals.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        Where a part of the model has no form in ONNX; the message says which, and what to do instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import BayesianLogisticRegression
    >>> from separatrix.onnx import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(BayesianLogisticRegression().fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    _require_onnx()
    check_option("to_onnx", "dtype", dtype, ("float32", "float64"))
    target = None if path is None else Path(path)
    if target is not None and target.exists() and not force:
        raise ExportError(f"to_onnx: {target} exists. Choose another name, or pass force=True to replace it.")
    check_is_fitted(model)
    kind = "float" if dtype == "float32" else "double"
    graph = Graph()
    found = _answer(model, graph, kind)
    outputs = _outputs(found, graph, kind)
    if intervals:
        outputs |= _interval(model, found, kind, level)
    proto = graph.assemble(outputs, type(model).__name__)
    _describe(proto, model, found)
    if target is not None:
        write_atomically(target, proto.SerializeToString())
    return proto


def _answer(model: Any, graph: Graph, kind: str) -> Answer:
    """The model applied to its inputs."""
    if isinstance(model, TableClassifier):
        return answer(model.estimator_, encoded_columns(model.encoder_.schema_, graph, kind))
    if isinstance(model, FamilyClassifier) and any(v.dtype.kind == "U" for v in model.facts_.categories.values()):
        return answer(model, text_columns(model, graph, kind))
    return answer(model, graph.input("X", kind, ["N", int(model.n_features_in_)]).as_double())


def _outputs(found: Answer, graph: Graph, kind: str) -> dict[str, Output]:
    """What there is to say, by name."""
    if found.mean is not None:
        return {"mean": (found.mean, kind, ["N"])}
    assert found.code is not None, "a classifier decides"
    labels, _ = _as_tensor(found.labels)
    element = "string" if labels.dtype.kind == "U" else "int64"
    outputs: dict[str, Output] = {"label": (graph.op("Gather", labels, found.code, axis=0), element, ["N"])}
    if found.probabilities is not None:
        outputs["probabilities"] = (found.probabilities, kind, ["N", "K"])
    elif found.scores is not None:
        outputs["scores"] = (found.scores, kind, ["N"] if len(found.labels) == 2 else ["N", "K"])
    return outputs


def _as_tensor(labels: Array) -> tuple[Array, str]:
    """Labels as ONNX has them, whole numbers or text, and what a reader must know of them."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64), "the class"
    if labels.dtype.kind == "U" or all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(str), "the class"
    if labels.dtype.kind == "b" or (labels.dtype.kind == "f" and (labels % 1 == 0).all()):
        return labels.astype(np.int64), "the class as a whole number"
    return np.arange(len(labels)), "the position of the class in 'classes'"


def _interval(model: Any, found: Answer, kind: str, level: float) -> dict[str, Output]:
    if found.centre is None or found.spread is None:
        raise ExportError(
            f"to_onnx(intervals=True): {type(model).__name__} with {len(found.labels)} classes has no interval in "
            "closed form. Bayesian models of two classes have; for others use predict_interval."
        )
    if not 0 < level < 1:
        raise ValueError(f"to_onnx(level={level!r}): level must be between 0 and 1, 0.95 for an interval of 95 %.")
    reach = float(special.ndtri(0.5 + 0.5 * level)) * found.spread
    lower, upper = found.link(found.centre - reach), found.link(found.centre + reach)
    return {"lower": (lower, kind, ["N"]), "upper": (upper, kind, ["N"])}


def _describe(proto: Any, model: Any, found: Answer) -> None:
    """Who made it, and what its numbers mean: for a person who finds the file."""
    from onnx import helper

    proto.producer_name, proto.producer_version = "separatrix", import_module("separatrix").__version__
    names = getattr(model, "feature_names_in_", None)
    about = {"model": type(model).__name__, "columns": json.dumps([] if names is None else list(map(str, names)))}
    if found.code is not None:
        about |= {"classes": json.dumps(found.labels.tolist(), default=str), "label": _as_tensor(found.labels)[1]}
    helper.set_model_props(proto, about)


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError("to_onnx needs the onnx library: pip install 'separatrix[onnx]'.") from error
