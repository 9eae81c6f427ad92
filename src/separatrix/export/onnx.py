# SPDX-License-Identifier: BSD-3-Clause
"""The function `to_onnx` converts a fitted model to an ONNX graph, for runtimes without Python.

A model of a table has one input (N, 1) per column. Numbers are float tensors, NaN if missing. Categories and yes/no
columns are strings, empty if missing. Dates are days since 1970 in double precision, because single precision would
round them to minutes.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import check_option
from separatrix._array import Array
from separatrix._output import output_problem, write_atomically
from separatrix.exceptions import ExportError, optional_import
from separatrix.export.graph import Graph, Value
from separatrix.export.onnx_models import predictions
from separatrix.generative import FamilyClassifier
from separatrix.table import CYCLES, CategoryPlan, DatePlan, NumberPlan, Schema, TextPlan
from separatrix.table_model import TableClassifier
from separatrix.weights import interval_tails

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
    outputs: dict[str, Output] = {}
    if found.mean is not None:
        outputs["mean"] = (found.mean, kind, ["N"])
    if found.code is not None:
        labels, _ = _as_tensor(found.labels)
        label = graph.op("Gather", labels, found.code, axis=0)
        outputs["label"] = (label, "string" if labels.dtype.kind == "U" else "int64", ["N"])
    if found.probabilities is not None:
        outputs["probabilities"] = (found.probabilities, kind, ["N", "K"])
    elif found.scores is not None:
        outputs["scores"] = (found.scores, kind, ["N"] if len(found.labels) == 2 else ["N", "K"])
    if intervals:
        if found.quantile is None:
            raise ExportError(
                f"to_onnx(intervals=True): {type(model).__name__} with {len(found.labels)} classes has no interval in "
                "ONNX; only Bayesian models of two classes have one, if their posterior is one Gaussian or has draws "
                "of equal weight. Use the model's predict_interval instead, or state the prior "
                "(prior=sx.Gaussian(1.0))."
            )
        tails = interval_tails("to_onnx", level)
        outputs |= {
            name: (found.quantile(float(tail)), kind, ["N"])
            for name, tail in zip(("lower", "upper"), tails, strict=True)
        }
    proto = graph.assemble(outputs, type(model).__name__)
    proto.producer_name, proto.producer_version = "separatrix", import_module("separatrix").__version__
    names = getattr(model, "feature_names_in_", None)
    about = {"model": type(model).__name__, "columns": json.dumps([] if names is None else list(map(str, names)))}
    if found.code is not None:
        about |= {"classes": json.dumps(found.labels.tolist(), default=str), "label": _as_tensor(found.labels)[1]}
    onnx.helper.set_model_props(proto, about)
    if target is not None:
        write_atomically(target, proto.SerializeToString(), exclusive=not force)
    return proto


def _as_tensor(labels: Array) -> tuple[Array, str]:
    """Labels as integers or text, and a description of them for the metadata."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64), "the class"
    if labels.dtype.kind == "U" or all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(str), "the class"
    if labels.dtype.kind == "b" or (labels.dtype.kind == "f" and (labels % 1 == 0).all()):
        return labels.astype(np.int64), "the class as a whole number"
    return np.arange(len(labels)), "the position of the class in 'classes'"


def encoded_columns(schema: Schema, graph: Graph, dtype: str) -> Value:
    """Features (N, M) of a schema, computed from inputs that have the names of the columns."""
    parts: list[Value] = []
    new: list[Value] = []  # indicators of new levels, which come last
    for plan in (plan for plan in schema.plans if plan.names):
        match plan:
            case NumberPlan():
                if plan.words:
                    words = {text: int(value) for text, value in plan.words.items()}
                    codes = graph.codes_of(graph.input(plan.column, "string", ["N", 1]), words, -1).as_double()
                    x = (0.0 * codes + np.nan).where(codes < 0.0, codes)
                else:
                    x = graph.input(plan.column, dtype, ["N", 1]).as_double()
                missing = x.is_nan()
                parts += [graph.constant(plan.mean).where(missing, x)] * (not plan.constant)
                parts += [missing.as_double()] * plan.indicator
            case CategoryPlan():
                (known, elsewhere, blank), n = plan.places, len(plan.names)
                found = graph.codes_of(graph.input(plan.column, "string", ["N", 1]), known | {"": blank}, elsewhere)
                parts.append(found.equals(np.arange(n)).as_double())
                new += [found.equals(np.array([n])).as_double()] * plan.new
            case DatePlan():
                days = graph.input(plan.column, "double", ["N", 1])
                missing = days.is_nan()
                if not plan.constant:
                    parts.append(graph.constant(plan.mean).where(missing, days) - plan.origin)
                for cycle in plan.cycles:
                    angle = _step(days, cycle) * (2 * np.pi / CYCLES[cycle])
                    parts += [graph.constant(0.0).where(missing, graph.op(wave, angle)) for wave in ("Cos", "Sin")]
                parts += [missing.as_double()] * plan.indicator
            case TextPlan():
                raise ExportError(
                    f"to_onnx: column {plan.column!r} is free text, and ONNX cannot split it into the same words. Save "
                    f"the model with sx.save, or fit it without this column: types={{{plan.column!r}: 'drop'}}."
                )
            case _:
                raise ExportError(
                    f"to_onnx: column {plan.column!r} is encoded by a {type(plan).__name__}, for which ONNX has no "
                    "operator. Fit with hashing=None, or save the model with sx.save."
                )
    return graph.join([*parts, *new])


def _step(days: Value, cycle: str) -> Value:
    """Month (January 0), weekday (Monday 0) or hour of a date, given as days since Thursday 1970-01-01."""
    whole = days.floor()
    if cycle == "hour":
        return (days - whole) * 24.0
    if cycle == "weekday":
        return (whole + 3.0) - 7.0 * ((whole + 3.0) / 7.0).floor()
    # The calendar repeats after 400 years. Years are counted from March, so that a leap day is the last day of a year.
    since = whole + 719468.0
    of_era = since - 146097.0 * (since / 146097.0).floor()
    leap = (of_era / 1460.0).floor() - (of_era / 36524.0).floor() + (of_era / 146096.0).floor()
    year = ((of_era - leap) / 365.0).floor()
    of_year = of_era - (365.0 * year + (year / 4.0).floor() - (year / 100.0).floor())
    march = ((5.0 * of_year + 2.0) / 153.0).floor()
    return (march + 2.0).where(march < 10.0, march - 10.0)


def text_columns(model: FamilyClassifier, graph: Graph, dtype: str) -> Value:
    """Columns (N, D) of a model fitted to a table with text; each text is replaced by the index of its category."""
    columns = []
    for d, name in enumerate(map(str, model.feature_names_in_)):
        categories = model.facts_.categories.get(d)
        if categories is None or categories.dtype.kind != "U":
            columns.append(graph.input(name, dtype, ["N", 1]).as_double())
            continue
        codes = {text: code for code, text in enumerate(categories.tolist())}
        missing = len(codes) + 1
        text = graph.input(name, "string", ["N", 1])
        found = graph.codes_of(text, codes | {"": missing}, len(codes)).as_double()
        columns.append((0.0 * found + np.nan).where(found.equals(float(missing)), found))
    return graph.join(columns)
