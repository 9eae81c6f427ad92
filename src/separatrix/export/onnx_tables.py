# SPDX-License-Identifier: BSD-3-Clause
"""One input (N, 1) per column of a table, and the features that an encoder computes from these inputs.

Numbers are float tensors, NaN if missing. Categories and yes/no columns are strings, empty if missing. Dates are days
since 1970 in double precision, because single precision would round them to minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.exceptions import ExportError
from separatrix.export.graph import Graph, Value
from separatrix.generative import FamilyClassifier
from separatrix.table import CYCLES, MISSING, OTHER, CategoryPlan, DatePlan, NumberPlan, Schema


def encoded_columns(schema: Schema, graph: Graph, dtype: str) -> Value:
    """Features (N, M) of a schema, computed from inputs that have the names of the columns."""
    new: list[Value] = []  # indicators of new levels, which come last
    return graph.join([_encoded(plan, graph, dtype, new) for plan in schema.plans if plan.names] + new)


def _encoded(plan: Any, graph: Graph, dtype: str, new: list[Value]) -> Value:
    match plan:
        case NumberPlan():
            if plan.words:
                words = {text: int(value) for text, value in plan.words.items()}
                codes = graph.codes_of(graph.input(plan.column, "string", ["N", 1]), words, -1).as_double()
                x = (0.0 * codes + np.nan).where(codes < 0.0, codes)
            else:
                x = graph.input(plan.column, dtype, ["N", 1]).as_double()
            missing = x.is_nan()
            filled = (graph.constant(plan.mean)).where(missing, x)
            return graph.join([*[filled] * (not plan.constant), *[missing.as_double()] * plan.indicator])
        case CategoryPlan():
            indicators = [name.removeprefix(f"{plan.column}=") for name in plan.names]
            index = {level: code for code, level in enumerate(indicators)}
            no_indicator, unseen = -1, len(indicators)
            other = index.get(OTHER, no_indicator)
            elsewhere = unseen if plan.new else other
            blank = index.get(MISSING, unseen if plan.new else no_indicator)
            known = {level: index.get(level, no_indicator) for level in plan.levels} | dict.fromkeys(plan.pooled, other)
            text = graph.input(plan.column, "string", ["N", 1])
            found = graph.codes_of(text, known | {"": blank}, elsewhere)
            if plan.new:
                new.append(found.equals(np.array([unseen])).as_double())
            return found.equals(np.arange(unseen)).as_double()
        case DatePlan():
            days = graph.input(plan.column, "double", ["N", 1])
            missing = days.is_nan()
            parts = [] if plan.constant else [graph.constant(plan.mean).where(missing, days) - plan.origin]
            for cycle in plan.cycles:
                angle = _step(days, cycle) * (2 * np.pi / CYCLES[cycle])
                for wave in ("Cos", "Sin"):
                    parts.append(graph.constant(0.0).where(missing, graph.op(wave, angle)))
            return graph.join([*parts, *[missing.as_double()] * plan.indicator])
    raise ExportError(
        f"to_onnx: column {plan.column!r} is encoded by a {type(plan).__name__}, for which ONNX has no operator. Fit "
        "with hashing=None, or save the model with sx.save."
    )


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
