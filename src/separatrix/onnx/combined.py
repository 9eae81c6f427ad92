# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers made of classifiers: one against the rest, one against one, decisions by cost, averages of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._array import Array
from separatrix.comparison import ModelAverage
from separatrix.decisions import DecisionRule
from separatrix.meta import labels_with_reject
from separatrix.onnx.answer import Answer, answer
from separatrix.onnx.graph import ExportError, Value
from separatrix.reductions import AbstractReduction, OneVsOne, OneVsRest, pairs, sides

__all__ = ["couple"]


@answer.register
def _(model: OneVsRest, X: Value) -> Answer:
    parts = [answer(each, X) for each in model.estimators_]
    if len(model.classes_) == 2:
        return replace(parts[0], labels=model.classes_)
    Y = X.graph.stack([_discriminant(part) for part in parts])
    disputed = (Y > 0.0).as_double().sum(1).equals(1.0).equals(False)
    return _reduced(model, Y, disputed, _renormalised(_second(parts)))


@answer.register
def _(model: OneVsOne, X: Value) -> Answer:
    parts, K = [answer(each, X) for each in model.estimators_], len(model.classes_)
    if K == 2:
        return replace(parts[0], labels=model.classes_)
    Y = X.graph.stack([_discriminant(part) for part in parts])
    votes = (Y > 0.0).as_double() @ sides(K) + np.arange(K, dtype=np.float64)[::-1]
    s = Y @ sides(K)
    strength = votes + s / (3.0 * (1.0 + s.abs()))
    disputed = votes.equals(votes.max(1, keep=True)).as_double().sum(1) > 1.0
    P = _second(parts)
    return _reduced(model, strength, disputed, None if P is None else couple(P, K))


def _reduced(model: AbstractReduction, strength: Value, disputed: Value, P: Value | None) -> Answer:
    code, labels = strength.argmax(), model.classes_
    if model.ambiguous == "reject":
        labels = labels_with_reject(labels, model.reject_label)
        code = strength.graph.constant(np.array(len(labels) - 1)).where(disputed, code)
    return Answer(labels, code, strength, P)


def _discriminant(part: Answer) -> Value:
    """y(x), (N,)."""
    if part.scores is not None:
        return part.scores
    assert part.probabilities is not None, "a classifier has scores or probabilities"
    return 2.0 * part.probabilities.column(1) - 1.0


def _second(parts: list[Answer]) -> Value | None:
    """The probability of the second class of each part, (N, parts); None where they have none."""
    columns = [part.probabilities.column(1) for part in parts if part.probabilities is not None]
    return columns[0].graph.stack(columns) if len(columns) == len(parts) else None


def _renormalised(P: Value | None) -> Value | None:
    """p_k / Σ_j p_j; 1/K each where all are zero."""
    if P is None:
        return None
    total = P.sum(1, keep=True)
    share = P / total.where(total > 0.0, 1.0)
    return share.where(total > 0.0, (0.0 * P + 1.0).softmax())


def couple(r: Value, K: int) -> Value:
    """`reductions.coupling.couple`: (Q + 11') p ∝ 1 for every row, by Gauss and Jordan.

    The matrix is positive definite, so that no pivot has to be looked for.
    """
    graph = r.graph
    index = {pair: position for position, pair in enumerate(pairs(K))}
    R = [[r.column(index[i, j]) if (i, j) in index else None for j in range(K)] for i in range(K)]
    share = [[_share(R, i, j) for j in range(K)] for i in range(K)]  # of class i against j
    rows = []
    for i in range(K):
        entries = [1.0 - share[i][j] * share[j][i] if j != i else _against(share, i) for j in range(K)]
        rows.append(graph.stack([*entries, 0.0 * entries[0] + 1.0]))
    A = graph.stack(rows)  # (N, K, K + 1)
    for k in range(K):
        row = A.column(k)
        row = row / row.columns([k])
        pivot = np.eye(K)[k][:, None]
        factor = graph.op("Gather", A, np.array([k]), axis=2) * (1.0 - pivot)
        A = A * (1.0 - pivot) + pivot * row.expand(1) - factor * row.expand(1)
    p = graph.op("Gather", A, np.array(K), axis=2).at_least(0.0)
    return p / p.sum(1, keep=True)


def _share(R: list[list[Value | None]], i: int, j: int) -> Any:
    """p(C_i | C_i or C_j); the value of a pair is that of its second class."""
    if i == j:
        return 0.0
    first, second = R[i][j], R[j][i]
    return second if first is None else 1.0 - first


def _against(share: list[list[Any]], i: int) -> Value:
    """1 + Σ_j≠i r_ji²."""
    total: Any = 1.0
    for j in range(len(share)):
        if j != i:
            total = total + share[j][i].square()
    found: Value = total
    return found


@answer.register
def _(model: DecisionRule, X: Value) -> Answer:
    found = answer(model._fitted(), X)
    costs, labels = model._rule()
    P, K = found.probabilities, len(model.classes_)
    assert P is not None, "a decision rule wraps a classifier with probabilities"
    reject = P.graph.constant(np.array(K))
    if costs is None:
        code = P.argmax()
    else:
        R = P @ np.asarray(costs)
        cheapest = R.columns(range(K))
        code = (-cheapest).argmax()
        if np.asarray(costs).shape[1] > K:
            code = reject.where((R.column(K) > -((-cheapest).max(1))).equals(False), code)
    if model.reject is not None:
        code = reject.where((P.max(1) > float(model.reject)).equals(False), code)
    return Answer(labels, code, probabilities=P)


@answer.register
def _(model: ModelAverage, X: Value) -> Answer:
    total: Any = 0.0
    for name, weight in model.weights_.items():
        if weight > 0:
            each = model.models_[name]
            total = total + float(weight) * _in_order(answer(each, X), each, model.classes_)
    return Answer(model.classes_, total.argmax(), probabilities=total)


def _in_order(found: Answer, model: Any, classes: Array) -> Value:
    """The probabilities of a model in the order of the average's classes."""
    if found.probabilities is None:
        raise ExportError(f"to_onnx: {type(model).__name__} has no probabilities to average.")
    own = list(model.classes_.tolist())
    return found.probabilities.columns([own.index(label) for label in classes.tolist()])
