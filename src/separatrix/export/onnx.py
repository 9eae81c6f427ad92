# SPDX-License-Identifier: BSD-3-Clause
"""The function `to_onnx` converts a fitted model to an ONNX graph, for runtimes without Python."""

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
from separatrix._output import output_problem, write_atomically
from separatrix.exceptions import ExportError, optional_import
from separatrix.export.graph import Graph, Value
from separatrix.export.onnx_models import Predictions, predictions
from separatrix.export.onnx_tables import encoded_columns, text_columns
from separatrix.generative import FamilyClassifier
from separatrix.study import TableClassifier

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
    """Convert a fitted model to an ONNX graph, and write it to a file if a path is given.

    The input is ``X`` (N, D); a model of a table has one input (N, 1) per column, with the name of the column. The
    outputs of a classifier are ``label`` (N,) and ``probabilities`` (N, K) in the order of ``classes_`` (``scores`` if
    it has no probabilities). The output of a regression is ``mean`` (N,). All computations are in float64.

    Parameters
    ----------
    model : estimator
        A fitted linear or generative model, BayesianLogisticRegression or TableClassifier.
    path : str or path, optional
        File to write. The file is written completely or not at all.
    dtype : {"float32", "float64"}, default "float32"
        Element type of numeric inputs and outputs.
    intervals : bool, default False
        Whether to add the outputs ``lower`` and ``upper`` (N,), the credible interval of the probability of
        ``classes_[1]``. Only Bayesian models of two classes have them.
    level : float, default 0.95
        Probability of the intervals.
    force : bool, default False
        Whether to replace an existing file.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        If a part of the model cannot be exported; the message names the part and the remedy.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import BayesianLogisticRegression, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(BayesianLogisticRegression().fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    with optional_import("to_onnx needs the onnx library", "onnx"):
        import onnx
    check_option("to_onnx", "dtype", dtype, ("float32", "float64"))
    target = None if path is None else Path(path)
    if target is not None and (problem := output_problem(target, force=force)):
        raise ExportError(f"to_onnx: {problem}")
    check_is_fitted(model)
    kind = "float" if dtype == "float32" else "double"
    graph, inner = Graph(), model
    if isinstance(model, TableClassifier):
        inner, X = model.estimator_, encoded_columns(model.encoder_.schema_, graph, kind)
    elif isinstance(model, FamilyClassifier) and any(v.dtype.kind == "U" for v in model.facts_.categories.values()):
        X = text_columns(model, graph, kind)
    else:
        X = graph.input("X", kind, ["N", int(model.n_features_in_)]).as_double()
    found = predictions(inner, X)
    outputs = _outputs(found, graph, kind)
    if intervals:
        outputs |= _interval(model, found, kind, level)
    proto = graph.assemble(outputs, type(model).__name__)
    proto.producer_name, proto.producer_version = "separatrix", import_module("separatrix").__version__
    names = getattr(model, "feature_names_in_", None)
    about = {"model": type(model).__name__, "columns": json.dumps([] if names is None else list(map(str, names)))}
    if found.code is not None:
        about |= {"classes": json.dumps(found.labels.tolist(), default=str), "label": _as_tensor(found.labels)[1]}
    onnx.helper.set_model_props(proto, about)
    if target is not None:
        write_atomically(target, proto.SerializeToString())
    return proto


def _outputs(found: Predictions, graph: Graph, kind: str) -> dict[str, Output]:
    if found.mean is not None:
        return {"mean": (found.mean, kind, ["N"])}
    assert found.code is not None, "every classifier predicts a label"
    labels, _ = _as_tensor(found.labels)
    element = "string" if labels.dtype.kind == "U" else "int64"
    outputs: dict[str, Output] = {"label": (graph.op("Gather", labels, found.code, axis=0), element, ["N"])}
    if found.probabilities is not None:
        outputs["probabilities"] = (found.probabilities, kind, ["N", "K"])
    elif found.scores is not None:
        outputs["scores"] = (found.scores, kind, ["N"] if len(found.labels) == 2 else ["N", "K"])
    return outputs


def _as_tensor(labels: Array) -> tuple[Array, str]:
    """Labels as integers or text, and a description of them for the metadata."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64), "the class"
    if labels.dtype.kind == "U" or all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(str), "the class"
    if labels.dtype.kind == "b" or (labels.dtype.kind == "f" and (labels % 1 == 0).all()):
        return labels.astype(np.int64), "the class as a whole number"
    return np.arange(len(labels)), "the position of the class in 'classes'"


def _interval(model: Any, found: Predictions, kind: str, level: float) -> dict[str, Output]:
    if found.centre is None or found.spread is None:
        raise ExportError(
            f"to_onnx(intervals=True): {type(model).__name__} with {len(found.labels)} classes has no interval in "
            "closed form; only Bayesian models of two classes whose posterior is one Gaussian have one. Use the "
            "model's predict_interval instead, or state the prior (prior=sx.Gaussian(1.0))."
        )
    if not 0 < level < 1:
        raise ValueError(f"to_onnx(level={level!r}): level must be between 0 and 1, for example 0.95.")
    reach = float(special.ndtri(0.5 + 0.5 * level)) * found.spread
    lower, upper = found.link(found.centre - reach), found.link(found.centre + reach)
    return {"lower": (lower, kind, ["N"]), "upper": (upper, kind, ["N"])}
